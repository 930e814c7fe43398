"""Working copies of many originals, in order; those that were made before come from a cache, found by content.

Originals are decoded in guarded child processes; the cache (`content_cache.py`) is read and written here. Nothing
depends on it: if it can't be written to, the copies are made without it, and an entry that is damaged is made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from typing import Any, Final

from mediarank.content_cache import ContentCache
from mediarank.media.confine import Confinement, folders_of
from mediarank.media.files import File, place_of
from mediarank.media.frames import FrameRow, FramesConfig, SoundRow, WorkingCopies, make_working_copies
from mediarank.media.guard import Failed, guarded_iter
from mediarank.media.limits import Limits

VERSION: Final = 4
"""Raise it whenever a change alters working copies."""
_BLOCK: Final = 1024
_BLOCK_BYTES: Final = 64 << 20
"""Originals whose copies are read from the cache at a time: more of them, if they stay below this size."""
_WRITTEN: Final = 256
"""Items between two writes to the cache: a killed run loses at most these."""


@dataclass(frozen=True)
class Job:
    """One original: where it is, what it is, and the fingerprint of its bytes."""

    item_id: str
    source: File
    kind: str
    sha256: str


def working_copies(
    jobs: Sequence[Job], config: FramesConfig, limits: Limits, cache: ContentCache
) -> Iterator[WorkingCopies | Failed]:
    """The working copies of each original, in order, or why it has none."""
    settings = _settings(config, limits)
    keys = [_key(job, settings) for job in jobs]
    known = cache.known(keys)
    missing = [job for job, key in zip(jobs, keys, strict=True) if key not in known]
    places = {place for job in missing if (place := place_of(job.source))}
    fresh = guarded_iter(
        partial(_make, config=config, limits=limits),
        missing,
        "frames",
        limits.timeout_seconds,
        confinement=Confinement(folders_of(places)),
    )
    pairs = iter(zip(jobs, keys, strict=True))
    count = _BLOCK
    while block := list(islice(pairs, count)):
        found = cache.read(key for _, key in block if key in known)
        count = max(_BLOCK, _BLOCK_BYTES // max(map(len, found.values()), default=_BLOCK_BYTES))
        new: dict[str, bytes] = {}
        for job, key in block:
            copies = _unpacked(found[key]) if key in found else None
            if copies is None:  # a known entry that is missing was damaged, or evicted by another process
                outcome = next(fresh) if key not in known else _again(job, config, limits)
                if isinstance(outcome, WorkingCopies):
                    new[key] = _packed(outcome)
                if len(new) >= _WRITTEN:
                    cache.write("working copies", new)
                    new = {}
                yield outcome
            else:
                yield copies
        cache.write("working copies", new)


def _again(job: Job, config: FramesConfig, limits: Limits) -> WorkingCopies | Failed:
    work = partial(_make, config=config, limits=limits)
    allowed = Confinement(folders_of([place] if (place := place_of(job.source)) else []))
    return next(iter(guarded_iter(work, [job], "frames", limits.timeout_seconds, confinement=allowed)))


def _make(job: Job, config: FramesConfig, limits: Limits) -> WorkingCopies:
    return make_working_copies(job.item_id, job.source, job.kind, config, limits)


def _settings(config: FramesConfig, limits: Limits) -> str:
    """What all keys have in common."""
    decisive = {name: value for name, value in asdict(config).items() if name != "max_failed_share"}
    return json.dumps([decisive, asdict(limits)], sort_keys=True)


def _key(job: Job, settings: str) -> str:
    own = json.dumps([VERSION, job.item_id, job.kind, job.sha256])
    return hashlib.sha256(f"{own[:-1]}, {settings[1:]}".encode()).hexdigest()


def _packed(copies: WorkingCopies) -> bytes:
    """The rows as one line of JSON, then the files."""
    facts: dict[str, Any] = {
        "frames": [row._asdict() for row in copies.frames],
        "sound": copies.sound._asdict() if copies.sound else None,
        "note": copies.note,
        "files": {path: len(content) for path, content in copies.contents.items()},
    }
    return b"".join([json.dumps(facts).encode(), b"\n", *copies.contents.values()])


def _unpacked(data: bytes) -> WorkingCopies:
    head, _, rest = data.partition(b"\n")
    facts = json.loads(head.decode())
    contents, position = {}, 0
    for path, length in facts["files"].items():
        contents[path] = rest[position : position + length]
        position += length
    sound = SoundRow(**facts["sound"]) if facts["sound"] else None
    return WorkingCopies(tuple(FrameRow(**row) for row in facts["frames"]), sound, facts["note"], contents)
