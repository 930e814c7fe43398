"""What the attributes benchmark measures on: feature sets, and a collection's pictures described by them.

`SETS` names kernels on feature types: the paper's five types with kernels chosen by cross-validation, the same with the
paper's own kernels, and a larger set. Types, their parameters and the larger set were chosen by 10-fold
cross-validation within the 240 training images of OSR; no other image was looked at. No type needs a codebook, so a
description serves every split.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from mediarank.collections.registry import open_collection, recognise
from mediarank.fanout import fan_out
from mediarank.features.base import Extractor
from mediarank.features.colour_histogram import LabHistogram
from mediarank.features.edge_direction import EdgeDirection
from mediarank.features.gabor import GaborBank
from mediarank.features.gist import Gist
from mediarank.features.hog import Hog
from mediarank.features.lbp import Lbp
from mediarank.media.image import decode_image
from mediarank.media.limits import Limits
from mediarank.media.working import fit_inside
from mediarank.systems.attributes import KernelChoice
from mediarank.types import FeatureMatrix, Floats, Labels, Roles

TYPES: Mapping[str, Extractor] = {
    "gist": Gist(colour=True),
    "colour": LabHistogram(bins=(4, 8, 8), granularity="global_thirds"),
    "lbp": Lbp(radii=(1.0, 2.0, 4.0, 8.0), granularity="global_thirds", normalisation="l1"),
    "hog": Hog(window=256, cell=64),
    "gabor": GaborBank(),
    "lbp_root": Lbp(radii=(1.0, 2.0, 4.0, 8.0), cells=4, normalisation="sqrt"),
    "hog_fine": Hog(window=256, cell=32),
    "edges": EdgeDirection(granularity="pyramid"),
    "gist_grey": Gist(),
}
FIVE = ("gist", "colour", "lbp", "hog", "gabor")
SETS: Mapping[str, tuple[KernelChoice, ...]] = {
    "five": tuple(KernelChoice(name) for name in FIVE),
    "paper_kernels": (
        KernelChoice("gist"),
        KernelChoice("colour"),
        KernelChoice("lbp_root", "linear"),
        KernelChoice("hog_fine", "linear"),
        KernelChoice("gabor", "linear"),
    ),
    "more": tuple(KernelChoice(name) for name in (*FIVE, "edges", "gist_grey")),
}
LONGEST_SIDE = 320
PER_CLASS = 30


@dataclass(frozen=True)
class Described:
    """A collection: its source's name, labels, and a matrix a feature type over the items that the labels speak of."""

    source: str
    labels: Labels
    features: Mapping[str, FeatureMatrix]

    @property
    def items(self) -> list[str]:
        return next(iter(self.features.values())).ids.tolist()

    def prescribed(self) -> Roles | None:
        """The source's own split, if it has one."""
        said = dict(zip(self.labels["splits"]["item"], self.labels["splits"]["role"], strict=True))
        training = {item for item, role in said.items() if role != "test"}
        return self.roles([item in training for item in self.items]) if training else None

    def random(self, count: int, seed: int) -> Iterator[Roles]:
        """Splits with 30 training images a class; without orderings of classes, of 70 % of the groups."""
        classes, groups = self.labels.class_of, self._groups()
        for number in range(count):
            rng = np.random.default_rng([seed, number])
            if len(self.labels["orderings"]):
                frame = pd.DataFrame({"item": self.items, "class": [classes.get(i, "") for i in self.items]})
                shuffled = frame.iloc[rng.permutation(len(frame))]
                training = set(shuffled.groupby("class").head(PER_CLASS)["item"])
            else:
                names = sorted(set(groups.values()))
                kept = set(rng.permutation(names)[: round(0.7 * len(names))].tolist())
                training = {item for item in self.items if groups[item] in kept}
            yield self.roles([item in training for item in self.items])

    def roles(self, training: Sequence[bool]) -> Roles:
        groups = self._groups()
        table = {
            "item_id": self.items,
            "group_id": [groups[item] for item in self.items],
            "role": np.where(training, "base", "test"),
            "fold": 0,
        }
        return Roles(pd.DataFrame(table))

    def _groups(self) -> dict[str, str]:
        said = dict(zip(self.labels["groups"]["item"], self.labels["groups"]["group"], strict=True))
        return {item: said.get(item, item) for item in self.items}


def describe(folder: Path, cache: Path) -> Described:
    """Every picture that is ordered, by every type; what was computed before is read from the cache."""
    listing = open_collection(folder)
    labels = listing.labels
    ordered = {*labels["pairs"]["first"], *labels["pairs"]["second"]}
    ordered |= set(labels.class_of) if len(labels["orderings"]) else set()
    items = sorted(item for item in listing.files if item in ordered)
    paths = [listing.files[item] for item in items]
    features = {name: _matrix(name, family, items, paths, cache) for name, family in TYPES.items()}
    return Described(recognise(folder), labels, features)


def _matrix(name: str, family: Extractor, items: list[str], paths: list[Path], cache: Path) -> FeatureMatrix:
    described = hashlib.sha256(repr((family.identity(), items)).encode()).hexdigest()[:16]
    kept = cache / f"{name}-{described}.npy"
    if kept.exists():
        return FeatureMatrix(np.array(items), family.names(), np.load(kept))
    values = np.stack(fan_out(partial(_extract, family), paths, name))
    cache.mkdir(parents=True, exist_ok=True)
    np.save(kept, values)
    return FeatureMatrix(np.array(items), family.names(), values)


def _extract(family: Extractor, path: Path) -> Floats:
    picture = fit_inside(decode_image(path, Limits()), LONGEST_SIDE)
    return np.asarray(family.extract(np.ascontiguousarray(picture)), dtype=np.float32)
