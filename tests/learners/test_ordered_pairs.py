"""Supervision: which pairs follow from strengths, classes and comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.learners.pairwise.ordered_pairs import OrderedPairs, equal_pairs
from mediarank.types import DataError


def as_set(pairs: OrderedPairs) -> set[tuple[int, int]]:
    return set(zip(pairs.stronger.tolist(), pairs.weaker.tolist(), strict=True))


def test_pairs_of_strengths() -> None:
    strengths = [2.0, 1.0, np.nan, 2.0]
    assert as_set(OrderedPairs.from_strengths(strengths)) == {(0, 1), (3, 1)}  # ties and the unknown form none
    assert equal_pairs(strengths).tolist() == [[0, 3]]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=12))
def test_every_two_known_items_are_ordered_or_equal(strengths: list[int]) -> None:
    ordered, equal = OrderedPairs.from_strengths(strengths), equal_pairs(strengths)
    assert len(ordered) + len(equal) == len(strengths) * (len(strengths) - 1) // 2
    assert all(strengths[a] > strengths[b] for a, b in as_set(ordered))
    assert all(strengths[a] == strengths[b] and a < b for a, b in equal)


@pytest.mark.parametrize("limit", [50, 700])
def test_a_limit_draws_right_pairs(limit: int) -> None:
    strengths = np.random.default_rng(0).integers(0, 4, 50).astype(float)
    strengths[3] = np.nan
    pairs = OrderedPairs.from_strengths(strengths, limit=limit, seed=1)
    assert len(pairs) == limit
    assert len(as_set(pairs)) == limit  # none twice
    assert (strengths[pairs.stronger] > strengths[pairs.weaker]).all()
    again = OrderedPairs.from_strengths(strengths, limit=limit, seed=1)
    np.testing.assert_array_equal(pairs.stronger, again.stronger)
    assert len(OrderedPairs.from_strengths(strengths, limit=10**6)) == len(OrderedPairs.from_strengths(strengths))


def test_an_attribute_where_all_tie_has_no_pairs() -> None:
    assert len(OrderedPairs.from_strengths([3.0] * 200)) == 0
    assert len(OrderedPairs.from_strengths([3.0] * 200, limit=10)) == 0
    assert len(OrderedPairs.from_strengths([np.nan] * 200, limit=10)) == 0


def test_pairs_of_items_are_found_by_id() -> None:
    pairs = OrderedPairs.from_items([("c", "a"), ("b", "x"), ("a", "b")], ids=["a", "b", "c"])
    assert as_set(pairs) == {(2, 0), (0, 1)}  # x is not among the items
    assert pairs.items == 3


def test_within_keeps_only_whole_pairs() -> None:
    pairs = OrderedPairs.from_strengths([3.0, 2.0, 1.0, 0.0])
    inner = pairs.within(np.array([3, 1]))
    assert as_set(inner) == {(1, 0)}  # item 1 over item 3, by their places in [3, 1]
    assert inner.items == 2


def test_refusals() -> None:
    for stronger, weaker, message in (
        ([0, 1], [1], "as many"),
        ([0], [0], "itself"),
        ([0], [5], "outside"),
        ([-1], [0], "outside"),
    ):
        with pytest.raises(DataError, match=message):
            OrderedPairs(np.array(stronger), np.array(weaker), 3)
