"""The feature types of the retrieval benchmark, and their rows for any collection of pictures with classes.

Sixteen hand-made types to choose nine from: colour with layouts, GIST in colour, bags of SIFT and hue words, local
binary patterns, gradients, Gabor responses, edges, wavelets, correlograms; and a pretrained network. Codebooks are
fitted on a few items that are then never asked with. Working copies and features are kept in a cache folder, since
extraction takes minutes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from mediarank.collections.sources import open_collection, recognise
from mediarank.content_cache import ContentCache
from mediarank.features.autocorrelogram import Autocorrelogram
from mediarank.features.base import Extractor, LocalExtractor
from mediarank.features.cache import FeatureCache
from mediarank.features.colour_histogram import HsvHistogram, LabHistogram, RgbHistogram
from mediarank.features.colour_moments import ColourMoments
from mediarank.features.describe import extract_rows
from mediarank.features.edge_direction import EdgeDirection
from mediarank.features.fitting import fit
from mediarank.features.gabor import GaborBank
from mediarank.features.gist import Gist
from mediarank.features.haar import HaarTexture
from mediarank.features.hog import Hog
from mediarank.features.hue import Hue
from mediarank.features.lbp import Lbp
from mediarank.features.network import Network
from mediarank.features.sift import Sift
from mediarank.media.copy_cache import Job, working_copies
from mediarank.media.files import File
from mediarank.media.frames import FramesConfig, tables
from mediarank.media.guard import Failed
from mediarank.media.limits import Limits
from mediarank.types import FeatureMatrix, Roles

TYPES: Mapping[str, Extractor | LocalExtractor] = {
    "lab": LabHistogram(normalisation="sqrt"),
    "lab_layout": LabHistogram(bins=(4, 6, 6), granularity="quadrants_centre", normalisation="sqrt"),
    "hsv": HsvHistogram(normalisation="sqrt"),
    "hsv_thirds": HsvHistogram(bins=(12, 4, 3), granularity="global_thirds", normalisation="sqrt"),
    "rgb": RgbHistogram(),
    "moments_layout": ColourMoments(granularity="4x4"),
    "autocorrelogram": Autocorrelogram(space="hsv", bins=(16, 2, 2)),
    "gist": Gist(colour=True),
    "sift": Sift(words=1000, assignment="soft", normalisation="sqrt"),
    "sift_layout": Sift(words=250, granularity="quadrants_centre", assignment="soft", normalisation="sqrt"),
    "hue_words": Hue(words=250, granularity="global_thirds", assignment="soft", normalisation="sqrt"),
    "lbp": Lbp(cells=2),
    "hog": Hog(),
    "gabor": GaborBank(),
    "edges": EdgeDirection(granularity="2x2"),
    "haar": HaarTexture(colour=True),
    "network": Network(),
}
NETWORK = ("network",)
"""Types of a pretrained network; the others are hand-made."""
CODEBOOK_ITEMS = 400


@dataclass(frozen=True)
class Described:
    """
    source : the kind of collection, such as corel5k
    classes : item -> class, of every usable item
    matrices : one per feature type
    reserved : items that may not be asked with: they fitted the codebooks, or the collection names other queries
    clutter : items of classes without any query; they are ranked, and nothing is learned from them
    """

    source: str
    classes: Mapping[str, str]
    matrices: Mapping[str, FeatureMatrix]
    reserved: frozenset[str]
    clutter: frozenset[str] = frozenset()


def describe(
    folder: Path, cache: Path, seed: int = 0, types: Sequence[str] = tuple(TYPES), per_class: int | None = None
) -> Described:
    """Every picture of the collection that has a class, or a sample of so many per class, by every type."""
    listing = open_collection(folder)
    classes = {item: name for item, name in listing.labels.class_of.items() if item in listing.files}
    if per_class is not None:
        classes = sampled(classes, per_class, np.random.default_rng([seed, per_class]))
    jobs = [Job(item, path, "image", digest(path)) for item, path in sorted(listing.files.items()) if item in classes]
    made = working_copies(jobs, FramesConfig(), Limits(), ContentCache(cache / "copies"))
    copies = [one for one in made if not isinstance(one, Failed)]
    media = {path: file for one in copies for path, file in one.files.items()}
    frames = tables([row for one in copies for row in one.frames], [])[0]
    families = {name: TYPES[name] for name in types}
    found = _described(frames, classes, families, media, FeatureCache(cache / "features"), seed)
    asked = set(listing.labels.queries_among(found.classes))
    with_queries = {found.classes[item] for item in asked}
    return replace(
        found,
        source=recognise(folder),
        reserved=found.reserved | (set(found.classes) - asked),
        clutter=frozenset(item for item, name in found.classes.items() if name not in with_queries),
    )


def sampled(classes: Mapping[str, str], per_class: int, rng: np.random.Generator) -> dict[str, str]:
    """At most so many items of every class."""
    members: dict[str, list[str]] = {}
    for item in sorted(classes):
        members.setdefault(classes[item], []).append(item)
    drawn = [item for name in sorted(members) for item in rng.permutation(members[name])[:per_class].tolist()]
    return {item: classes[item] for item in sorted(drawn)}


def _described(
    frames: pd.DataFrame,
    classes: Mapping[str, str],
    families: Mapping[str, Extractor | LocalExtractor],
    media: Mapping[str, File],
    store: FeatureCache,
    seed: int,
) -> Described:
    items = frames["item_id"].tolist()
    drawn = np.random.default_rng(seed).choice(len(items), min(CODEBOOK_ITEMS, len(items) // 4), replace=False)
    reserved = frozenset(items[k] for k in drawn)
    role = ["base" if item in reserved else "rank" for item in items]
    roles = Roles(pd.DataFrame({"item_id": items, "group_id": items, "role": role, "fold": 0}))
    sounds = pd.DataFrame(columns=["item_id", "path", "seconds", "sha256"])
    fitted = {name: fit(family, frames, sounds, media, roles, store) for name, family in families.items()}
    matrices = {name: extract_rows(feature, frames, sounds, media, store) for name, feature in fitted.items()}
    return Described("", {item: classes[item] for item in items}, matrices, reserved)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
