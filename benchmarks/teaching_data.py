"""What the teaching benchmark measures on: a collection's labels, and its pictures described once and kept.

The feature type is the pretrained network where the family exists. `--hand-made` takes colour, texture and gradients
instead, to see what teaching is worth without a network.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from mediarank.collections.demo import DemoConfig, generate
from mediarank.collections.sources import open_collection
from mediarank.fanout import fan_out
from mediarank.features.base import Extractor
from mediarank.features.families import EXTRACTORS
from mediarank.features.gist import Gist
from mediarank.features.hog import Hog
from mediarank.features.lbp import Lbp
from mediarank.labels import Labels
from mediarank.media.image import decode_image
from mediarank.media.limits import Limits
from mediarank.media.working import fit_inside
from mediarank.types import FeatureMatrix, MediaError

LONGEST_SIDE = 320
NETWORK = "network"
CHOOSING, REPORTING = 0, 1
"""Halves of the words and of the classes: settings are chosen on the first, figures are of the second."""


def half(names: Iterable[str], which: int) -> list[str]:
    """Every other name in alphabetical order."""
    return sorted(names)[which::2]


@dataclass(frozen=True)
class Described:
    """labels : of the pictures; matrices : by feature type, all over the same items"""

    labels: Labels
    matrices: Mapping[str, FeatureMatrix]

    @property
    def items(self) -> list[str]:
        return next(iter(self.matrices.values())).ids.tolist()


def feature_types(hand_made: bool) -> dict[str, Extractor]:
    if NETWORK in EXTRACTORS and not hand_made:
        return {NETWORK: EXTRACTORS[NETWORK]()}  # type: ignore[dict-item]
    return {
        "lab": EXTRACTORS["lab_histogram"](granularity="thirds", normalisation="sqrt"),  # type: ignore[dict-item]
        "gist": Gist(colour=True),
        "hog": Hog(),
        "lbp": Lbp(cells=4),
    }


def describe(folder: Path | None, cache: Path, hand_made: bool = False) -> Described:
    """Every labelled picture of a collection, or of the demo, which is drawn anew."""
    if folder is not None:
        listing = open_collection(folder)
        return _described(listing.labels, listing.files, cache, hand_made)
    with tempfile.TemporaryDirectory() as media:
        labels = generate(DemoConfig(clips=5), Path(media))
        files = {path.relative_to(media).as_posix(): path for path in Path(media).rglob("*.jpg") if path.stat().st_size}
        return _described(labels, files, None, hand_made)


def _described(labels: Labels, paths: Mapping[str, Path], cache: Path | None, hand_made: bool) -> Described:
    labelled = {*labels["keywords"]["item"], *labels.looked_at}
    files = [(item, paths[item]) for item in sorted(labelled & set(paths)) if _opens(paths[item])]
    vectors = _cached(feature_types(hand_made), files, cache)
    ids = np.array([item for item, _ in files])
    matrices = {name: FeatureMatrix(ids, tuple(map(str, range(rows.shape[1]))), rows) for name, rows in vectors.items()}
    return Described(labels.restricted_to(ids.tolist()), matrices)


def _opens(path: Path) -> bool:
    try:
        decode_image(path, Limits())
    except MediaError:  # the demo has a few damaged files
        return False
    return True


def _cached(types: Mapping[str, Extractor], files: list[tuple[str, Path]], cache: Path | None) -> dict[str, np.ndarray]:
    made = {}
    for name, extractor in types.items():
        key = hashlib.sha256(repr([files, extractor.identity()]).encode()).hexdigest()[:16]
        kept = cache / f"teaching-{name}-{key}.npy" if cache else None
        if kept and kept.exists():
            made[name] = np.load(kept)
            continue
        made[name] = np.stack(fan_out(partial(_vector, extractor), [path for _, path in files], name))
        if kept:
            kept.parent.mkdir(parents=True, exist_ok=True)
            np.save(kept, made[name])
    return made


def _vector(extractor: Extractor, path: Path) -> np.ndarray:
    return extractor.extract(fit_inside(decode_image(path, Limits()), LONGEST_SIDE))
