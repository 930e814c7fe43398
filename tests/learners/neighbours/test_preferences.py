"""Preferences: the fall of NDCG by its definition, correct pairs, and images without preferences."""

from __future__ import annotations

import doctest
from collections import Counter
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.learners.neighbours import preferences
from mediarank.learners.neighbours.preferences import consistency, draw_preferences
from mediarank.types import DataError


def keyword_rows(images: int, words: int, seed: int = 0, density: float = 0.3) -> np.ndarray:
    return (np.random.default_rng(seed).random((images, words)) < density).astype(np.float32)


def f1_of_sets(first: set[int], second: set[int]) -> float:
    """Eq 1 as it is printed: the harmonic mean of precision and recall."""
    common = len(first & second)
    if not common:
        return 0.0
    p, r = common / len(second), common / len(first)
    return 2 * p * r / (p + r)


def ndcg(relevance: np.ndarray, k: int) -> float:
    """Eq 2 before the division by N_k."""
    return sum((2**r - 1) / np.log2(1 + place) for place, r in enumerate(relevance[:k], start=1))


def test_consistency_is_the_f1_of_two_sets() -> None:
    rows = keyword_rows(12, 6, 1)
    sets = [set(np.flatnonzero(row).tolist()) for row in rows]
    expected = [[f1_of_sets(a, b) for b in sets] for a in sets]
    np.testing.assert_allclose(consistency(rows, rows), expected, atol=1e-6)


@given(st.integers(0, 1000), st.integers(1, 8))
@settings(max_examples=20, deadline=None)
def test_a_weight_is_what_ndcg_loses_on_average_over_the_orders_of_equals(seed: int, k: int) -> None:
    images = 6
    rows = keyword_rows(images, 4, seed)
    drawn = draw_preferences(rows, 3, k, np.random.default_rng(seed), epsilon=0.123)
    for query, better, worse, weight in zip(drawn.query, drawn.better, drawn.worse, drawn.weight, strict=True):
        relevance = consistency(rows[query : query + 1], rows)[0].astype(float)
        others = [i for i in range(images) if i != query]
        falls, reached = [], False
        for order in permutations(others):
            if any(relevance[a] < relevance[b] for a, b in pairwise(order)):
                continue
            swapped = list(order)
            a, b = order.index(better), order.index(worse)
            swapped[a], swapped[b] = swapped[b], swapped[a]
            falls.append(1 - ndcg(relevance[swapped], k) / ndcg(relevance[list(order)], k))
            reached |= a < k
        assert weight == pytest.approx(np.mean(falls) if reached else 0.123, abs=1e-9)
        assert relevance[better] > relevance[worse]
        assert query not in (better, worse)


def test_pairs_can_be_drawn_in_proportion_to_their_weight() -> None:
    rows = np.float32([[1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]])
    asked = np.array([0])
    uniform = draw_preferences(rows, 40_000, 2, np.random.default_rng(0), queries=asked, epsilon=0.01)
    weight_of = dict(zip(zip(uniform.better, uniform.worse, strict=True), uniform.weight, strict=True))
    drawn = draw_preferences(rows, 40_000, 2, np.random.default_rng(0), queries=asked, epsilon=0.01, by_weight=True)
    assert set(drawn.weight.tolist()) == {1.0}
    counts = Counter(zip(drawn.better, drawn.worse, strict=True))
    total = sum(weight_of.values())
    for pair, weight in weight_of.items():
        assert counts[pair] / 40_000 == pytest.approx(weight / total, abs=0.01)


def test_pairs_are_drawn_evenly() -> None:
    rows = np.float32([[1, 1], [1, 1], [1, 0], [0, 0], [0, 0]])
    drawn = draw_preferences(rows, 5000, 3, np.random.default_rng(0), queries=np.array([0]))
    counts = Counter(zip(drawn.better.tolist(), drawn.worse.tolist(), strict=True))
    assert set(counts) == {(1, 2), (1, 3), (1, 4), (2, 3), (2, 4)}
    assert max(counts.values()) < 1.25 * min(counts.values())


def test_images_with_nothing_to_prefer_are_skipped() -> None:
    rows = np.float32([[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 1, 0]])  # no words; a word nobody shares; two that share
    drawn = draw_preferences(rows, 4, 2, np.random.default_rng(0))
    assert set(drawn.query.tolist()) == {2, 3}
    assert len(draw_preferences(rows[:2], 4, 2, np.random.default_rng(0))) == 0


def test_every_query_has_its_pairs_and_blocks_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = keyword_rows(20, 4, 3, density=0.5)
    whole = draw_preferences(rows, 7, 5, np.random.default_rng(1))
    assert set(Counter(whole.query.tolist()).values()) == {7}
    monkeypatch.setattr(preferences, "BLOCK", 3)
    again = draw_preferences(rows, 7, 5, np.random.default_rng(1))
    np.testing.assert_array_equal(again.better, whole.better)


def test_without_weighting_all_pairs_count_alike() -> None:
    drawn = draw_preferences(keyword_rows(10, 4), 5, 3, np.random.default_rng(2))
    flat = drawn.equally_weighted()
    assert set(flat.weight.tolist()) == {1.0}
    np.testing.assert_array_equal(flat.worse, drawn.worse)


def test_a_pair_and_a_position_at_least() -> None:
    with pytest.raises(DataError, match="at least"):
        draw_preferences(keyword_rows(5, 3), 0, 3, np.random.default_rng(0))


def test_the_examples_hold() -> None:
    assert doctest.testmod(preferences).failed == 0
