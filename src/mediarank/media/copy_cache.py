"""Working copies of many originals, in order; those that were made before come from a cache, found by content.

Originals are decoded in guarded child processes; the cache (`content_cache.py`) is read and written here. It keeps the
facts of an item (its rows and the lengths of its files) apart from its files: a shard of files that did not change is
not written again, and then the files are not read either. Nothing depends on the cache: if it can't be written to, the
copies are made without it, and an entry that is damaged is made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, Final

from mediarank.content_cache import ContentCache
from mediarank.media.confine import Confinement, folders_of
from mediarank.media.files import File, place_of
from mediarank.media.frames import FrameRow, FramesConfig, SoundRow, WorkingCopies, make_working_copies
from mediarank.media.guard import Failed, guarded_iter
from mediarank.media.limits import Limits
from mediarank.types import DataError

VERSION: Final = 6
"""Raise it whenever a change alters working copies, or how they are kept."""
_TOGETHER: Final = 4096
"""Items whose facts are read from the cache at a time."""
_BLOCK_BYTES: Final = 32 << 20
"""Contents that are read from the cache at a time."""
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
    new: dict[str, WorkingCopies] = {}
    block = _Block(cache)
    for start in range(0, len(jobs), _TOGETHER):
        some = keys[start : start + _TOGETHER]
        facts = _parsed(cache.read(key for key in some if key in known))
        for job, key in zip(jobs[start : start + _TOGETHER], some, strict=True):
            if key in facts:
                block = _Block(cache) if block.full else block
                yield _known(facts[key], key, block, partial(_again, job, config, limits))
                continue
            # a known entry that is missing was damaged, or evicted by another process
            outcome = next(fresh) if key not in known else _again(job, config, limits)
            if isinstance(outcome, WorkingCopies):
                new[key] = outcome
            if len(new) >= _WRITTEN:
                _keep(cache, new)
                new = {}
            yield outcome
        _keep(cache, new)
        new = {}


def _keep(cache: ContentCache, made: Mapping[str, WorkingCopies]) -> None:
    """Write the facts of all items and then their contents, so that facts, which are read alone, lie together."""
    facts = {key: _facts(copies) for key, copies in made.items()}
    contents = {_contents_key(key): b"".join(copies.contents.values()) for key, copies in made.items()}
    cache.write("working copies", facts | contents)


class _Block:
    """Contents of consecutive items, read from the cache together when the first of them is needed."""

    def __init__(self, cache: ContentCache) -> None:
        self._cache = cache
        self._keys: list[str] = []
        self._size = 0
        self._found: dict[str, bytes] | None = None

    @property
    def full(self) -> bool:
        """Whether no more items may be added."""
        return self._found is not None or self._size > _BLOCK_BYTES

    def add(self, key: str, length: int) -> None:
        self._keys.append(key)
        self._size += length

    def content(self, key: str) -> bytes | None:
        """The content of an item that was added, if the cache has it."""
        if self._found is None:
            self._found = self._cache.read(map(_contents_key, self._keys))
        return self._found.get(_contents_key(key))


class _Contents(Mapping[str, bytes]):
    """path -> a file of an item.

    lengths : path -> its length, in the order in which they are kept
    again : makes the working copies, if the cache has lost the contents
    """

    def __init__(
        self, lengths: Mapping[str, int], key: str, block: _Block, again: Callable[[], WorkingCopies | Failed]
    ) -> None:
        self._lengths, self._key, self._block, self._again = lengths, key, block, again

    def __iter__(self) -> Iterator[str]:
        return iter(self._lengths)

    def __len__(self) -> int:
        return len(self._lengths)

    def __getitem__(self, path: str) -> bytes:
        return self._files[path]

    @cached_property
    def _files(self) -> Mapping[str, bytes]:
        joined = self._block.content(self._key)
        if joined is None or len(joined) != sum(self._lengths.values()):
            made = self._again()
            if isinstance(made, Failed):
                raise DataError(
                    f"{next(iter(self._lengths), 'A working copy')}: its original was decoded before, but can't be "
                    f"now: {made.reason} Run it again; if that does not help, delete .mediarank/cache/frames."
                )
            return made.contents
        starts = accumulate(self._lengths.values(), initial=0)
        return {path: joined[at : at + size] for (path, size), at in zip(self._lengths.items(), starts, strict=False)}


def _again(job: Job, config: FramesConfig, limits: Limits) -> WorkingCopies | Failed:
    work = partial(_make, config=config, limits=limits)
    allowed = Confinement(folders_of([place] if (place := place_of(job.source)) else []))
    return next(iter(guarded_iter(work, [job], "frames", limits.timeout_seconds, confinement=allowed)))


def _make(job: Job, config: FramesConfig, limits: Limits) -> WorkingCopies:
    return make_working_copies(job.item_id, job.source, job.kind, config, limits)


def _settings(config: FramesConfig, limits: Limits) -> str:
    """What all keys have in common."""
    decisive = {name: value for name, value in asdict(config).items() if name != "max_failed_share"}
    return json.dumps([VERSION, decisive, asdict(limits)], sort_keys=True)


def _key(job: Job, settings: str) -> str:
    return hashlib.sha256(f"{job.item_id}\n{job.kind} {job.sha256} {settings}".encode()).hexdigest()


def _contents_key(key: str) -> str:
    """Contents have entries of their own, so that facts can be read without them."""
    return hashlib.sha256(f"contents of {key}".encode()).hexdigest()


def _facts(copies: WorkingCopies) -> bytes:
    """Everything but the contents, as JSON."""
    return json.dumps([copies.frames, copies.sound, copies.note, copies.lengths]).encode()


def _parsed(facts: Mapping[str, bytes]) -> dict[str, Any]:
    """By key what `_facts` made JSON of; parsed as one list, which takes half the time."""
    return dict(zip(facts, json.loads(b"[" + b",".join(facts.values()) + b"]"), strict=True))


def _known(facts: Any, key: str, block: _Block, again: Callable[[], WorkingCopies | Failed]) -> WorkingCopies:
    frames, sound, note, lengths = facts
    block.add(key, sum(lengths.values()))
    rows = tuple(map(FrameRow._make, frames))
    return WorkingCopies(
        rows, SoundRow._make(sound) if sound else None, note, _Contents(lengths, key, block, again), lengths
    )
