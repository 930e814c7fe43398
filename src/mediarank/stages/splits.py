"""Stage `splits`: which items fit, choose and test, decided before anything is fitted.

Items that belong together (a source's own groups, identical files, near-duplicates) are one group and never
straddle a role or a fold. Groups are dealt out by iterative stratification (Sechidis et al. 2011): the rarest label
first, each group to the role that lacks that label most, so that every role sees every rare concept if it can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mediarank.similarity.near_duplicates import near_duplicate_groups
from mediarank.types import ROLES, DataError, Labels, Manifest, Roles

FOLDS = 5
Share = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True)
class Shares:
    """What part of the groups each role gets; they sum to 1."""

    base: Share
    rank: Share
    valid: Share
    test: Share
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        total = self.base + self.rank + self.valid + self.test
        if abs(total - 1) > 1e-6:
            raise ValueError(f"the shares of base, rank, valid and test must sum to 1, not {total:g}")

    def as_array(self) -> npt.NDArray[np.float64]:
        return np.array([self.base, self.rank, self.valid, self.test])


@dataclass(frozen=True)
class SplitsConfig:
    """protocol : `shares` deals items out; `source` takes the roles that the source prescribes"""

    protocol: Literal["shares", "source"] = "shares"
    image: Shares = field(default_factory=lambda: Shares(0.5, 0.2, 0.0, 0.3))
    clip: Shares = field(default_factory=lambda: Shares(0.56, 0.14, 0.0, 0.3))
    sound: Shares = field(default_factory=lambda: Shares(0.56, 0.14, 0.0, 0.3))
    near_duplicate_bits: Annotated[int, Field(ge=0, lt=16)] = 4
    seed: int = 7
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


def usable_items(manifest: Manifest, frames: pd.DataFrame, sounds: pd.DataFrame) -> pd.DataFrame:
    """Items that left a working copy, with their kind, group and the look of their first picture."""
    table = manifest.usable[["item_id", "kind", "group_id"]]
    table = table[table["item_id"].isin({*frames["item_id"], *sounds["item_id"]})]
    looks = frames.drop_duplicates("item_id").set_index("item_id")["phash"]
    return table.assign(phash=table["item_id"].map(looks).fillna("")).reset_index(drop=True)


def assign_roles(items: pd.DataFrame, labels: Labels, config: SplitsConfig) -> tuple[Roles, list[str]]:
    """Roles and folds of the items, and warnings about labels that are too rare to be everywhere.

    items : item_id, kind, group_id and phash (empty where there is no picture), one row an item
    """
    if items.empty:
        raise DataError("There is no usable item to split; the quarantine table says why.")
    items = items.sort_values("item_id", ignore_index=True)
    groups = merge_groups(items, config.near_duplicate_bits)
    marks = _labels_of_items(labels)
    roles = np.empty(len(items), dtype=object)
    folds = np.zeros(len(items), dtype=np.int64)
    prescribed: dict[str, str] = dict(labels["splits"].itertuples(index=False))
    if config.protocol == "source" and not prescribed:
        raise DataError("splits.protocol is `source`, but this source prescribes no split; use `shares`.")
    rng = np.random.default_rng(config.seed)
    for kind, rows in items.groupby("kind").indices.items():
        members = groups[rows]
        table = _GroupTable.of(items["item_id"].to_numpy()[rows], members, marks)
        shares: Shares = getattr(config, str(kind))
        dealt = deal(table, shares.as_array(), rng)
        roles[rows] = np.array(ROLES, dtype=object)[dealt[table.number]]
        folds[rows] = deal(table, np.full(FOLDS, 1 / FOLDS), rng)[table.number]
    if config.protocol == "source":
        roles = _prescribed_roles(items, groups, prescribed)
    names = items["item_id"].to_numpy()[_first_of(groups)]
    columns = {"item_id": items["item_id"], "group_id": names, "role": roles.astype(str), "fold": folds}
    result = Roles(pd.DataFrame(columns))
    return result, _warnings(result, items, marks)


def merge_groups(items: pd.DataFrame, near_duplicate_bits: int) -> npt.NDArray[np.intp]:
    """A number for each item: equal for items of one source group or that look the same."""
    source = pd.factorize(items["group_id"])[0]
    alike = near_duplicate_groups(items["phash"].tolist(), near_duplicate_bits)
    rows = np.arange(len(items))
    ends = np.concatenate([source, source.max() + 1 + alike]) + len(items)
    count = int(ends.max()) + 1
    graph = coo_array((np.ones(2 * len(items)), (np.concatenate([rows, rows]), ends)), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1][: len(items)], dtype=np.intp)


@dataclass(frozen=True)
class _GroupTable:
    """Groups as rows: `number` maps items to rows, `weights` counts items, `labels` counts each label."""

    number: npt.NDArray[np.intp]
    weights: npt.NDArray[np.float64]
    labels: npt.NDArray[np.float64]

    @classmethod
    def of(
        cls,
        item_ids: Sequence[str] | npt.NDArray[Any],
        groups: npt.NDArray[np.intp],
        marks: Mapping[str, Sequence[str]],
    ) -> _GroupTable:
        number = np.unique(groups, return_inverse=True)[1].astype(np.intp)
        words = sorted({mark for item in item_ids for mark in marks.get(item, ())})
        column = {word: j for j, word in enumerate(words)}
        counts = np.zeros((int(number.max()) + 1, len(words)))
        for row, item in zip(number, item_ids, strict=True):
            for mark in marks.get(item, ()):
                counts[row, column[mark]] += 1
        return cls(number, np.bincount(number).astype(np.float64), counts)


def deal(table: _GroupTable, shares: npt.NDArray[np.float64], rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """The part that each group goes to: the rarest label first, to where it is wanted most."""
    wanted = shares[:, None] * table.labels.sum(axis=0)
    room = shares * table.weights.sum()
    part = np.full(len(table.weights), -1, dtype=np.intp)
    shuffled = rng.permutation(len(table.weights))
    left = table.labels.sum(axis=0)
    has = table.labels > 0
    while True:
        waiting = np.where(left > 0, left, np.inf)
        rarest = int(np.argmin(waiting)) if len(waiting) else -1
        if rarest < 0 or not np.isfinite(waiting[rarest]):
            break
        for group in shuffled[has[shuffled, rarest] & (part[shuffled] < 0)]:
            part[group] = chosen = _neediest(wanted[:, rarest], room, shares)
            wanted[chosen] -= table.labels[group]
            room[chosen] -= table.weights[group]
            left -= table.labels[group]
        left[rarest] = 0
    for group in shuffled[part[shuffled] < 0]:
        part[group] = chosen = _neediest(room, room, shares)
        room[chosen] -= table.weights[group]
    return part


def _neediest(want: npt.NDArray[np.float64], room: npt.NDArray[np.float64], shares: npt.NDArray[np.float64]) -> int:
    """Where the label is wanted most; among equals where most room is left. A part without a share gets nothing."""
    candidates = np.flatnonzero(shares > 0)
    return int(candidates[np.lexsort((-room[candidates], -want[candidates].round(9)))[0]])


def _labels_of_items(labels: Labels) -> dict[str, list[str]]:
    """Every label of every item that a split should spread evenly, as one string each."""
    pairs = [(item, f"class {name}") for item, name in labels["classes"].itertuples(index=False)]
    for table in ("concepts", "events"):
        relevant = labels[table][labels[table]["relevant"].astype(bool)]
        pairs += [(item, f"{table[:-1]} {name}") for item, name, _ in relevant.itertuples(index=False)]
    marks: dict[str, list[str]] = {}
    for item, mark in pairs:
        marks.setdefault(str(item), []).append(mark)
    return marks


def _prescribed_roles(
    items: pd.DataFrame, groups: npt.NDArray[np.intp], prescribed: Mapping[str, str]
) -> npt.NDArray[np.object_]:
    """The source's own roles; a group that the source tears apart goes where most of the test lies."""
    roles = items["item_id"].map(prescribed)
    if roles.isna().any():
        missing = items.loc[roles.isna(), "item_id"]
        raise DataError(f"The source's split says nothing of {len(missing)} items, such as {missing.iloc[0]}.")
    rank = roles.map({role: k for k, role in enumerate(ROLES)})
    if rank.isna().any():
        raise DataError(
            f"The source's split holds the role {roles[rank.isna()].iloc[0]!r}; known are {', '.join(ROLES)}."
        )
    strictest = rank.groupby(groups).transform("max").astype(int)
    return np.array(ROLES, dtype=object)[strictest.to_numpy()]


def _first_of(groups: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """For each item the row of the first item of its group."""
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(first[number], dtype=np.intp)


def _warnings(roles: Roles, items: pd.DataFrame, marks: Mapping[str, Sequence[str]]) -> list[str]:
    """Labels that are missing in a role, of the roles that items of their kind have at all."""
    table = roles.table.merge(items[["item_id", "kind"]], on="item_id")
    used = table.groupby("kind")["role"].agg(set).to_dict()
    where: dict[tuple[str, str], set[str]] = {}
    for item, kind, role in zip(table["item_id"], table["kind"], table["role"], strict=True):
        for mark in marks.get(item, ()):
            where.setdefault((mark, kind), set()).add(role)
    missing = {key: [r for r in ROLES if r in used[key[1]] - found] for key, found in sorted(where.items())}
    return [
        f"{mark} has no {kind} in {' and '.join(gaps)}: it has too few"
        for (mark, kind), gaps in missing.items()
        if gaps
    ]
