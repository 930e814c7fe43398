"""What labels say about the order of given items by an attribute.

Three sources, which may be mixed: strengths of classes (an item has its class's), strengths of items (which override
those of their class), and pairs that people have compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mediarank.labels import LABEL_TABLES, Labels
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs, Positions, equal_pairs
from mediarank.types import Doubles


@dataclass(frozen=True)
class Supervision:
    """The supervision of one attribute, over items by position.

    strengths (n,) : NaN where unknown
    compared, called_equal : the pairs that people judged, in order or equal
    """

    strengths: Doubles
    compared: OrderedPairs
    called_equal: Positions

    def ordered(self, limit: int | None = None, seed: int = 0) -> OrderedPairs:
        """Compared pairs and those that follow from strengths.

        limit : the most of each kind
        """
        derived = OrderedPairs.from_strengths(self.strengths, limit, seed)
        listed = self.compared
        if limit is not None and len(listed) > limit:
            kept = np.sort(np.random.default_rng(seed).choice(len(listed), limit, replace=False))
            listed = OrderedPairs(listed.stronger[kept], listed.weaker[kept], listed.items)
        return OrderedPairs(
            np.concatenate([listed.stronger, derived.stronger]),
            np.concatenate([listed.weaker, derived.weaker]),
            listed.items,
        )

    def equal(self) -> Positions:
        """Pairs called equal and pairs of equal strength."""
        return np.concatenate([self.called_equal, equal_pairs(self.strengths)])


def supervise(labels: Labels, items: Sequence[str]) -> dict[str, Supervision]:
    """Attribute -> its supervision among the items, for every attribute that the labels name, by name."""
    classes = labels.class_of
    strength_of: dict[str, dict[str, float]] = {}
    for attribute, target, strength in _rows(labels, "orderings"):
        strength_of.setdefault(attribute, {})[target] = float(strength)
    judged: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for attribute, first, second, relation in _rows(labels, "pairs"):
        judged.setdefault(attribute, {}).setdefault(relation, []).append((first, second))
    supervision = {}
    for attribute in sorted({*strength_of, *judged}):
        strengths, pairs = strength_of.get(attribute, {}), judged.get(attribute, {})
        values = [strengths.get(item, strengths.get(classes.get(item, ""), np.nan)) for item in items]
        equal = OrderedPairs.from_items(pairs.get("=", []), items)
        supervision[attribute] = Supervision(
            np.array(values, dtype=np.float64),
            OrderedPairs.from_items(pairs.get(">", []), items),
            np.stack([equal.stronger, equal.weaker], axis=1),
        )
    return supervision


def ordered_items(labels: Labels) -> set[str]:
    """Items that the labels order in some attribute, by their own strength, by their class or in a pair."""
    targets = set(labels["orderings"]["target"])
    by_class = {item for item, name in labels.class_of.items() if name in targets}
    return by_class | targets | set(labels["pairs"]["first"]) | set(labels["pairs"]["second"])


def _rows(labels: Labels, table: str) -> Iterator[tuple[Any, ...]]:
    return labels[table][list(LABEL_TABLES[table])].itertuples(index=False, name=None)
