"""Stage `splits`: which items are used to fit, to choose and to test, decided before anything is fitted.

Items that belong together (a source's own groups, identical files, near-duplicates) form one group and always have
the same role and fold. First come folds: the source's own, or dealt out so that each has items of every label. Then
roles, by one of three protocols: shares, the source's split, or the folds in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from mediarank import store
from mediarank.collections.groups import joined_groups
from mediarank.collections.stratified import GroupTable, Numbers, deal
from mediarank.labels import Labels
from mediarank.similarity.near_duplicates import near_duplicate_groups
from mediarank.types import ROLES, DataError, Doubles, Manifest, Roles, are_among, lot

BASE, RANK, VALID, TEST = range(len(ROLES))
ALL, TRAINING, FITTING = np.array([1.0, 1, 1, 1]), np.array([1.0, 1, 1, 0]), np.array([1.0, 1, 0, 0])
"""The roles that are dealt out."""
FOLDS = 5
Share = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True)
class Shares:
    """The share of the groups that each role gets; they sum to 1."""

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
    """protocol : how roles are assigned
        shares  items are dealt out by the shares of their kind
        source  the source's own roles; a training part that it does not divide is dealt out by the shares
        folds   fold `test_fold` tests, the next one is `valid`, the others are dealt out to base and rank
    near_duplicate_bits : pictures whose perceptual hashes differ in at most this many bits are one group
    """

    protocol: Literal["shares", "source", "folds"] = "shares"
    image: Shares = field(default_factory=lambda: Shares(0.5, 0.2, 0.0, 0.3))
    clip: Shares = field(default_factory=lambda: Shares(0.56, 0.14, 0.0, 0.3))
    sound: Shares = field(default_factory=lambda: Shares(0.56, 0.14, 0.0, 0.3))
    test_fold: Annotated[int, Field(ge=0)] = 0
    near_duplicate_bits: Annotated[int, Field(ge=0, lt=16)] = 4
    seed: int = 7
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


def run(config: SplitsConfig, data: Path) -> str:
    """Write `splits/roles.parquet`; returns the warnings and how many items each role has."""
    frames, sounds = (store.read_table(data / "frames" / f"{name}.parquet") for name in ("frames", "sounds"))
    items = usable_items(store.read_manifest(data / "manifest/manifest.parquet"), frames, sounds)
    # The source's labels: a correction then moves no item to another role, and no codebook is fitted again.
    roles, warnings = assign_roles(items, store.read_labels(data / "manifest/source_labels"), config)
    store.write_roles(data / "splits/roles.parquet", roles)
    counts = roles.table["role"].value_counts().to_dict()
    return "\n".join([*(f"warning: {warning}" for warning in warnings), str(counts)])


def usable_items(manifest: Manifest, frames: pd.DataFrame, sounds: pd.DataFrame) -> pd.DataFrame:
    """Items with a working copy: their kind, their group and the perceptual hash of their first picture."""
    table = manifest.usable[["item_id", "kind", "group_id"]]
    table = table[are_among(table["item_id"], {*frames["item_id"].tolist(), *sounds["item_id"].tolist()})]
    looks = frames.drop_duplicates("item_id").set_index("item_id")["phash"]
    return table.assign(phash=table["item_id"].map(looks).fillna("")).reset_index(drop=True)


def assign_roles(items: pd.DataFrame, labels: Labels, config: SplitsConfig) -> tuple[Roles, list[str]]:
    """Roles and folds of the items, and warnings: what was moved, which labels are too rare for every role.

    items : item_id, kind, group_id and phash (empty where there is no picture), one row per item
    """
    if items.empty:
        raise DataError("There is no usable item to split. The quarantine table (mediarank quarantine) says why.")
    items = items.sort_values("item_id", ignore_index=True)
    dealer = _Dealer(items, merge_groups(items, config.near_duplicate_bits), _labels_of_items(labels), config)
    prescribed = labels["splits"].drop_duplicates("item").set_index("item").reindex(items["item_id"]).fillna("")
    folds, moved = _folds(dealer, prescribed["fold"].to_numpy(dtype=str))
    if config.protocol == "shares":
        roles = dealer.deal_roles(np.arange(len(items)), ALL)
    elif config.protocol == "source":
        roles, also_moved = _source_roles(dealer, prescribed["role"].to_numpy(dtype=str))
        moved += also_moved
    else:
        roles = _fold_roles(dealer, folds)
    columns = {
        "item_id": items["item_id"],
        "group_id": items["item_id"].to_numpy()[dealer.groups],
        "role": np.array(ROLES)[roles],
        "fold": folds,
    }
    result = Roles(pd.DataFrame(columns))
    return result, [*moved, *_warnings(result, items, dealer.marks)]


def merge_groups(items: pd.DataFrame, near_duplicate_bits: int) -> Numbers:
    """For each item the row of the first item that is in its source group or looks the same."""
    return joined_groups(items["group_id"], near_duplicate_groups(items["phash"].tolist(), near_duplicate_bits))


@dataclass
class _Dealer:
    """Deals items out by group, one kind after the other, so that each part has every label."""

    items: pd.DataFrame
    groups: Numbers
    marks: Mapping[str, Sequence[str]]
    config: SplitsConfig

    def deal_roles(self, rows: Numbers, allowed: Doubles) -> Numbers:
        """Roles (as numbers) of the items in `rows`, among the allowed roles, by the shares of their kind."""
        return self._deal(rows, {k: s.as_array() * allowed for k, s in self._shares().items()}, "")

    def deal_folds(self, rows: Numbers, count: int) -> Numbers:
        return self._deal(rows, dict.fromkeys(self._shares(), np.ones(count)), "folds")

    def _shares(self) -> dict[str, Shares]:
        return {"image": self.config.image, "clip": self.config.clip, "sound": self.config.sound}

    def _deal(self, rows: Numbers, shares: Mapping[str, Doubles], what: str) -> Numbers:
        ids = self.items["item_id"].to_numpy()[rows]
        # A group of mixed kinds (a clip and a still of it) has the kind of its first item.
        kinds = self.items["kind"].to_numpy()[self.groups[rows]]
        parts = np.zeros(len(rows), dtype=np.intp)
        for kind in np.unique(kinds):
            members = np.flatnonzero(kinds == kind)
            table = GroupTable.of(ids[members], self.groups[rows[members]], self.marks)
            # A group has the name of its first item, wherever that is among the others.
            names = self.items["item_id"].to_numpy()[np.unique(self.groups[rows[members]])]
            drawn = [lot(name, self.config.seed, what) for name in names]
            order = np.array(sorted(range(len(drawn)), key=drawn.__getitem__), dtype=np.intp)
            wanted = shares[str(kind)]
            if not wanted.sum():
                raise DataError(f"No share is left for {kind}s under the protocol {self.config.protocol}; raise base.")
            parts[members] = deal(table, wanted / wanted.sum(), order)[table.number]
        return parts


def _labels_of_items(labels: Labels) -> dict[str, list[str]]:
    """item -> its labels that a split should spread evenly, one string each."""
    classes = (labels["classes"][name].tolist() for name in ("item", "class"))
    pairs = [(item, f"class {name}") for item, name in zip(*classes, strict=True)]
    for table in ("concepts", "events"):
        relevant = labels[table][labels[table]["relevant"].astype(bool)]
        pairs += [(item, f"{table[:-1]} {name}") for item, name, _ in relevant.itertuples(index=False)]
    marks: dict[str, list[str]] = {}
    for item, mark in pairs:
        marks.setdefault(str(item), []).append(mark)
    return marks


def _folds(dealer: _Dealer, prescribed: npt.NDArray[np.str_]) -> tuple[Numbers, list[str]]:
    """Folds from 0 up: the source's in the order of their names, the others dealt out; and which items moved."""
    names = sorted(set(prescribed.tolist()) - {""}, key=lambda name: (not name.isdecimal(), len(name), name))
    rows = np.flatnonzero(prescribed == "")
    folds = np.zeros(len(prescribed), dtype=np.intp)
    folds[rows] = dealer.deal_folds(rows, len(names) or FOLDS)
    for number, name in enumerate(names):
        folds[prescribed == name] = number
    series = pd.Series(folds)
    torn = series.groupby(dealer.groups).transform("nunique").to_numpy() > 1
    whole = folds.copy()
    # The fold that most of a group is in; among equals the first.
    whole[torn] = series[torn].groupby(dealer.groups[torn]).transform(lambda f: f.mode().iloc[0]).astype(np.intp)
    return whole, _moved("fold", (whole != folds) & (prescribed != ""), dealer)


def _source_roles(dealer: _Dealer, prescribed: npt.NDArray[np.str_]) -> tuple[Numbers, list[str]]:
    """The source's own roles, and which items moved: a group in several roles gets the strictest of them."""
    missing = dealer.items.loc[prescribed == "", "item_id"]
    if len(missing) == len(prescribed):
        raise DataError("splits.protocol is `source`, but this source has no split; use `shares` or `folds`.")
    if len(missing):
        raise DataError(
            f"The source's split lacks {len(missing)} items, such as {missing.iloc[0]}. Add them to its splits.csv, or "
            "set splits.protocol to `shares`."
        )
    unknown = sorted(set(prescribed.tolist()) - set(ROLES))
    if unknown:
        raise DataError(f"The source's split has the role {unknown[0]!r}; the known roles are {', '.join(ROLES)}.")
    said = np.array([ROLES.index(role) for role in prescribed], dtype=np.intp)
    roles = pd.Series(said).groupby(dealer.groups).transform("max").to_numpy(dtype=np.intp, copy=True)
    moved = _moved("role", roles != said, dealer)
    if not {RANK, VALID} & set(roles.tolist()):
        training = np.flatnonzero(roles == BASE)
        roles[training] = dealer.deal_roles(training, TRAINING)
    return roles, moved


def _fold_roles(dealer: _Dealer, folds: Numbers) -> Numbers:
    """One fold tests, the next one chooses, the others fit."""
    count, test = int(folds.max()) + 1, dealer.config.test_fold
    if count < 3:
        raise DataError(
            f"splits.protocol is `folds`, which needs at least 3 folds to fit, choose and test; found {count}."
        )
    if test >= count:
        raise DataError(f"splits.test_fold is {test}, but the folds are 0 to {count - 1}.")
    roles = np.full(len(folds), TEST, dtype=np.intp)
    roles[folds == (test + 1) % count] = VALID
    fitting = np.flatnonzero((folds != test) & (folds != (test + 1) % count))
    roles[fitting] = dealer.deal_roles(fitting, FITTING)
    return roles


def _moved(what: str, changed: npt.NDArray[np.bool_], dealer: _Dealer) -> list[str]:
    if not changed.any():
        return []
    example = dealer.items["item_id"].to_numpy()[changed][0]
    return [
        f"{int(changed.sum())} items, such as {example}, got another {what} than in the source's split: "
        "they are duplicates of items there or in one group with them"
    ]


def _warnings(roles: Roles, items: pd.DataFrame, marks: Mapping[str, Sequence[str]]) -> list[str]:
    """Labels that are missing in a role, among the roles that items of their kind have."""
    table = roles.table.merge(items[["item_id", "kind"]], on="item_id")
    used = table.groupby("kind")["role"].agg(set).to_dict()
    where: dict[tuple[str, str], set[str]] = {}
    for item, kind, role in zip(*(table[name].tolist() for name in ("item_id", "kind", "role")), strict=True):
        for mark in marks.get(item, ()):
            where.setdefault((mark, kind), set()).add(role)
    missing = {key: [r for r in ROLES if r in used[key[1]] - found] for key, found in sorted(where.items())}
    return [
        f"{mark} has no {kind} in {' and '.join(gaps)}: there are too few of them"
        for (mark, kind), gaps in missing.items()
        if gaps
    ]
