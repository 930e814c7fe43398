"""The differences between two locks: items and labels of the collection, settings, code.

Everything is found by hash, so neither version needs to be checked out. Items are compared by path and content, label
tables row by row; a corrected label counts as one row removed and one row added.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mediarank.media.shards import INDEX, listed
from mediarank.ops.runs.tracked_values import flatten
from mediarank.ops.versions.lockfile import Lock
from mediarank.ops.versions.objects import Objects

MEDIA: Final = "data/raw/media"
LABELS: Final = ("data/manifest/labels", "data/raw/labels")
"""With what people said, and the source's alone, for versions from before there was a journal."""


@dataclass(frozen=True)
class DataChanges:
    """Items that were added, removed or changed, and per label table the rows added and removed."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    labels: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.labels)

    def summary(self) -> str:
        """Such as `+12 -1 ~3 items; classes +2 -2`."""
        if not self:
            return "unchanged"
        counts = (("+", self.added), ("-", self.removed), ("~", self.changed))
        items = " ".join(f"{sign}{len(some)}" for sign, some in counts if some)
        tables = [
            " ".join([name, *(f"{sign}{n}" for sign, n in (("+", came), ("-", went)) if n)])
            for name, (came, went) in self.labels.items()
        ]
        return "; ".join([*([f"{items} items"] if items else []), *tables])


def data_changes(before: Lock | None, after: Lock, objects: Objects) -> DataChanges:
    """How the collection of `after` differs from that of `before`; without `before`, everything is new."""
    old, new = (media_contents(lock, objects) for lock in (before, after))
    return DataChanges(
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        changed=tuple(sorted(item for item in old.keys() & new.keys() if old[item] != new[item])),
        labels=_label_changes(before, after, objects),
    )


def media_contents(lock: Lock | None, objects: Objects) -> dict[str, str]:
    """item -> the fingerprint of its content: its sha256, or DVC's hash in versions from before there were shards"""
    files = _folder(lock, MEDIA, objects)
    return listed(io.BytesIO(objects.read(files[INDEX])), "sha256") if INDEX in files else files


def param_changes(before: Lock, after: Lock) -> dict[str, tuple[str, str]]:
    """Settings that differ, by dotted name: both values, empty where a lock has none."""
    old, new = flatten(before.params), flatten(after.params)
    names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    return {name: (old.get(name, ""), new.get(name, "")) for name in names}


def source_changes(before: Lock, after: Lock) -> tuple[str, ...]:
    """Code and other inputs from outside the pipeline that differ, or that only one of the two reads."""
    old, new = before.sources, after.sources
    return tuple(sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path)))


def labels_folder(*locks: Lock) -> str:
    """The folder of labels that all of these versions have: with what people said, or else the source's."""
    return next((path for path in LABELS if all(path in lock.outs(path) for lock in locks)), LABELS[-1])


def _label_changes(before: Lock | None, after: Lock, objects: Objects) -> dict[str, tuple[int, int]]:
    folder = labels_folder(*(lock for lock in (before, after) if lock))
    old, new = (_folder(lock, folder, objects) for lock in (before, after))
    counts = {}
    for name in sorted(name for name in old.keys() | new.keys() if name.endswith(".csv")):
        if old.get(name) != new.get(name):
            earlier, later = (_rows(folder.get(name), objects) for folder in (old, new))
            came, went = (later - earlier).total(), (earlier - later).total()
            if came or went:
                counts[name.removesuffix(".csv")] = (came, went)
    return counts


def _folder(lock: Lock | None, path: str, objects: Objects) -> dict[str, str]:
    oid = lock.outs(path).get(path) if lock else None
    return objects.listing(oid) if oid else {}


def _rows(oid: str | None, objects: Objects) -> Counter[bytes]:
    """The lines of a label table below its header."""
    return Counter(objects.read(oid).splitlines()[1:]) if oid else Counter()
