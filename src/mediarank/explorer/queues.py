"""The lists of the page Review: made once, decided entry by entry, shared by all who look at the same list."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from mediarank.asking.workspace import Workspace
from mediarank.explorer.measures import TRIALS
from mediarank.explorer.said import say_rows, take_back
from mediarank.explorer.snapshot import Snapshot
from mediarank.teaching.labelling import label_rows
from mediarank.teaching.learning import Taught, Trials, open_space, teach_now, version_of
from mediarank.teaching.one_name import Space
from mediarank.teaching.queues import QUEUES, review_list
from mediarank.teaching.review import Entry
from mediarank.types import DataError

COUNT: Final = 60
"""Entries of a list."""
KEPT: Final = 16
"""Lists that are kept."""
UNSURE: Final = "unsure"


@dataclass
class Queue:
    """A list and what was decided.

    id : changes when the list is made anew; class_entries : entries that are about the class of an item
    decided : entry -> answer; steps : what was decided together, with the id of the call that wrote it
    """

    kind: str
    name: str
    entries: Sequence[Entry]
    class_entries: frozenset[int] = frozenset()
    twins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    id: str = field(default_factory=lambda: secrets.token_hex(6))
    decided: dict[int, str] = field(default_factory=dict)
    steps: list[tuple[tuple[int, ...], str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def after(self, at: int) -> int:
        """The next entry that is open, from here on and then from the start; the same one if all are decided."""
        order = [*range(at + 1, len(self.entries)), *range(at + 1)]
        return next((k for k in order if 0 <= k < len(self.entries) and k not in self.decided), at)

    def decide(self, snapshot: Snapshot, picked: Sequence[int], answer: str, name: str = "") -> None:
        """Write one answer for some entries. name : for entries that ask what an item shows"""
        with self.lock:
            rows = [row for k in picked for row in self._rows(snapshot, k, answer, name)]
            call = say_rows(snapshot, rows) if rows else ""
            self.decided |= dict.fromkeys(picked, answer)
            self.steps.append((tuple(picked), call))

    def undo(self, snapshot: Snapshot) -> int | None:
        """Take the last step back; returns the entry to look at again, or None if there was no step."""
        with self.lock:
            if not self.steps:
                return None
            picked, call = self.steps[-1]
            if call:
                take_back(snapshot, call)
            self.steps.pop()
            for k in picked:
                self.decided.pop(k, None)
            return picked[0]

    def _rows(self, snapshot: Snapshot, k: int, answer: str, name: str) -> list[dict[str, Any]]:
        if answer == UNSURE:
            return []
        if answer not in ("yes", "no") or not 0 <= k < len(self.entries):
            raise DataError("An answer is yes, no or unsure, for an entry of the list. Nothing was written.")
        entry = self.entries[k]
        items, vocabulary = snapshot.named_items, snapshot.vocabulary
        if k in self.class_entries:
            said = entry.suggested if answer == "yes" else entry.labelled
            return label_rows(items, vocabulary, said, yes=[entry.item], kind="class")
        said = entry.name or name.strip()
        if not said:
            raise DataError("Write what the item shows. Nothing was written.")
        return label_rows(
            items, vocabulary, said, [entry.item] if answer == "yes" else [], [entry.item] if answer == "no" else []
        )


class Queues:
    """The lists that were made, newest last."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Workspace, str, str], Queue] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, snapshot: Snapshot, kind: str, name: str, fresh: bool = False) -> Queue:
        """The list of a kind, made if need be. fresh : make it anew from the labels of now"""
        if kind not in QUEUES:
            raise DataError(f"There is no list {kind!r}; choose one of: {', '.join(QUEUES)}.")
        key = (snapshot.workspace, kind, name)
        with self._lock:
            if fresh or key not in self._known:
                self._known[key] = make_queue(snapshot, kind, name)
            self._known.move_to_end(key)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
            return self._known[key]


def make_queue(snapshot: Snapshot, kind: str, name: str) -> Queue:
    """Fill a list from the labels of now."""
    made = review_list(snapshot.workspace, snapshot.merged, kind, name, COUNT, space_of)
    return Queue(kind, name, made.entries, made.class_entries, made.twins)


def learn_now(snapshot: Snapshot, name: str) -> Taught:
    """Learn one name from the labels of now, and keep it beside the versioned model."""
    _, taught = teach_now(snapshot.workspace, snapshot.merged, name, space_of=space_of)
    Trials(snapshot.root / TRIALS).keep(taught, version_of(snapshot.workspace.data))
    return taught


@lru_cache(maxsize=2)
def space_of(workspace: Workspace, kind: str) -> Space:
    """The features to learn on; they are prepared once."""
    return open_space(workspace, kind)
