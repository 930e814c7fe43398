"""What the attributes benchmark measures on: feature types, sets of kernels on them, and described collections.

`CANDIDATES` lists settings of the paper's five types and of further ones, `TYPES` has each of them also `Mirrored`.
`SETS` names the kernels that are measured: what `attributes_choice.py` found by cross-validation within the training
images of OSR, without opening any other image. No type needs a codebook, so a description serves every split.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from mediarank.collections.groups import joined_groups
from mediarank.collections.sources import open_collection, recognise
from mediarank.fanout import fan_out
from mediarank.features.autocorrelogram import Autocorrelogram
from mediarank.features.base import Extractor, Modality
from mediarank.features.colour_histogram import HsvHistogram, LabHistogram
from mediarank.features.edge_direction import EdgeDirection
from mediarank.features.gabor import GaborBank
from mediarank.features.gist import Gist
from mediarank.features.haar import HaarTexture
from mediarank.features.hog import Hog
from mediarank.features.lbp import Lbp
from mediarank.features.network import Network
from mediarank.labels import Labels
from mediarank.media.image import decode_image
from mediarank.media.limits import Limits
from mediarank.media.working import fit_inside, phash
from mediarank.similarity.near_duplicates import near_duplicate_groups
from mediarank.stages.splits import SplitsConfig
from mediarank.systems.attributes.config import KernelChoice
from mediarank.types import FeatureMatrix, Floats, Roles


@dataclass(frozen=True)
class Mirrored(Extractor):
    """What a family sees in a picture and in its mirror image, averaged: attributes know neither left nor right."""

    modality: ClassVar[Modality] = "image"
    family: Extractor

    def names(self) -> tuple[str, ...]:
        return self.family.names()

    def identity(self) -> str:
        return f"mirrored {self.family.identity()}"

    def extract(self, medium: Any) -> Floats:
        both = self.family.extract(medium), self.family.extract(np.ascontiguousarray(medium[:, ::-1]))
        return np.mean(both, axis=0, dtype=np.float32)


RADII = (1.0, 2.0, 4.0, 8.0)
LAB = (4, 8, 8)
CANDIDATES: Mapping[str, Mapping[str, Extractor]] = {
    "gist": {
        "gist_grey": Gist(),
        "gist_grey_8": Gist(blocks=8),
        "gist": Gist(colour=True),
        "gist_6": Gist(colour=True, blocks=6),
        "gist_8": Gist(colour=True, blocks=8),
    },
    "colour": {
        "colour_whole": LabHistogram(bins=LAB),
        "colour": LabHistogram(bins=LAB, granularity="global_thirds"),
        "colour_pyramid": LabHistogram(bins=LAB, granularity="pyramid"),
    },
    "lbp": {
        "lbp_whole": Lbp(radii=RADII, normalisation="l1"),
        "lbp": Lbp(radii=RADII, granularity="global_thirds", normalisation="l1"),
        "lbp_2": Lbp(radii=RADII, cells=2, normalisation="l1"),
        "lbp_4": Lbp(radii=RADII, cells=4, normalisation="l1"),
        "lbp_root": Lbp(radii=RADII, cells=4, normalisation="sqrt"),
    },
    "hog": {
        "hog_64": Hog(window=256, cell=64),
        "hog_32": Hog(window=256, cell=32),
        "hog_16": Hog(window=256, cell=16),
        "hog": Hog(window=128, cell=32, bins=16, signed=True),
    },
    "gabor": {
        "gabor_2": GaborBank(cells=2),
        "gabor_3": GaborBank(cells=3),
        "gabor": GaborBank(),
        "gabor_8": GaborBank(cells=8),
    },
    "further": {
        "edges": EdgeDirection(granularity="pyramid"),
        "edges_3": EdgeDirection(granularity="3x3"),
        "haar": HaarTexture(granularity="4x4"),
        "hsv": HsvHistogram(granularity="global_thirds"),
        "autocorrelogram": Autocorrelogram(granularity="global_thirds"),
    },
}
PLAIN: Mapping[str, Extractor] = {name: family for slot in CANDIDATES.values() for name, family in slot.items()}
NETWORK: Mapping[str, Extractor] = {"network": Network(mirrored=True)}
"""A pretrained network, of the picture and its mirror image; not among the papers' families."""
TYPES: Mapping[str, Extractor] = (
    PLAIN | {f"{name}_mirrored": Mirrored(family) for name, family in PLAIN.items()} | NETWORK
)
FIVE = ("gist", "colour", "lbp", "hog", "gabor")
"""The paper's types: keys of `CANDIDATES`."""
_FIVE = (
    KernelChoice("gist"),
    KernelChoice("colour"),
    KernelChoice("lbp", "intersection"),
    KernelChoice("hog"),
    KernelChoice("gabor"),
)
_MIRRORED = tuple(replace(choice, feature=f"{choice.feature}_mirrored") for choice in _FIVE)
_NETWORK = (KernelChoice("network", "rbf"), KernelChoice("network"))
SETS: Mapping[str, tuple[KernelChoice, ...]] = {
    "five": _FIVE,
    # the paper's own kernels, with the settings that do best with them
    "paper_kernels": (
        KernelChoice("gist"),
        KernelChoice("colour"),
        KernelChoice("lbp_root", "linear"),
        KernelChoice("hog_64", "linear"),
        KernelChoice("gabor", "linear"),
    ),
    "mirrored": _MIRRORED,
    "more": (*_MIRRORED, KernelChoice("edges_mirrored")),
    "network": _NETWORK,
    "all": (*_MIRRORED, KernelChoice("edges_mirrored"), *_NETWORK),
}
LONGEST_SIDE = 320
PER_CLASS = 30


@dataclass(frozen=True)
class Described:
    """A collection: its source's name, its labels, and one matrix per feature type over the items that labels order.

    group_of : item -> its group: the source's own, and near-duplicates as the pipeline finds them
    """

    source: str
    labels: Labels
    features: Mapping[str, FeatureMatrix]
    group_of: Mapping[str, str]

    @property
    def items(self) -> list[str]:
        return next(iter(self.features.values())).ids.tolist()

    def prescribed(self) -> Roles | None:
        """The source's own split, if it has one."""
        said = dict(zip(self.labels["splits"]["item"], self.labels["splits"]["role"], strict=True))
        training = {item for item, role in said.items() if role != "test"}
        return self.roles([item in training for item in self.items]) if training else None

    def random(self, numbers: Iterable[int], seed: int) -> Iterator[Roles]:
        """By number, splits with 30 training images per class; without orderings of classes, of 70 % of the groups."""
        classes, groups = self.labels.class_of, self.group_of
        for number in numbers:
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
        """Groups are held out together inside the training part; a group that the split cuts stays cut."""
        roles = np.where(training, "base", "test").tolist()
        groups = [f"{self.group_of[item]} {role}" for item, role in zip(self.items, roles, strict=True)]
        return Roles(pd.DataFrame({"item_id": self.items, "group_id": groups, "role": roles, "fold": 0}))


def describe(folder: Path, cache: Path, types: Sequence[str], training_only: bool = False) -> Described:
    """Every picture that is ordered, by these types; what was computed before is read from the cache.

    training_only : leave out what the source's own split calls test, unopened
    """
    listing = open_collection(folder)
    labels = listing.labels
    ordered = {*labels["pairs"]["first"], *labels["pairs"]["second"]}
    ordered |= set(labels.class_of) if len(labels["orderings"]) else set()
    if training_only:
        ordered -= set(labels["splits"].query("role == 'test'")["item"])
    items = sorted(item for item in listing.files if item in ordered)
    paths = [listing.files[item] for item in items]
    features = {name: _matrix(name, TYPES[name], items, paths, cache) for name in types}
    return Described(recognise(folder), labels, features, _groups(labels, items, paths, cache))


def _groups(labels: Labels, items: list[str], paths: list[Path], cache: Path) -> dict[str, str]:
    """The source's groups joined with those of near-duplicates; a group is named by its first item."""
    kept = cache / f"looks_{hashlib.sha256(repr(items).encode()).hexdigest()[:16]}.npy"
    if not kept.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(kept, np.array(fan_out(_look, paths, "looks")))
    said = dict(zip(labels["groups"]["item"], labels["groups"]["group"], strict=True))
    near = near_duplicate_groups(np.load(kept).tolist(), SplitsConfig().near_duplicate_bits)
    first = joined_groups([said.get(item, item) for item in items], near)
    return {item: items[place] for item, place in zip(items, first.tolist(), strict=True)}


def _look(path: Path) -> str:
    return phash(np.ascontiguousarray(fit_inside(decode_image(path, Limits()), LONGEST_SIDE)))


def _matrix(name: str, family: Extractor, items: list[str], paths: list[Path], cache: Path) -> FeatureMatrix:
    described = hashlib.sha256(repr((family.identity(), items)).encode()).hexdigest()[:16]
    kept = cache / f"{described}.npy"
    if kept.exists():
        return FeatureMatrix(np.array(items), family.names(), np.load(kept))
    values = np.stack(fan_out(partial(_extract, family), paths, name))
    cache.mkdir(parents=True, exist_ok=True)
    np.save(kept, values)
    return FeatureMatrix(np.array(items), family.names(), values)


def _extract(family: Extractor, path: Path) -> Floats:
    picture = fit_inside(decode_image(path, Limits()), LONGEST_SIDE)
    return np.asarray(family.extract(np.ascontiguousarray(picture)), dtype=np.float32)
