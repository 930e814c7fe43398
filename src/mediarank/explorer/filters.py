"""Which items a page shows, and in which order: the state of the page, as the parameters of its address.

A facet may be given several times: values of one facet are joined by OR, facets by AND, and a value that begins with
`-` by NOT. `?class=coast&class=forest&keyword=-boat` shows coasts and forests without boats. A concept or event may
carry a least probability, by the model: `concept=boat>0.7`. What is in quarantine is shown only if asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt

from mediarank.explorer.snapshot import Snapshot
from mediarank.types import DataError

Mask = npt.NDArray[np.bool_]

COLUMNS: Final = ("kind", "folder", "class", "role", "year")
"""Facets that are columns of the table of items."""
LABELS: Final = ("keyword", "concept", "event")
"""Facets that an item may have many of."""
FACETS: Final = (*COLUMNS, *LABELS, "alike", "quarantine")
ORDERS: Final = ("name", "newest", "oldest", "largest", "longest")
UNKNOWN: Final = "(none)"
MEASURED: Final = ("attribute", "score")
"""Orders by a number that a model gives: `attribute:NAME`, `score:NAME`."""
ALIKE: Final = "near-duplicates"
BAD: Final = "quarantined"
Measure = Callable[[str, str], npt.NDArray[Any]]
"""What is measured (attribute, score or probability) and a name -> one number per row, NaN where unknown."""


@dataclass(frozen=True)
class Choice:
    """The state of the grid.

    wanted : facet -> values, one of which an item must have; refused : facet -> values that it must not have
    text : a part of the item's name
    order : one of ORDERS, `attribute:NAME` or `score:NAME`
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
        text, order, likely, least = "", "name", "", "0.5"
        for name, value in given:
            if name in FACETS and value:
                into, word = (refused, value[1:]) if value.startswith("-") else (wanted, value)
                if word not in into.setdefault(name, []):
                    into[name].append(word)
            elif name == "text":
                text = value.strip()
            elif name == "order":
                order = value
            elif name == "likely":
                likely = value
            elif name == "least":
                least = value
        if likely:  # the two fields of the form beside the filters
            facet, _, word = likely.partition(":")
            wanted.setdefault(facet if facet in LABELS else "concept", []).append(f"{word}>{least}")
        if order not in ORDERS and order.partition(":")[0] not in MEASURED:
            known = ", ".join((*ORDERS, *(f"{one}:NAME" for one in MEASURED)))
            raise DataError(f"There is no order {order!r}; choose one of: {known}.")
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


def select(snapshot: Snapshot, choice: Choice, measure: Measure | None = None) -> Shown:
    """Apply a choice. measure : for orders and least probabilities"""
    table = snapshot.items
    mask = np.ones(len(table), bool) if "quarantine" in choice.wanted else snapshot.usable.copy()
    for facet, values in choice.wanted.items():
        mask &= np.logical_or.reduce([has(snapshot, facet, value, measure) for value in values])
    for facet, values in choice.refused.items():
        mask &= ~np.logical_or.reduce([has(snapshot, facet, value, measure) for value in values])
    if choice.text:
        mask &= table["item"].str.contains(choice.text, case=False, regex=False).to_numpy()
    rows = np.flatnonzero(mask)
    return Shown(rows[_order(snapshot, rows, choice.order, measure)], count_facets(snapshot, mask))


def has(snapshot: Snapshot, facet: str, value: str, measure: Measure | None = None) -> Mask:
    """Which items have a value of a facet."""
    table = snapshot.items
    if facet in COLUMNS:
        return np.asarray(table[facet] == ("" if value == UNKNOWN else value))
    if facet == "quarantine":
        return ~snapshot.usable
    if facet == "alike":
        return np.asarray(table["group"].isin(snapshot.groups)) & snapshot.usable
    name, least = least_probability(value)
    if least is not None and name and facet in ("concept", "event"):
        return np.asarray(_measured(measure, "probability", name) >= least)  # NaN is not
    found = np.zeros(len(table), bool)
    found[snapshot.rows_with.get(facet, {}).get(value, np.array([], np.intp))] = True
    return found


def least_probability(value: str) -> tuple[str, float | None]:
    """`boat>0.7` as a name and a number; without a number the value itself.

    >>> least_probability("boat>0.7"), least_probability("boat")
    (('boat', 0.7), ('boat', None))
    """
    name, sign, number = value.rpartition(">")
    try:
        return (name, float(number)) if sign else (value, None)
    except ValueError:
        return value, None


def count_facets(snapshot: Snapshot, mask: Mask) -> dict[str, dict[str, int]]:
    """How many of the shown items have each value of each facet, most first."""
    table = snapshot.items[mask]
    counts: dict[str, dict[str, int]] = {}
    for facet in COLUMNS:
        values = table[facet].value_counts()
        found = {str(value) or UNKNOWN: int(number) for value, number in values.items()}
        if set(found) - {UNKNOWN}:
            counts[facet] = found
    for kind in LABELS:
        numbers = {name: int(mask[rows].sum()) for name, rows in snapshot.rows_with.get(kind, {}).items()}
        found = {name: number for name, number in numbers.items() if number}
        if found:
            counts[kind] = dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))
    alike = int((table["group"].isin(snapshot.groups) & (table["quarantine"] == "")).sum())
    bad = int((~snapshot.usable).sum())
    return counts | ({"alike": {ALIKE: alike}} if alike else {}) | ({"quarantine": {BAD: bad}} if bad else {})


def _order(snapshot: Snapshot, rows: npt.NDArray[np.intp], order: str, measure: Measure | None) -> npt.NDArray[np.intp]:
    """Positions among `rows`; what is unknown comes last, and equals stay in the order of names."""
    if order == "name":
        return np.arange(len(rows))
    if order in ("newest", "oldest"):
        taken = snapshot.taken_rank[rows]
        last = taken.max(initial=0) + 1
        return np.argsort(np.where(taken < 0, last, last - 1 - taken if order == "newest" else taken), kind="stable")
    part = snapshot.items.iloc[rows]
    what, _, name = order.partition(":")
    if what in MEASURED:
        values = _measured(measure, what, name)[rows]
        return np.argsort(np.where(np.isnan(values), -np.inf, values) * -1, kind="stable")
    amount = part["seconds"] if order == "longest" else part["width"].astype(float) * part["height"]
    return np.argsort(-amount.to_numpy(), kind="stable")


def _measured(measure: Measure | None, what: str, name: str) -> npt.NDArray[Any]:
    if measure is None:
        raise DataError(f"No {what} was learned, so nothing can be chosen or sorted by it.")
    return measure(what, name)


def _without(values: Mapping[str, tuple[str, ...]], facet: str, value: str) -> dict[str, tuple[str, ...]]:
    left = {name: tuple(v for v in kept if not (name == facet and v == value)) for name, kept in values.items()}
    return {name: kept for name, kept in left.items() if kept}
