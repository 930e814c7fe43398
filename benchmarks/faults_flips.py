"""Flip one bit at a time in every kind of file that we write, and read it as the stages do.

What is read must be the very same value, or an error of ours; a cache may also have lost an entry, and a journal a line
that it reports. Each `Kind` says how its files are written, which of them are damaged, and how they are read.
"""

from __future__ import annotations

import operator
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from faults_files import WRITERS, contents
from faults_kills import one_process, quiet
from faults_media import originals

from mediarank import store
from mediarank.collections.file_facts import FileFacts
from mediarank.content_cache import ContentCache
from mediarank.evaluation.rankings import Rankings
from mediarank.features.cache import FeatureCache, cache_key
from mediarank.labels import Labels
from mediarank.media.files import sha256_of
from mediarank.media.frames import FramesConfig
from mediarank.media.limits import Limits
from mediarank.media.shards import Media, ShardWriter
from mediarank.ops.models.packing import digest, require_digest
from mediarank.stages.frames import build_frames
from mediarank.stages.manifest import ManifestConfig, build_manifest
from mediarank.teaching.feedback import Event, FeedbackLog
from mediarank.teaching.journal import Journal, statements_of_call
from mediarank.types import MediarankError

MADE = ("jpg", "png", "mp4", "wav")
"""Formats of the originals in shards: pictures are read as a whole, clips and sounds piece by piece."""
FRAMES = FramesConfig(max_side=32, frames_per_clip=2, bursts=0)


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    write : fills a folder; damaged : a pattern of the files whose bits are flipped
    read : the value, or MediarankError
    fine : whether what is read may be there instead of the value
    """

    write: Callable[[Path], object]
    read: Callable[[Path], Any]
    damaged: str = "**/*"
    fine: Callable[[Any, Any], bool] = operator.eq


def written(kind: str, damaged: str = "**/*") -> Kind:
    """A kind that `faults_files` also lets fail."""
    write, read = WRITERS[kind]
    return Kind(lambda folder: write(folder / "it", 3.0), lambda folder: read(folder / "it"), damaged)


def write_shards(folder: Path) -> None:
    made = [path for path in originals(folder / "source") if path.suffix[1:] in MADE]
    with ShardWriter(folder / "raw") as shards:
        for path in sorted(made):
            shards.add(path.name, path, path.stat().st_size, sha256_of(path))
    manifest, _, _ = build_manifest(folder / "raw", Labels({}), ManifestConfig())
    store.write_manifest(folder / "manifest.parquet", manifest)
    build_frames(manifest, folder / "raw", folder / "frames", FRAMES, Limits(), folder / "cache")


def read_originals(folder: Path) -> Any:
    """What `manifest` and `frames` make of the shards: both must stop, or nothing may be quarantined or other."""
    known = store.read_manifest(folder / "manifest.parquet")

    def listed() -> Any:
        manifest, _, quarantine = build_manifest(folder / "raw", Labels({}), ManifestConfig())
        return manifest.table.to_json(), len(quarantine)

    def decoded() -> Any:
        for name in ("again", "no cache"):
            shutil.rmtree(folder / name, ignore_errors=True)
        made = build_frames(known, folder / "raw", folder / "again", FRAMES, Limits(), folder / "no cache")
        return contents(folder / "again"), len(made.failures)

    found, stopped = [], []
    for stage in (listed, decoded):
        try:
            found.append(stage())
        except MediarankError as error:
            stopped.append(error)
    if len(stopped) == 2:
        raise stopped[0]
    return found


def read_copies(folder: Path) -> Any:
    """Working copies as feature types read them."""
    copies = Media(folder / "frames")
    return {path: copies[path].read_bytes() for path in copies}


def read_copy_cache(folder: Path) -> Any:
    """The stage `frames` again, with what its cache has."""
    manifest = store.read_manifest(folder / "manifest.parquet")
    shutil.rmtree(folder / "again", ignore_errors=True)
    build_frames(manifest, folder / "raw", folder / "again", FRAMES, Limits(), folder / "cache")
    return contents(folder / "again")


VECTORS = {cache_key("f", str(k)): np.random.default_rng(k).normal(size=30).astype(np.float32) for k in range(30)}


def write_cache(folder: Path) -> None:
    FeatureCache(folder).put("f", VECTORS)
    FeatureCache(folder).prune(limit=10**9)


def read_cache(folder: Path) -> Any:
    return {(key, array.tobytes()) for key, array in FeatureCache(folder).get(VECTORS).items()}


def write_fingerprints(folder: Path) -> None:
    for k in range(20):
        path = folder / f"files/{k}"
        store.write_bytes(path, bytes([k]) * 50)
    with mock.patch("mediarank.collections.file_facts.FRESH_SECONDS", -60):  # keep also what was just written
        read_fingerprints(folder)


def read_fingerprints(folder: Path) -> Any:
    return list(FileFacts("fingerprints", sha256_of, folder / "cache").of(sorted((folder / "files").iterdir())))


def write_journal(folder: Path) -> None:
    row = {"kind": "concept", "sha256": "0" * 64, "value": True}
    for k in range(12):
        said = statements_of_call("drill", "cli", [{**row, "item": f"images/{k}.png", "name": f"name {k % 3}"}])
        Journal(folder / "journal").append(said)
        FeedbackLog(folder / "feedback").record(Event(f"{k}.png", ("b.png",), ("c.png",)), author="drill")


def read_journal(folder: Path) -> Any:
    """What was said, and how many lines are reported as damaged."""
    read = Journal(folder / "journal").read()
    events, damaged = FeedbackLog(folder / "feedback").read()
    return {repr(said) for said in (*read.statements, *events)}, len(read.damaged) + len(damaged)


def reported(found: Any, said: Any) -> bool:
    """All statements, or fewer and a report; never another one."""
    return bool(found[0] == said[0] or (found[0] < said[0] and found[1]))


def write_rankings(folder: Path) -> None:
    scores = np.random.default_rng(5).normal(size=(6, 9))
    ids = np.array([f"q{k}" for k in range(6)])
    order = np.argsort(-scores, axis=1)[:, :4]
    best = np.take_along_axis(scores, order, axis=1)
    offsets = np.arange(7)
    places = order[:, 0].astype(np.int32)
    rankings = Rankings(
        names=tuple(f"n{k}" for k in range(9)), ids=ids, best=order.astype(np.int32), scores=best.astype(np.float32),
        places=places, offsets=offsets, candidates=np.full(6, 9),
    )  # fmt: skip
    store.write_rankings(folder / "scores/m", rankings)


def read_rankings(folder: Path) -> Any:
    found = store.read_method(folder / "scores/m")
    return {name: np.asarray(value).tolist() for name, value in vars(found).items()}


def write_packed(folder: Path) -> None:
    """Files of a registered version, and the digest that the registry keeps elsewhere."""
    WRITERS["model"][0](folder / "packed/systems/m", 3.0)
    WRITERS["features"][0](folder / "packed/features/f", 3.0)
    (folder / "digest").write_text(digest(folder / "packed"))


def read_packed(folder: Path) -> Any:
    require_digest(folder / "packed", (folder / "digest").read_text())


KINDS: dict[str, Kind] = {
    "parquet": written("parquet"),
    "npy": written("features", "**/values.npy"),
    "npz": written("npz"),
    "json": written("json"),
    "features": written("features"),
    "model": written("model"),
    "labels": written("labels"),
    "evaluation": written("measured"),
    "rankings": Kind(write_rankings, read_rankings),
    "packed model": Kind(write_packed, read_packed, "packed/**/*"),
    "shards": Kind(write_shards, read_originals, "raw/*.tar"),
    "shard index": Kind(write_shards, read_originals, "raw/index.parquet"),
    "working copies": Kind(write_shards, read_copies, "frames/*"),
    "copy cache": Kind(write_shards, read_copy_cache, f"cache/{ContentCache.file}"),
    "cache": Kind(write_cache, read_cache, FeatureCache.file, operator.le),
    "fingerprints": Kind(write_fingerprints, read_fingerprints, "cache/*"),
    "journal": Kind(write_journal, read_journal, "*/*.jsonl", reported),
}


def flips(folder: Path, each: int, name: str) -> dict[str, Any]:
    """Flip `each` bits of one kind of file."""
    number = list(KINDS).index(name)
    with quiet(), one_process():
        silent, noticed = flip(KINDS[name], folder / str(number), each, np.random.default_rng(number))
    if silent:
        print(f"  {name}: {silent} flipped bits gave another value in silence")
    return {"flips": {name: each}, "flips_noticed": {name: noticed}, "flips_silent": silent}


def flip(kind: Kind, folder: Path, each: int, rng: np.random.Generator) -> tuple[int, int]:
    """How many flipped bits gave another value in silence, and how many were noticed."""
    kind.write(folder)
    value = kind.read(folder)
    paths = sorted(path for path in folder.glob(kind.damaged) if path.is_file())
    whole = {path: path.read_bytes() for path in paths}
    sizes = np.array([len(content) for content in whole.values()])
    silent = noticed = 0
    for place, bit in zip(rng.integers(0, sizes.sum(), each), rng.integers(0, 8, each), strict=True):
        number = int(np.searchsorted(np.cumsum(sizes), place, side="right"))
        path = paths[number]
        damaged = bytearray(whole[path])
        damaged[place - int(sizes[:number].sum())] ^= 1 << bit
        path.write_bytes(damaged)
        try:
            found = kind.read(folder)
            silent += not kind.fine(found, value)
            noticed += found != value
        except MediarankError:
            noticed += 1
        for file, content in whole.items():
            for beside in file.parent.glob(f"{file.name}-*"):  # of SQLite
                beside.unlink()
            if not file.exists() or file.read_bytes() != content:
                file.write_bytes(content)
    return silent, noticed
