"""Which items a page shows, and in which order: the state of the page, as the parameters of its address.

A facet may be given several times: values of one facet are joined by OR, facets by AND, and a value that begins with
`-` by NOT. `?class=coast&class=forest&keyword=-boat` shows coasts and forests without boats. Values of names that
models know may carry a least probability: `concept=boat>0.7`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt
import pandas as pd

from mediarank.explorer.snapshot import Snapshot
from mediarank.types import DataError

Mask = npt.NDArray[np.bool_]

COLUMNS: Final = ("kind", "folder", "class", "role", "year")
"""Facets that are columns of the table of items."""
LABELS: Final = ("keyword", "concept", "event")
"""Facets that an item may have many of."""
FACETS: Final = (*COLUMNS, *LABELS, "alike")
ORDERS: Final = ("name", "newest", "oldest", "largest", "longest")
UNKNOWN: Final = "(none)"


@dataclass(frozen=True)
class Choice:
    """The state of the grid.

    wanted : facet -> values, one of which an item must have; refused : facet -> values that it must not have
    text : a part of the item's name
    order : one of ORDERS, or `attribute:NAME`
    """

    wanted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refused: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    text: str = ""
    order: str = "name"

    @classmethod
    def of(cls, given: Sequence[tuple[str, str]]) -> Choice:
        """From the parameters of an address; those that are no facet are ignored."""
        wanted: dict[str, list[str]] = {}
        refused: dict[str, list[str]] = {}
        text, order = "", "name"
        for name, value in given:
            if name in FACETS and value:
                into, word = (refused, value[1:]) if value.startswith("-") else (wanted, value)
                if word not in into.setdefault(name, []):
                    into[name].append(word)
            elif name == "text":
                text = value.strip()
            elif name == "order":
                order = value
        if order not in ORDERS and not order.startswith("attribute:"):
            raise DataError(f"There is no order {order!r}; choose one of: {', '.join(ORDERS)}, attribute:NAME.")
        return cls({k: tuple(v) for k, v in wanted.items()}, {k: tuple(v) for k, v in refused.items()}, text, order)

    def pairs(self) -> list[tuple[str, str]]:
        """The parameters of the address that shows this."""
        found = [(name, value) for name, values in self.wanted.items() for value in values]
        found += [(name, f"-{value}") for name, values in self.refused.items() for value in values]
        found += [("text", self.text)] if self.text else []
        return found + ([("order", self.order)] if self.order != "name" else [])

    def address(self, path: str = "/", **more: Any) -> str:
        """The link to this state."""
        pairs = [*self.pairs(), *((name, str(value)) for name, value in more.items())]
        return f"{path}?{urlencode(pairs)}" if pairs else path

    def turned(self, facet: str, value: str) -> Choice:
        """With a value added to what is wanted, or taken out if it is there; one that was refused is taken out."""
        if value in self.refused.get(facet, ()):
            return replace(self, refused=_without(self.refused, facet, value))
        if value in self.wanted.get(facet, ()):
            return replace(self, wanted=_without(self.wanted, facet, value))
        return replace(self, wanted={**self.wanted, facet: (*self.wanted.get(facet, ()), value)})

    def refusing(self, facet: str, value: str) -> Choice:
        """With a value refused."""
        wanted = _without(self.wanted, facet, value)
        return replace(self, wanted=wanted, refused={**self.refused, facet: (*self.refused.get(facet, ()), value)})

    def ordered(self, order: str) -> Choice:
        return replace(self, order=order)


@dataclass(frozen=True)
class Shown:
    """What a choice shows. rows : of the snapshot's table, in order; counts : facet -> value -> items"""

    rows: npt.NDArray[np.intp]
    counts: Mapping[str, Mapping[str, int]]


def select(snapshot: Snapshot, choice: Choice, strength: Callable[[str], npt.NDArray[Any]] | None = None) -> Shown:
    """Apply a choice.

    strength : attribute -> how much of it each item of the table has (NaN where unknown), for `attribute:NAME`
    """
    table = snapshot.items
    mask = np.ones(len(table), bool)
    for facet, values in choice.wanted.items():
        mask &= np.logical_or.reduce([has(snapshot, facet, value) for value in values])
    for facet, values in choice.refused.items():
        mask &= ~np.logical_or.reduce([has(snapshot, facet, value) for value in values])
    if choice.text:
        mask &= table["item"].str.contains(choice.text, case=False, regex=False).to_numpy()
    rows = np.flatnonzero(mask)
    return Shown(rows[_order(table, rows, choice.order, strength)], count_facets(snapshot, mask))


def has(snapshot: Snapshot, facet: str, value: str) -> Mask:
    """Which items have a value of a facet."""
    table = snapshot.items
    if facet in COLUMNS:
        wanted = "" if value == UNKNOWN else value
        return np.asarray(column(table, facet) == wanted)
    if facet == "alike":
        return np.asarray(table["group"].isin(snapshot.groups))
    found = np.zeros(len(table), bool)
    found[snapshot.rows_with.get(facet, {}).get(value, np.array([], np.intp))] = True
    return found


def column(table: pd.DataFrame, facet: str) -> pd.Series:
    return table["taken"].str[:4] if facet == "year" else table[facet]


def count_facets(snapshot: Snapshot, mask: Mask) -> dict[str, dict[str, int]]:
    """How many of the shown items have each value of each facet, most first."""
    table = snapshot.items[mask]
    counts: dict[str, dict[str, int]] = {}
    for facet in COLUMNS:
        values = column(table, facet).replace("", UNKNOWN).value_counts()
        found = {str(value): int(number) for value, number in values.items()}
        if set(found) - {UNKNOWN}:
            counts[facet] = found
    for kind in LABELS:
        numbers = {name: int(mask[rows].sum()) for name, rows in snapshot.rows_with.get(kind, {}).items()}
        found = {name: number for name, number in numbers.items() if number}
        if found:
            counts[kind] = dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))
    alike = int(table["group"].isin(snapshot.groups).sum())
    return counts | ({"alike": {"near-duplicates": alike}} if alike else {})


def _order(
    table: pd.DataFrame,
    rows: npt.NDArray[np.intp],
    order: str,
    strength: Callable[[str], npt.NDArray[Any]] | None,
) -> npt.NDArray[np.intp]:
    """Positions among `rows`; what is unknown comes last, and equals stay in the order of names."""
    if order == "name":
        return np.arange(len(rows))
    part = table.iloc[rows]
    if order in ("newest", "oldest"):
        taken = part["taken"]
        known = (taken != "").to_numpy()
        first = np.argsort(taken.to_numpy()[known], kind="stable")
        places = np.flatnonzero(known)[first[::-1] if order == "newest" else first]
        return np.concatenate([places, np.flatnonzero(~known)])
    if order.startswith("attribute:"):
        if strength is None:
            raise DataError("No attribute was learned, so there is nothing to sort by.")
        values = strength(order.partition(":")[2])[rows]
        return np.argsort(np.where(np.isnan(values), -np.inf, values) * -1, kind="stable")
    amount = part["seconds"] if order == "longest" else part["width"].astype(float) * part["height"]
    return np.argsort(-amount.to_numpy(), kind="stable")


def _without(values: Mapping[str, tuple[str, ...]], facet: str, value: str) -> dict[str, tuple[str, ...]]:
    left = {name: tuple(v for v in kept if not (name == facet and v == value)) for name, kept in values.items()}
    return {name: kept for name, kept in left.items() if kept}
