"""What the events benchmark measures on: clips with their features, split anew for every seed.

A collection is the demo (generated larger than `make run` does it), a folder of clips that `open_collection` reads, or
a folder with `features.npz` and `events.csv`. Half of the clips are for testing and a fifth of the others for fusing,
as in the paper. Codebooks and concept models are fitted on the clips and images of role `base` of each split. Working
copies and vectors are kept in `cache`, since decoding and extraction take minutes. Feature types and shares were fixed
before anything was measured.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from mediarank import store
from mediarank.base_models.svm import SVMConfig
from mediarank.collections.demo import DemoConfig
from mediarank.collections.groups import joined_groups
from mediarank.collections.sources import CollectionConfig
from mediarank.collections.tables import make_labels
from mediarank.features.base import Extractor, LocalExtractor
from mediarank.features.cache import FeatureCache
from mediarank.features.describe import extract_rows
from mediarank.features.fitting import fit
from mediarank.features.flow import Flow
from mediarank.features.gist import Gist
from mediarank.features.hog3d import Hog3d
from mediarank.features.mfcc import Mfcc
from mediarank.features.network import Network
from mediarank.labels import Labels
from mediarank.media.frames import FramesConfig
from mediarank.media.limits import Limits
from mediarank.media.shards import Media
from mediarank.stages.base_models import fit_base_models
from mediarank.stages.collect import run as collect
from mediarank.stages.frames import build_frames
from mediarank.stages.manifest import ManifestConfig, build_manifest
from mediarank.stages.splits import Shares, SplitsConfig, assign_roles, usable_items
from mediarank.systems.contract import Inputs
from mediarank.systems.events.config import Config
from mediarank.systems.events.event_labels import shown_events
from mediarank.systems.events.fit import Clips, prepare
from mediarank.types import FeatureMatrix, Roles

TYPES: Final[Mapping[str, Extractor | LocalExtractor]] = {
    "motion": Hog3d(normalisation="sqrt"),
    "flow": Flow(),
    "sound": Mfcc(normalisation="sqrt"),
    "gist_frames": Gist(colour=True, pool="none"),
    "network_classes": Network(layer="probabilities", pool="none"),
}
CONCEPTS: Final = ("gist_frames",)
"""Types whose concept models look for objects, where a collection has images with concepts, as in params.yaml."""
CLIPS: Final = Shares(base=0.4, rank=0.1, valid=0.0, test=0.5)
IMAGES: Final = Shares(base=1.0, rank=0.0, valid=0.0, test=0.0)
"""Images serve for nothing but the concept models."""
FRAMES: Final = 5
"""Per clip, as in params.yaml."""
HAND_MADE: Final = ("motion", "flow", "objects", "scene", "sound")
ALL: Final = ("motion", "flow", "objects", "scene", "sound", "network")


@dataclass(frozen=True)
class Collection:
    """split : the clips as a seed deals them, with their features; identity : of what is split"""

    title: str
    identity: str
    split: Callable[[int], Clips]


def demo(clips: int, cache: Path, seed: int = 7) -> Collection:
    """Clips of the demo's five events, and its usual images for the concept models."""
    config = DemoConfig(images=640, clips=clips, copies=0, damaged=False, seed=seed)
    source = CollectionConfig(source="demo", demo=config)
    return Collection("demo", _key(source), partial(_split, source, cache))


def opened(path: Path, cache: Path) -> Collection:
    """A folder of clips with events or classes, or one with `features.npz` and `events.csv`."""
    if (path / "features.npz").exists():
        return Collection(path.name, _key(path), partial(_split_features, path))
    source = CollectionConfig(source="auto", path=str(path))
    return Collection(path.name, _key(source), partial(_split, source, cache))


def _split(collection: CollectionConfig, cache: Path, seed: int) -> Clips:
    kept = cache / f"events-{_key(collection)}"
    if not (kept / "done").exists():
        print(collect(collection, kept, cache))
        _decode(kept, cache)
    labels, items = store.read_labels(kept / "labels"), store.read_table(kept / "items.parquet")
    roles = assign_roles(items, labels, SplitsConfig(image=IMAGES, clip=CLIPS, sound=CLIPS, seed=seed))[0]
    described = kept / f"seed-{seed}-{_key([(name, family.identity()) for name, family in TYPES.items()])}"
    if not (described / "done").exists():
        _describe(kept, described, labels, roles, FeatureCache(cache / "features"))
    features = {name: store.read_features(described / name) for name in TYPES}
    scores = {name: store.read_features(described / "concepts" / name) for name in CONCEPTS}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The base classifier|.* is left out")
        return prepare(Inputs(features, labels, roles, base_scores=scores), Config(classifiers=ALL))


def _decode(kept: Path, cache: Path) -> None:
    """manifest and frames, as the stages make them."""
    manifest, labels, _ = build_manifest(kept / "raw/media", store.read_labels(kept / "raw/labels"), ManifestConfig())
    config = FramesConfig(frames_per_clip=FRAMES)
    made = build_frames(manifest, kept / "raw/media", kept / "frames", config, Limits(), cache / "frames")
    store.write_labels(kept / "labels", labels)
    store.write_table(kept / "items.parquet", usable_items(manifest, made.frames, made.sounds))
    store.write_table(kept / "frames.parquet", made.frames)
    store.write_table(kept / "sounds.parquet", made.sounds)
    store.write_text(kept / "done", "done\n")


def _describe(kept: Path, described: Path, labels: Labels, roles: Roles, cache: FeatureCache) -> None:
    """Features, and the concept models of images, as the stages make them."""
    frames, sounds = (store.read_table(kept / f"{name}.parquet") for name in ("frames", "sounds"))
    tables = frames, sounds, Media(kept / "frames")
    for name, family in TYPES.items():
        matrix = extract_rows(fit(family, *tables, roles, cache), *tables, cache)
        store.write_features(described / name, matrix)
        if name in CONCEPTS:
            scores = fit_base_models(name, matrix, labels, roles, SVMConfig())[2]
            store.write_features(described / "concepts" / name, scores)
    store.write_text(described / "done", "done\n")


def _split_features(path: Path, seed: int) -> Clips:
    """One classifier per matrix of `features.npz`; a row of NaN is a clip without it.

    Clips that share a row are cuts of one film or copies, and stay in one part.
    """
    with np.load(path / "features.npz") as file:
        ids = file["clip"].astype(str)
        arrays = {name: file[name] for name in file.files if file[name].ndim == 2 and len(file[name]) == len(ids)}
    table = pd.read_csv(path / "events.csv", dtype={"clip": str, "event": str})
    labels = make_labels(events=[(c, e, bool(r)) for c, e, r in table.itertuples(index=False)])
    known = {name: ~np.isnan(values).any(axis=1) for name, values in arrays.items()}
    shared = [_same_rows(values, known[name]) for name, values in arrays.items()]
    groups = joined_groups(*shared)
    items = pd.DataFrame({"item_id": ids, "kind": "clip", "group_id": ids[groups], "phash": ""})
    roles = assign_roles(items, labels, SplitsConfig(clip=CLIPS, seed=seed))[0]
    order = np.argsort(ids)
    matrices = {}
    for name, values in arrays.items():
        rows = order[known[name][order]]
        names = tuple(f"{name}{k}" for k in range(values.shape[1]))
        matrices[name] = FeatureMatrix(ids[rows], names, values[rows].astype(np.float32))
    parts = {role: tuple(sorted(roles.items(role))) for role in ("base", "rank", "valid", "test")}
    dealt = roles.table
    return Clips(
        **parts,
        matrices=matrices,
        shown=shown_events(labels),
        groups=dict(zip(dealt["item_id"], dealt["group_id"], strict=True)),
    )


def _same_rows(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """For each row the first row with the same content; a row of NaN or zeros is alone."""
    first: dict[bytes, int] = {}
    alone = ~known | ~np.any(np.nan_to_num(values), axis=1)
    return np.array([k if alone[k] else first.setdefault(row.tobytes(), k) for k, row in enumerate(values)])


def _key(what: object) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()[:16]
