"""The labels of a source as tables: the contract between sources and everything that learns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import pandas as pd

from mediarank.types import DataError, require_columns

LABEL_TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "classes": ("item", "class"),
    "keywords": ("item", "keyword"),
    "concepts": ("item", "concept", "relevant"),
    "events": ("clip", "event", "relevant"),
    "orderings": ("attribute", "target", "strength"),
    "pairs": ("attribute", "first", "second", "relation"),
    "titles": ("item", "title"),
    "regions": ("item", "name", "left", "top", "width", "height"),
    "groups": ("item", "group"),
    "queries": ("item",),
    "splits": ("item", "role", "fold"),
}
"""Each label table and its columns.

`target` of an ordering is a class or an item. A pair's `relation` is `>` (the first has more of the attribute) or `=`.
A region is a named box, in fractions of the picture as it is shown.
Items of one `group` never straddle a split. `queries` are the items that may be used as queries; if empty, all may. A
split prescribes a role, a fold, or both; the other is empty.
"""

LABEL_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "classes": ("item",),
    "keywords": ("item", "keyword"),
    "concepts": ("item", "concept"),
    "events": ("clip", "event"),
    "orderings": ("attribute", "target"),
    "pairs": ("attribute", "first", "second"),
    "titles": ("item",),
    "regions": ("item", "name", "left", "top", "width", "height"),
    "groups": ("item", "group"),
    "queries": ("item",),
    "splits": ("item",),
}
"""The key of a row: rows with the same key and other values contradict each other."""

LABEL_ITEMS: Final[Mapping[str, tuple[str, ...]]] = {
    **{name: columns[:1] for name, columns in LABEL_TABLES.items()},
    "orderings": ("target",),
    "pairs": ("first", "second"),
}
"""The columns that name items."""

OPTIONAL_COLUMNS: Final = ("fold",)
"""Optional columns; empty if a table comes without them."""

NUMBER_COLUMNS: Final = ("strength", "left", "top", "width", "height")
"""Read as numbers; other columns are text, and `relevant` is a flag."""

OF_QUARANTINED: Final = "is about a quarantined item"
OF_UNKNOWN: Final = "is about an item that is not in the collection"
"""Reasons for refusing a label. The first follows from the file's quarantine, which is counted separately."""

RELATIONS: Final = (">", "=")


@dataclass(frozen=True)
class Labels:
    """The labels of a source; every table exists, and is empty if the source has no such labels."""

    tables: Mapping[str, pd.DataFrame]

    def __post_init__(self) -> None:
        unknown = set(self.tables) - set(LABEL_TABLES)
        if unknown:
            raise DataError(
                f"Unknown label table(s) {', '.join(sorted(unknown))}; known are {', '.join(LABEL_TABLES)}."
            )
        full = {
            name: self.tables.get(name, pd.DataFrame(columns=list(columns))) for name, columns in LABEL_TABLES.items()
        }
        for name, columns in LABEL_TABLES.items():
            full[name] = full[name].assign(
                **{c: "" for c in columns if c in OPTIONAL_COLUMNS and c not in full[name].columns}
            )
            require_columns(full[name], columns, f"labels/{name}.csv")
        object.__setattr__(self, "tables", full)

    def __getitem__(self, name: str) -> pd.DataFrame:
        return self.tables[name]

    @cached_property
    def class_of(self) -> Mapping[str, str]:
        """item -> class"""
        return dict(zip(self["classes"]["item"].tolist(), self["classes"]["class"].tolist(), strict=True))

    @property
    def shown(self) -> list[tuple[str, str]]:
        """(concept, item): what items show, by concepts if there are any, or else by keywords, or else by classes."""
        return list(zip(*(self._shown[name].tolist() for name in self._shown), strict=True))

    def showing(self, name: str) -> frozenset[str]:
        """The items that show a concept."""
        table = self._shown
        return frozenset(table.loc[table.iloc[:, 0] == name, "item"])

    @cached_property
    def _shown(self) -> pd.DataFrame:
        concepts = self["concepts"]
        if len(concepts):
            return concepts.loc[concepts["relevant"].astype(bool), ["concept", "item"]]
        return self["keywords"][["keyword", "item"]] if len(self["keywords"]) else self["classes"][["class", "item"]]

    @property
    def looked_at(self) -> set[str]:
        """Items that `shown` makes a statement about, including those that show nothing."""
        name = next((table for table in ("concepts", "keywords") if len(self[table])), "classes")
        return set(self[name]["item"].tolist())

    def queries_among(self, items: Iterable[str]) -> list[str]:
        """Those of `items` that may be used as queries: all, unless the source names its queries."""
        named = set(self["queries"]["item"])
        return [item for item in items if not named or item in named]

    def restricted_to(self, items: Iterable[str]) -> Labels:
        """Only the labels of `items`; orderings of classes stay."""
        known = set(items)
        classes = set(self["classes"]["class"])
        kept = {}
        for name, table in self.tables.items():
            allowed = known | classes if name == "orderings" else known
            kept[name] = table[table[list(LABEL_ITEMS[name])].isin(allowed).all(axis=1)].reset_index(drop=True)
        return Labels(kept)
