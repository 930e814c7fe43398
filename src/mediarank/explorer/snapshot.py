"""One version of the collection in memory: what the pages read, whatever a run replaces meanwhile.

Tables are read once and matrices are memory-mapped, and files are replaced as a whole, so a snapshot stays whole while
a run writes the next version. `Snapshots` holds the current one, and says when a newer version lies on disk.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from mediarank import store
from mediarank.asking.describe import Copying
from mediarank.asking.workspace import Workspace
from mediarank.types import DataError, MediarankError

MARKS = ("manifest/manifest.parquet", "frames/frames.parquet", "report/report.html")
"""Files below the data folder whose change means another version."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One version of what the stages wrote.

    mark : changes when a run has written another version
    items : one row per usable item, sorted by id: what can be filtered and sorted by
    """

    root: Path
    workspace: Workspace
    mark: str
    items: pd.DataFrame

    @classmethod
    def open(cls, root: Path, copying: Callable[[], Copying]) -> Snapshot:
        data = root / "data"
        workspace = Workspace(data, copying)
        return cls(root, workspace, read_mark(data), _items(workspace))

    @cached_property
    def place(self) -> Mapping[str, int]:
        """Item -> its row."""
        return {item: row for row, item in enumerate(self.items["item"].tolist())}

    def row(self, item: str) -> Mapping[str, Any]:
        """All that the table says of an item, which must be in the collection."""
        if item not in self.place:
            raise DataError(f"{item} is not an item of this version of the collection.")
        return dict(self.items.iloc[self.place[item]])

    @cached_property
    def labels_of(self) -> Mapping[str, list[tuple[str, str]]]:
        """Item -> what its labels say, as (kind, name)."""
        labels = self.workspace.labels
        said: dict[str, list[tuple[str, str]]] = {}
        tables = {"class": "classes", "keyword": "keywords", "concept": "concepts", "event": "events"}
        for kind, table in tables.items():
            rows = labels[table]
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
        labels = self.workspace.labels
        return frozenset(labels["events"]["clip"]) if system == "events" else frozenset(labels.looked_at)

    @cached_property
    def groups(self) -> Mapping[str, list[str]]:
        """Group -> its items, for groups of more than one: near-duplicates and what was taken together."""
        counted = self.items.groupby("group")["item"].apply(list)
        return {str(group): items for group, items in counted.items() if len(items) > 1}


class Snapshots:
    """The current snapshot, shared by all requests."""

    def __init__(self, root: Path, copying: Callable[[], Copying]) -> None:
        self._root, self._copying = root, copying
        self._lock = threading.Lock()
        self._current: Snapshot | None = None

    def current(self) -> Snapshot:
        with self._lock:
            if self._current is None:
                self._current = Snapshot.open(self._root, self._copying)
            return self._current

    def renew(self) -> Snapshot:
        """Open what lies on disk now."""
        with self._lock:
            self._current = Snapshot.open(self._root, self._copying)
            return self._current

    def newer(self) -> bool:
        """Whether a run has written another version since."""
        return read_mark(self._root / "data") != self.current().mark


def read_mark(data: Path) -> str:
    """Changes when a file of `MARKS` does."""
    found = []
    for name in MARKS:
        try:
            facts = (data / name).stat()
            found.append(f"{facts.st_mtime_ns}.{facts.st_size}.{facts.st_ino}")
        except FileNotFoundError:
            found.append("none")
    return "-".join(found)


def _items(workspace: Workspace) -> pd.DataFrame:
    """item, kind, folder, class, role, group, taken, width, height, seconds, of every usable item."""
    usable = workspace.manifest.usable
    ids = usable["item_id"].astype(str)
    classes = workspace.labels.class_of
    role: dict[str, str] = {}
    group = dict(zip(ids, usable["group_id"].astype(str), strict=True))
    path = workspace.data / "splits/roles.parquet"
    if path.exists():
        table = store.read_roles(path).table
        role = dict(zip(table["item_id"], table["role"], strict=True))
        group |= dict(zip(table["item_id"], table["group_id"].astype(str), strict=True))
    taken = usable["taken_at"].fillna("").astype(str) if "taken_at" in usable else pd.Series([""] * len(usable))
    return pd.DataFrame(
        {
            "item": ids.to_numpy(),
            "kind": usable["kind"].astype(str).to_numpy(),
            "folder": [str(PurePosixPath(item).parent) for item in ids],
            "class": [classes.get(item, "") for item in ids],
            "role": [role.get(item, "") for item in ids],
            "group": [group[item] for item in ids],
            "taken": taken.to_numpy(),
            "width": usable["width"].to_numpy(),
            "height": usable["height"].to_numpy(),
            "seconds": usable["seconds"].to_numpy(dtype=np.float64),
            "sha256": usable["sha256"].astype(str).to_numpy(),
        }
    )
