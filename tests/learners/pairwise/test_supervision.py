"""Supervision of attributes by labels: classes, items and compared pairs, alone and mixed."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mediarank.labels import Labels
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs
from mediarank.learners.pairwise.supervision import ordered_items, supervise

ITEMS = ["a", "b", "c", "d"]


def labels(orderings: list[tuple[str, str, float]], pairs: list[tuple[str, str, str, str]] = ()) -> Labels:  # type: ignore[assignment]
    return Labels(
        {
            "classes": pd.DataFrame([("a", "sea"), ("b", "sea"), ("c", "town")], columns=["item", "class"]),
            "orderings": pd.DataFrame(orderings, columns=["attribute", "target", "strength"]),
            "pairs": pd.DataFrame(list(pairs), columns=["attribute", "first", "second", "relation"]),
        }
    )


def named(pairs: OrderedPairs) -> set[str]:
    return {ITEMS[i] + ITEMS[j] for i, j in zip(pairs.stronger, pairs.weaker, strict=True)}


def test_classes_give_their_strength_to_items() -> None:
    known = supervise(labels([("open", "sea", 2.0), ("open", "town", 1.0)]), ITEMS)
    np.testing.assert_array_equal(known["open"].strengths, [2, 2, 1, np.nan])  # d has no class
    assert named(known["open"].ordered()) == {"ac", "bc"}
    assert known["open"].equal().tolist() == [[0, 1]]


def test_an_item_goes_before_its_class() -> None:
    known = supervise(labels([("open", "sea", 2.0), ("open", "a", 5.0), ("open", "d", 1.0)]), ITEMS)
    np.testing.assert_array_equal(known["open"].strengths, [5, 2, np.nan, 1])


def test_compared_pairs_and_equal_ones() -> None:
    known = supervise(labels([], [("open", "a", "b", ">"), ("open", "c", "a", "="), ("open", "x", "a", ">")]), ITEMS)
    assert named(known["open"].ordered()) == {"ab"}  # x is not among the items
    assert known["open"].called_equal.tolist() == [[2, 0]]
    assert np.isnan(known["open"].strengths).all()


def test_sources_add_up_and_attributes_are_sorted() -> None:
    known = supervise(
        labels([("z", "sea", 2.0), ("z", "town", 1.0)], [("z", "a", "b", ">"), ("k", "a", "c", "=")]), ITEMS
    )
    assert list(known) == ["k", "z"]
    assert named(known["z"].ordered()) == {"ab", "ac", "bc"}
    assert len(known["k"].ordered()) == 0


def test_a_limit_holds_for_compared_pairs_too() -> None:
    many = [("open", "a", "b", ">")] * 50
    assert len(supervise(labels([], many), ITEMS)["open"].ordered(limit=10)) == 10


def test_who_is_ordered_items() -> None:
    assert ordered_items(labels([("open", "sea", 1.0), ("open", "x", 1.0)], [("open", "y", "z", "=")])) >= set("abxyz")
    assert not ordered_items(labels([("open", "sea", 1.0)])) & {"c", "d"}  # town has no strength, and d no class


def test_all_classes_tie() -> None:
    known = supervise(labels([("open", "sea", 1.0), ("open", "town", 1.0)]), ITEMS)
    assert len(known["open"].ordered()) == 0
    assert len(known["open"].equal()) == 3
