"""Rankers of neighbours: a learned order scored by levels and by selection is the same to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.learners.neighbours import neighbour_rankers
from mediarank.learners.neighbours.neighbour_rankers import BoostedOrder, WeightedSum
from mediarank.similarity.rank_levels import levels_of, rank_thresholds
from mediarank.types import DataError


def tables(types: int, levels: int, seed: int) -> np.ndarray:
    """Step functions with a few steps; the last type has none."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(types, levels)) * (rng.random((types, levels)) < 0.4)
    steps[-1] = 0
    return np.cumsum(steps[:, ::-1], axis=1)[:, ::-1].astype(np.float32)


@given(st.integers(0, 9999), st.integers(2, 40))
@settings(max_examples=40, deadline=None)
def test_selection_and_sorting_give_the_same_scores(seed: int, images: int) -> None:
    stack = np.random.default_rng(seed).integers(0, 9, (3, 4, images)).astype(np.float32)  # many ties
    thresholds = rank_thresholds(images, 12)
    order = BoostedOrder(tables(3, len(thresholds) + 1, seed), thresholds)
    levels = np.stack([levels_of(rows, thresholds) for rows in stack])
    np.testing.assert_array_equal(order.similarity(stack), order.of_levels(levels))


def test_a_query_is_scored_alone() -> None:
    stack = np.random.default_rng(0).random((2, 5, 30)).astype(np.float32)
    order = BoostedOrder(tables(2, 11, 1), rank_thresholds(30, 10))
    np.testing.assert_array_equal(order.similarity(stack)[2:3], order.similarity(stack[:, 2:3]))


def test_a_smaller_collection_than_was_learned_on_is_ranked_all_the_same() -> None:
    order = BoostedOrder(np.float32([[3, 2, 1, 0]]), np.array([1, 5, 100]))
    assert order.similarity(np.float32([[[0.1, 0.2, 0.3]]])).tolist() == [[3, 2, 2]]


def test_the_sum_is_negative_and_weighted() -> None:
    stack = np.random.default_rng(2).random((2, 3, 4)).astype(np.float32)
    np.testing.assert_allclose(WeightedSum(np.float32([2, 0.5])).similarity(stack), -2 * stack[0] - stack[1] / 2)


def test_tables_and_thresholds_must_fit() -> None:
    with pytest.raises(DataError, match="don't fit"):
        BoostedOrder(np.zeros((2, 4), np.float32), np.array([1, 2]))


def test_the_kernels_are_their_python() -> None:
    distances, bounds = np.float32([0.1, 0.5, 0.9, 0.5]), np.float32([0.1, 0.5])
    out = np.zeros(4, np.float32)
    neighbour_rankers._add_steps.py_func(distances, bounds, np.float32([7, 5, 1]), out)
    assert out.tolist() == [7, 5, 1, 5]
    looked = np.zeros((1, 3), np.float32)
    neighbour_rankers._look_up.py_func(np.float32([4, 2]), np.uint8([[1, 0, 1]]), looked)
    assert looked.tolist() == [[2, 4, 2]]
