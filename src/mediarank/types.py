"""The contracts between stages, and the errors that guard them.

First the exceptions, then the values that pass between stages: Manifest, Roles, FeatureMatrix and Judgments; Labels
are in `labels.py`. Each value checks its own invariants when it is made, so a stage that holds one may trust it.
Only `store.py` knows how they are written to disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

KINDS: Final = ("image", "clip", "sound")
ROLES: Final = ("base", "rank", "valid", "test")
CAUSES: Final = ("damaged", "unsupported", "limit")
OK: Final = "ok"
QUARANTINED: Final = "quarantined"


class MediarankError(Exception):
    """An error that we can explain: what was found, what was expected, what to do."""


class ConfigError(MediarankError):
    """params.yaml asks for something that does not exist or makes no sense."""


class DataError(MediarankError):
    """A table, matrix or file breaks its contract."""


class NotApplicable(DataError):
    """The collection lacks what one part of the pipeline needs, such as labels; the other parts go on."""


class MediaError(MediarankError):
    """A media file can't be used; the message is the reason shown in the quarantine table.

    `cause` is one of CAUSES: why the file is refused. Only damaged files count in the check of the collection.
    """

    cause = "damaged"


class UnsupportedMedia(MediaError):
    """A file has a format or coding that can't be decoded here, though nothing is wrong with it."""

    cause = "unsupported"


class OverLimit(MediaError):
    """A file needs more than `manifest.limits` in params.yaml allows."""

    cause = "limit"


class MachineFault(MediarankError):
    """The machine failed, not the data: a full disk, too little memory. The run stops and quarantines nothing."""


class CheckFailed(MediarankError):
    """A data check refused the collection; the run stops."""


def lot(name: str, seed: int, purpose: str = "") -> bytes:
    """Random bytes for `name` that depend on name, seed and purpose only, whatever other names there are."""
    return hashlib.sha256(f"{purpose}{seed}:{name}".encode()).digest()


def are_among(values: pd.Series, known: Container[str]) -> npt.NDArray[np.bool_]:
    """Which of the values are known; pandas' `isin` converts what is known one by one, which takes far longer."""
    return np.fromiter((value in known for value in values.tolist()), dtype=np.bool_, count=len(values))


def drawn_by_lot(names: Sequence[str], count: int, seed: int) -> list[str]:
    """At most `count` of the names, sorted: those with the lowest lots, so that a larger collection keeps most.

    >>> drawn_by_lot("abc", 2, seed=7), drawn_by_lot("abcd", 2, seed=7), drawn_by_lot("cab", 3, seed=7)
    (['a', 'c'], ['a', 'c'], ['a', 'b', 'c'])
    """
    chosen = names if len(names) <= count else sorted(names, key=lambda name: lot(name, seed))[:count]
    return sorted(chosen)


def require_columns(table: pd.DataFrame, columns: Iterable[str], what: str) -> None:
    missing = [c for c in columns if c not in table.columns]
    if missing:
        raise DataError(
            f"{what} lacks the column(s) {', '.join(missing)}; it has {', '.join(map(str, table.columns))}."
        )


def require_unique(values: pd.Series | Sequence[str] | npt.NDArray[np.str_], what: str) -> None:
    if len(set(values.tolist() if isinstance(values, pd.Series | np.ndarray) else values)) == len(values):
        return  # nearly always, and far faster than asking pandas
    series = pd.Series(values)
    repeated = series[series.duplicated()].unique()
    if len(repeated):
        shown = ", ".join(map(str, repeated[:3]))
        raise DataError(f"{what} must be unique, but {len(repeated)} of them occur more than once, such as {shown}.")


MANIFEST_COLUMNS: Final = (
    "item_id", "path", "kind", "width", "height", "seconds", "fps", "has_sound", "sha256", "group_id",
    "status", "reason",
)  # fmt: skip

TAKEN_COLUMNS: Final[Mapping[str, Any]] = {
    "taken_at": "", "orientation": 0, "camera": "", "latitude": np.nan, "longitude": np.nan,
}  # fmt: skip
"""What a camera wrote into the file, with the value that means "not given"."""


@dataclass(frozen=True)
class Manifest:
    """One row per item, sorted by `item_id`: what it is, and whether it can be used.

    `item_id` is the path below `data/raw/media`, with forward slashes. `status` is `ok` or `quarantined`; a
    quarantined row has a `reason` and a `cause` (one of CAUSES). Sizes and lengths are 0 where they are unknown or
    make no sense. `taken_at` is the camera's local time in ISO 8601, with the UTC offset only if the file gives it, and
    empty if the file gives no date; `orientation` is EXIF's (0: not given); `latitude` and `longitude` are degrees or
    NaN. A table without `cause` and TAKEN_COLUMNS is accepted and gets them.
    """

    table: pd.DataFrame

    def __post_init__(self) -> None:
        require_columns(self.table, MANIFEST_COLUMNS, "the manifest")
        given = {name: empty for name, empty in TAKEN_COLUMNS.items() if name not in self.table.columns}
        if "cause" not in self.table.columns:
            given["cause"] = np.where(self.table["status"] == QUARANTINED, CAUSES[0], "")
        if given:
            object.__setattr__(self, "table", self.table.assign(**given))
        require_unique(self.table["item_id"], "item ids of the manifest")
        if not self.table["item_id"].is_monotonic_increasing:
            raise DataError("The manifest must be sorted by item_id.")
        for column, allowed in (("kind", KINDS), ("status", (OK, QUARANTINED))):
            unknown = set(self.table[column].unique()) - set(allowed)
            if unknown:
                raise DataError(
                    f"The manifest's {column} may be {', '.join(allowed)}, but holds {', '.join(map(str, unknown))}."
                )
        silent = self.table[(self.table["status"] == QUARANTINED) & (self.table["reason"] == "")]
        if len(silent):
            raise DataError(f"{len(silent)} quarantined items have no reason, such as {silent['item_id'].iloc[0]}.")

    @property
    def usable(self) -> pd.DataFrame:
        return self.table[self.table["status"] == OK].reset_index(drop=True)

    @property
    def quarantined(self) -> pd.DataFrame:
        return self.table[self.table["status"] == QUARANTINED].reset_index(drop=True)


@dataclass(frozen=True)
class Roles:
    """What each usable item may be used for, by group: no group straddles two roles or two folds.

    `base` fits codebooks, scalers and base models, `rank` fits the ranker, `valid` chooses, `test` is measured.
    `fold` (0 to 4) serves cross-validation protocols.
    """

    table: pd.DataFrame

    def __post_init__(self) -> None:
        require_columns(self.table, ("item_id", "group_id", "role", "fold"), "the splits")
        require_unique(self.table["item_id"], "item ids of the splits")
        unknown = set(self.table["role"].unique()) - set(ROLES)
        if unknown:
            raise DataError(f"A role may be {', '.join(ROLES)}, but the splits hold {', '.join(map(str, unknown))}.")
        for column in ("role", "fold"):
            straddling = self.table.groupby("group_id")[column].nunique()
            straddling = straddling[straddling > 1]
            if len(straddling):
                raise DataError(
                    f"{len(straddling)} groups straddle {column}s, such as {straddling.index[0]}: test items leak."
                )

    def items(self, *roles: str) -> list[str]:
        return list(self.table.loc[self.table["role"].isin(roles), "item_id"].tolist())


@dataclass(frozen=True)
class FeatureMatrix:
    """Named float32 columns over items. Rows are found by id, never by position.

    ids : sorted item (or frame, or query) ids, one per row
    names : one per column
    values : (len(ids), len(names)) float32, possibly memory-mapped
    """

    ids: npt.NDArray[np.str_]
    names: tuple[str, ...]
    values: Floats
    _position: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ids = np.asarray(self.ids, dtype=str)
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "names", tuple(self.names))
        require_unique(ids, "ids of a feature matrix")
        require_unique(self.names, "column names of a feature matrix")
        if self.values.shape != (len(ids), len(self.names)):
            raise DataError(
                f"{len(ids)} ids and {len(self.names)} names can't describe values of shape {self.values.shape}."
            )
        if self.values.dtype != np.float32:
            raise DataError(f"Feature values must be float32, not {self.values.dtype}.")
        object.__setattr__(self, "_position", {item: row for row, item in enumerate(ids.tolist())})

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, item: object) -> bool:
        return item in self._position

    def positions(self, ids: Iterable[str]) -> npt.NDArray[np.intp]:
        """The rows of `ids`, in their order."""
        wanted = list(ids)
        missing = [i for i in wanted if i not in self._position]
        if missing:
            raise DataError(
                f"{len(missing)} of {len(wanted)} ids have no row in this matrix, such as {', '.join(missing[:3])}."
            )
        return np.fromiter((self._position[i] for i in wanted), dtype=np.intp, count=len(wanted))

    def rows(self, ids: Iterable[str]) -> Floats:
        """The values of `ids`, in their order, as a copy in memory."""
        return np.ascontiguousarray(self.values[self.positions(ids)])

    def require_finite(self, block: int = 1024) -> None:
        """Refuse NaN and infinity, a block of rows at a time so that a memory-mapped matrix stays on disk."""
        for start in range(0, len(self.ids), block):
            require_finite(self.ids[start : start + block], self.values[start : start + block])


@dataclass(frozen=True)
class FeatureBlocks:
    """What a FeatureMatrix holds, made a block of rows at a time, so that it need not fit into memory.

    blocks : float32 arrays of consecutive rows; to be read once
    """

    ids: npt.NDArray[np.str_]
    names: tuple[str, ...]
    blocks: Iterator[Floats]

    def __post_init__(self) -> None:
        require_unique(self.ids, "ids of a feature matrix")
        require_unique(self.names, "column names of a feature matrix")

    def checked(self) -> Iterator[Floats]:
        """The blocks, after a look at their shape, their type and whether all values are finite."""
        start = 0
        for block in self.blocks:
            stop = start + len(block)
            if block.dtype != np.float32 or block.shape[1:] != (len(self.names),) or stop > len(self.ids):
                raise DataError(
                    f"Rows {start} to {stop} of {len(self.ids)} with {len(self.names)} float32 columns can't be "
                    f"{block.dtype} {block.shape}."
                )
            require_finite(self.ids[start:stop], block)
            yield block
            start = stop
        if start != len(self.ids):
            raise DataError(f"{len(self.ids)} ids can't describe {start} rows.")


def require_finite(ids: npt.NDArray[np.str_], values: Floats) -> None:
    """Refuse NaN and infinity. ids : of the rows"""
    bad = ~np.isfinite(values).all(axis=1)
    if bad.any():
        raise DataError(
            f"Feature values must be finite, but {int(bad.sum())} rows are not, such as {ids[int(np.argmax(bad))]}."
        )


def shared_items(matrices: Mapping[str, FeatureMatrix], names: Iterable[str]) -> list[str]:
    """The items, sorted, that have a row in each of the matrices named."""
    return sorted(set.intersection(*(set(matrices[name].ids.tolist()) for name in names)))


@dataclass(frozen=True)
class Judgments:
    """How relevant each item is to each query: a sparse table of positive grades; an absent grade is 0.

    A query may be an item (search by example), a concept, an event or a keyword. `candidates` are the items that were
    judged; a ranking is measured over them.
    """

    queries: tuple[str, ...]
    candidates: tuple[str, ...]
    relevant: Mapping[str, Mapping[str, float]]

    def __post_init__(self) -> None:
        require_unique(self.queries, "queries")
        require_unique(self.candidates, "candidates")
        known, judged = set(self.candidates), set(self.queries)
        for query, grades in self.relevant.items():
            if query not in judged:
                raise DataError(f"Judgments are given for {query!r}, which is not among the queries.")
            for item, grade in grades.items():
                if item not in known:
                    raise DataError(f"Query {query!r} judges {item!r}, which is not among the candidates.")
                if not (np.isfinite(grade) and grade > 0):
                    raise DataError(f"A grade must be finite and positive, but {query!r} gives {item!r} {grade}.")

    def __iter__(self) -> Iterator[tuple[str, Mapping[str, float]]]:
        return ((query, self.relevant.get(query, {})) for query in self.queries)

    def grades(self, query: str, items: Sequence[str]) -> npt.NDArray[np.float64]:
        """Grades of `items` for `query`, in their order."""
        given = self.relevant.get(query, {})
        return np.fromiter((given.get(i, 0.0) for i in items), dtype=np.float64, count=len(items))

    @classmethod
    def from_classes(cls, classes: Mapping[str, str], queries: Sequence[str]) -> Judgments:
        """Search by example: items of the query's class are relevant, the query itself is not judged."""
        unknown = [q for q in queries if q not in classes]
        if unknown:
            raise DataError(f"{len(unknown)} queries have no class, such as {', '.join(unknown[:3])}.")
        members: dict[str, list[str]] = {}
        for item, name in classes.items():
            members.setdefault(name, []).append(item)
        relevant = {q: {i: 1.0 for i in members[classes[q]] if i != q} for q in queries}
        return cls(tuple(queries), tuple(classes), relevant)

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str]], candidates: Sequence[str]) -> Judgments:
        """Concepts, events and keywords: (query, item) says that the item is relevant."""
        relevant: dict[str, dict[str, float]] = {}
        for query, item in pairs:
            relevant.setdefault(query, {})[item] = 1.0
        return cls(tuple(sorted(relevant)), tuple(candidates), relevant)
