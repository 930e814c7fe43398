"""One version of the collection in memory: what the pages read, whatever a run replaces meanwhile.

Tables are read once and matrices are memory-mapped, and files are replaced as a whole, so a snapshot stays whole while
a run writes the next version. Labels are those of this moment: the version's own with what people said since on top.
`Snapshots` holds the current snapshot, follows the journal, and says when a newer version lies on disk.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from mediarank import store
from mediarank.asking.workspace import Workspace
from mediarank.labels import Labels
from mediarank.teaching.journal import FEEDBACK_STREAM, FOLDER, LABEL_STREAM, Journal
from mediarank.teaching.labelling import Items, Vocabulary
from mediarank.teaching.merging import Merged, merge_read
from mediarank.types import QUARANTINED, DataError, MediarankError

if TYPE_CHECKING:  # slow to import
    from mediarank.asking.describe import Copying

MARKS: Final = ("manifest/manifest.parquet", "frames/frames.parquet", "report/report.html")
"""Files below the data folder whose change means another version."""
LABELS: Final = {"class": "classes", "keyword": "keywords", "concept": "concepts", "event": "events"}
"""Kind of label -> its table."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One version of what the stages wrote, with the labels of this moment.

    mark : changes when a run has written another version; journal_mark : when somebody has said something
    source : the labels of the source; merged : with what people said on top
    items : one row per item, sorted by id: what can be filtered and sorted by
    place : item -> its row
    """

    root: Path
    workspace: Workspace
    mark: str
    journal_mark: str
    source: Labels
    merged: Merged
    items: pd.DataFrame
    place: Mapping[str, int]

    @classmethod
    def open(cls, root: Path, copying: Callable[[], Copying]) -> Snapshot:
        data = root / "data"
        workspace, mark, journal_mark = Workspace(data, copying), read_mark(data), read_journal_mark(root)
        own = data / "manifest/source_labels"
        source = store.read_labels(own if own.is_dir() else data / "manifest/labels")
        merged = merge_read(source, workspace.manifest, Journal(label_folder(root)).read())
        items = _items(workspace, merged.labels)
        place = {item: row for row, item in enumerate(items["item"].tolist())}
        return cls(root, workspace, mark, journal_mark, source, merged, items, place)

    def following(self, journal_mark: str) -> Snapshot:
        """The same version with the labels of now."""
        merged = merge_read(self.source, self.workspace.manifest, Journal(label_folder(self.root)).read())
        items = self.items.assign(**{"class": _classes(self.items["item"].tolist(), merged.labels)})
        return replace(self, journal_mark=journal_mark, merged=merged, items=items)

    @property
    def labels(self) -> Labels:
        return self.merged.labels

    def row(self, item: str) -> Mapping[str, Any]:
        """All that the table says of an item, which must be in the collection."""
        if item not in self.place:
            raise DataError(f"{item} is not an item of this version of the collection.")
        return dict(self.items.iloc[self.place[item]])

    @cached_property
    def usable(self) -> npt.NDArray[np.bool_]:
        """Which rows can be used: all but those in quarantine."""
        return (self.items["quarantine"] == "").to_numpy()

    @cached_property
    def taken_rank(self) -> npt.NDArray[np.intp]:
        """By row, the rank of the time at which an item was taken, from the oldest; −1 where that is unknown."""
        taken = self.items["taken"].to_numpy()
        return np.where(taken == "", -1, np.unique(taken, return_inverse=True)[1].reshape(-1))

    @cached_property
    def labels_of(self) -> Mapping[str, list[tuple[str, str]]]:
        """Item -> what its labels say, as (kind, name)."""
        said: dict[str, list[tuple[str, str]]] = {}
        for kind, table in LABELS.items():
            rows = self.labels[table]
            if "relevant" in rows:
                rows = rows[rows["relevant"].astype(bool)]
            item = "clip" if kind == "event" else "item"
            for one, name in zip(rows[item].tolist(), rows[kind].tolist(), strict=True):
                said.setdefault(one, []).append((kind, name))
        return said

    @cached_property
    def rows_with(self) -> Mapping[str, Mapping[str, npt.NDArray[np.intp]]]:
        """Kind of label -> name -> the rows of the items that have it."""
        found: dict[str, dict[str, list[int]]] = {}
        for item, said in self.labels_of.items():
            if item in self.place:
                for kind, name in said:
                    found.setdefault(kind, {}).setdefault(name, []).append(self.place[item])
        return {kind: {name: np.array(rows) for name, rows in names.items()} for kind, names in found.items()}

    @cached_property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """System -> the names that can be asked for; systems that can't be asked are left out."""
        found = {}
        for system in ("concepts", "events", "attributes", "annotation"):
            if self.workspace.why_not(system) is None:
                try:
                    found[system] = self.workspace.model(system).names
                except MediarankError:
                    continue
        return found

    def judged(self, system: str) -> frozenset[str]:
        """The items that labels say something of, for `concepts` or `events`."""
        return self._judged_clips if system == "events" else self._looked_at

    @cached_property
    def _judged_clips(self) -> frozenset[str]:
        return frozenset(self.labels["events"]["clip"].tolist())

    @cached_property
    def _looked_at(self) -> frozenset[str]:
        return frozenset(self.labels.looked_at)

    @cached_property
    def groups(self) -> Mapping[str, list[str]]:
        """Group -> its items, for groups of more than one: near-duplicates and what was taken together."""
        several = self.items[self.items["group"].duplicated(keep=False) & self.usable]
        found: dict[str, list[str]] = {}
        for group, item in zip(several["group"].tolist(), several["item"].tolist(), strict=True):
            found.setdefault(group, []).append(item)
        return {group: items for group, items in found.items() if len(items) > 1}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The names that labels use."""
        return Vocabulary.of(self.labels)

    @cached_property
    def named_items(self) -> Items:
        """Items by what people call them."""
        return Items(self.workspace.manifest)


class Snapshots:
    """The current snapshot, shared by all requests."""

    def __init__(self, root: Path, copying: Callable[[], Copying]) -> None:
        self._root, self._copying = root, copying
        self._lock = threading.Lock()
        self._current: Snapshot | None = None

    def current(self) -> Snapshot:
        """The version that is shown, with the labels of now."""
        with self._lock:
            mark = read_journal_mark(self._root)
            if self._current is None:
                self._current = Snapshot.open(self._root, self._copying)
            elif self._current.journal_mark != mark:
                self._current = self._current.following(mark)
            return self._current

    def renew(self) -> Snapshot:
        """Open what lies on disk now."""
        opened = Snapshot.open(self._root, self._copying)
        with self._lock:
            self._current = opened
        return opened

    def newer(self) -> bool:
        """Whether a run has written another version since."""
        return self._current is not None and read_mark(self._root / "data") != self._current.mark


def label_folder(root: Path) -> Path:
    return root / FOLDER / LABEL_STREAM


def feedback_folder(root: Path) -> Path:
    return root / FOLDER / FEEDBACK_STREAM


def read_mark(data: Path) -> str:
    """Changes when a file of `MARKS` does."""
    return _mark([data / name for name in MARKS])


def read_journal_mark(root: Path, folder: Callable[[Path], Path] = label_folder) -> str:
    """Changes when somebody says something."""
    return _mark(Journal(folder(root)).files())


def _mark(paths: list[Path]) -> str:
    found = []
    for path in paths:
        try:
            facts = path.stat()
            found.append(f"{path.name}.{facts.st_mtime_ns}.{facts.st_size}.{facts.st_ino}")
        except FileNotFoundError:
            found.append("none")
    return "-".join(found)


def _items(workspace: Workspace, labels: Labels) -> pd.DataFrame:
    """One row per item of the manifest; `quarantine` is the reason why it can't be used, or empty."""
    table = workspace.manifest.table.sort_values("item_id", ignore_index=True)
    ids = table["item_id"].astype(str).tolist()
    role: dict[str, str] = {}
    group = dict(zip(ids, table["group_id"].astype(str).tolist(), strict=True))
    path = workspace.data / "splits/roles.parquet"
    if path.exists():
        roles = store.read_roles(path).table
        known = roles["item_id"].tolist()
        role = dict(zip(known, roles["role"].tolist(), strict=True))
        group |= dict(zip(known, roles["group_id"].astype(str).tolist(), strict=True))
    taken = table["taken_at"].fillna("").astype(str) if "taken_at" in table else pd.Series([""] * len(table))
    reasons = np.where(table["status"] == QUARANTINED, table["reason"].astype(str), "")
    later = workspace.data / "frames/quarantine.csv"
    if later.exists():  # what could not be decoded, though its header could be read
        listed = store.read_quarantine(later)
        files = listed[listed["what"] == "file"]
        why = dict(zip(files["item_id"].tolist(), files["reason"].tolist(), strict=True))
        reasons = np.array(
            [reason or why.get(item, "") for item, reason in zip(ids, reasons, strict=True)], dtype=object
        )
    return pd.DataFrame(
        {
            "item": ids,
            "kind": table["kind"].astype(str).to_numpy(),
            "folder": [item.rpartition("/")[0] or "." for item in ids],
            "class": _classes(ids, labels),
            "role": [role.get(item, "") for item in ids],
            "group": [group[item] for item in ids],
            "taken": taken.to_numpy(),
            "year": taken.str[:4].to_numpy(),
            "width": table["width"].to_numpy(),
            "height": table["height"].to_numpy(),
            "seconds": table["seconds"].to_numpy(dtype=np.float64),
            "sha256": table["sha256"].astype(str).to_numpy(),
            "path": table["path"].astype(str).to_numpy(),
            "quarantine": reasons,
        }
    )


def _classes(items: Sequence[str], labels: Labels) -> list[str]:
    table = labels["classes"]
    classes = dict(zip(table["item"].tolist(), table["class"].tolist(), strict=True))
    return [classes.get(item, "") for item in items]
