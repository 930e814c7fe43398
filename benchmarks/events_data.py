"""What the events benchmark measures on: a collection's clips taken through the whole line up to the features.

The demo is generated larger than `make run` does it, half of its clips for testing and a fifth of the others for
fusing, as in the paper; a folder of clips is split by its own labels in the same shares. What was described is kept in
`cache`, since decoding and extraction take minutes. Feature types and shares were fixed before anything was measured.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mediarank import store
from mediarank.base_models.svm import SVMConfig
from mediarank.collections.demo import DemoConfig
from mediarank.collections.sources import CollectionConfig
from mediarank.features.base import Extractor, LocalExtractor
from mediarank.features.cache import FeatureCache
from mediarank.features.describe import extract_rows
from mediarank.features.fitting import fit
from mediarank.features.gist import Gist
from mediarank.features.hog import Hog
from mediarank.features.hog3d import Hog3d
from mediarank.features.mfcc import Mfcc
from mediarank.media.frames import FramesConfig
from mediarank.media.limits import Limits
from mediarank.media.shards import Media
from mediarank.stages.base_models import fit_base_models
from mediarank.stages.collect import run as collect
from mediarank.stages.frames import build_frames
from mediarank.stages.manifest import ManifestConfig, build_manifest
from mediarank.stages.splits import Shares, SplitsConfig, assign_roles, usable_items
from mediarank.systems.contract import Inputs

TYPES: Final[Mapping[str, Extractor | LocalExtractor]] = {
    "motion": Hog3d(normalisation="sqrt"),
    "sound": Mfcc(normalisation="sqrt"),
    "gist_frames": Gist(colour=True, pool="none"),
    "hog_frames": Hog(bins=18, signed=True, pool="none"),
}
OBJECTS: Final = ("gist_frames", "hog_frames")
CLIPS: Final = Shares(base=0.4, rank=0.1, valid=0.0, test=0.5)
IMAGES: Final = Shares(base=1.0, rank=0.0, valid=0.0, test=0.0)
"""Images serve for nothing but the concept models."""


def demo(clips: int, cache: Path, seed: int = 7) -> Inputs:
    """Clips of the demo's five events, and its usual images for the concept models."""
    config = DemoConfig(images=640, clips=clips, copies=0, damaged=False, seed=seed)
    return described(CollectionConfig(source="demo", demo=config), cache)


def folder(path: Path, cache: Path) -> Inputs:
    """Any collection that `mediarank collections` recognises and whose clips have events or classes."""
    return described(CollectionConfig(source="auto", path=str(path)), cache)


def described(collection: CollectionConfig, cache: Path, seed: int = 7) -> Inputs:
    identities = [family.identity() for family in TYPES.values()]
    key = hashlib.sha256(repr([collection, CLIPS, list(TYPES), identities, seed]).encode()).hexdigest()[:16]
    kept = cache / f"events-{key}"
    if not (kept / "done").exists():
        _describe(collection, cache, kept, seed)
    labels, roles = store.read_labels(kept / "labels"), store.read_roles(kept / "roles.parquet")
    features = {name: store.read_features(kept / "features" / name) for name in TYPES}
    scores = {name: store.read_features(kept / "base_scores" / name) for name in OBJECTS}
    return Inputs(features, labels, roles, base_scores=scores)


def _describe(collection: CollectionConfig, cache: Path, kept: Path, seed: int) -> None:
    """collect, manifest, frames, splits, features and the concept models of images, as the stages do them."""
    print(collect(collection, kept, cache))
    media, labels = kept / "raw/media", store.read_labels(kept / "raw/labels")
    manifest, labels, _ = build_manifest(media, labels, ManifestConfig())
    working = kept / "frames"
    made = build_frames(manifest, media, working, FramesConfig(), Limits(), cache / "frames")
    copies = Media(working)
    items = usable_items(manifest, made.frames, made.sounds)
    roles, _ = assign_roles(items, labels, SplitsConfig(image=IMAGES, clip=CLIPS, sound=CLIPS, seed=seed))
    for name, family in TYPES.items():
        vectors = FeatureCache(cache / "features")
        feature = fit(family, made.frames, made.sounds, copies, roles, vectors)
        matrix = extract_rows(feature, made.frames, made.sounds, copies, vectors)
        store.write_features(kept / "features" / name, matrix)
        if name in OBJECTS:
            scores = fit_base_models(name, matrix, labels, roles, SVMConfig())[2]
            store.write_features(kept / "base_scores" / name, scores)
    store.write_labels(kept / "labels", labels)
    store.write_roles(kept / "roles.parquet", roles)
    store.write_text(kept / "done", "done\n")
