"""A cache of working copies, found by content: adding ten images decodes ten.

An entry is a folder named after a hash of everything that decides its content. It appears by one rename, so a killed
process leaves no half-written entry. Its list of files begins with a checksum of itself, and each file is compared with
its fingerprint in that list before it is used, so a damaged entry is made again. Files are hard-linked, not copied,
where the file system allows it. If the cache can't be written to, the copies are made without it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from mediarank import disk
from mediarank.media.frames import FrameRow, FramesConfig, SoundRow, WorkingCopies, make_working_copies
from mediarank.media.limits import Limits

VERSION: Final = 3
"""Raise it whenever a change alters working copies."""
ROWS: Final = "rows.json"


@dataclass(frozen=True)
class Job:
    """One original: where it is, what it is, and the fingerprint of its bytes."""

    item_id: str
    source: Path
    kind: str
    sha256: str


def working_copies(job: Job, target: Path, config: FramesConfig, limits: Limits, cache: Path) -> WorkingCopies:
    """The working copies of an item below `target`: linked from the cache, or made and added to it."""
    entry = _entry(job, config, limits, cache)
    copies = _read(entry)
    if copies is None:
        with suppress(OSError):  # the cache may be full or not writable
            shutil.rmtree(entry, ignore_errors=True)
            copies = _make(job, config, limits, entry)
    if copies is None:
        return make_working_copies(job.item_id, job.source, job.kind, target, config, limits)
    for path in _files(copies):
        _link(entry / path, target / path)
    return copies


def prune(cache: Path, limit: int) -> int:
    """Remove the least recently used entries until the rest fits `limit` bytes; returns how many were removed."""
    entries = [(entry.stat().st_mtime, entry) for entry in cache.glob("??/*") if not entry.name.startswith(".")]
    used, removed = 0, 0
    for _, entry in sorted(entries, reverse=True):
        used += sum(path.stat().st_size for path in entry.rglob("*") if path.is_file())
        if used > limit:
            shutil.rmtree(entry, ignore_errors=True)
            removed += 1
    return removed


def statistics(cache: Path) -> tuple[int, int]:
    """The number of entries, and the bytes of their files (which may be shared with the workspace by hard links)."""
    entries = [entry for entry in cache.glob("??/*") if not entry.name.startswith(".")]
    return len(entries), sum(path.stat().st_size for entry in entries for path in entry.rglob("*") if path.is_file())


def _entry(job: Job, config: FramesConfig, limits: Limits, cache: Path) -> Path:
    decisive = {name: value for name, value in asdict(config).items() if name != "max_failed_share"}
    facts = [VERSION, job.item_id, job.kind, job.sha256, decisive, asdict(limits)]
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return cache / key[:2] / key


def _make(job: Job, config: FramesConfig, limits: Limits, entry: Path) -> WorkingCopies:
    """Make an entry; OSError if the cache can't hold it."""
    with disk.scratch(entry) as temporary:
        made = make_working_copies(job.item_id, job.source, job.kind, temporary, config, limits)
        rows = json.dumps(asdict(made)).encode()
        (temporary / ROWS).write_bytes(hashlib.sha256(rows).hexdigest().encode() + b"\n" + rows)
        try:
            temporary.rename(entry)
        except OSError:
            if not entry.is_dir():  # otherwise another process has made the same entry
                raise
        return made


def _read(entry: Path) -> WorkingCopies | None:
    """The content of the entry, or None if it is missing or damaged."""
    try:
        digest, content = (entry / ROWS).read_bytes().split(b"\n", 1)
        if hashlib.sha256(content).hexdigest().encode() != digest:
            return None
        rows = json.loads(content)
        sound = SoundRow(**rows["sound"]) if rows["sound"] else None
        found = WorkingCopies(tuple(FrameRow(**row) for row in rows["frames"]), sound, rows["note"])
        if any(hashlib.sha256((entry / path).read_bytes()).hexdigest() != sha for path, sha in _files(found).items()):
            return None
        with suppress(OSError):  # a read-only cache can still be read
            os.utime(entry)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found


def _files(copies: WorkingCopies) -> dict[str, str]:
    """Path of each working copy -> the fingerprint of its content"""
    files = {frame.path: frame.sha256 for frame in copies.frames}
    files |= {frame.burst: frame.burst_sha256 for frame in copies.frames if frame.burst}
    return files | ({copies.sound.path: copies.sound.sha256} if copies.sound else {})


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
