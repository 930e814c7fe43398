"""Stacked distances: types in their order, scaled by their spread, added by weight."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.similarity.distance_stack import spreads, stack_distances, weighted_similarity
from mediarank.similarity.distances import DISTANCES
from mediarank.types import ConfigError, DataError


def rows(n: int, *dims: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.random((n, d)).astype(np.float32) for d in dims]


def test_each_type_has_its_own_distance() -> None:
    asked, known = rows(3, 4, 6, seed=1), rows(5, 4, 6, seed=2)
    stack = stack_distances(asked, known, ["l1", "chi2"])
    assert stack.shape == (2, 3, 5)
    np.testing.assert_array_equal(stack[0], DISTANCES["l1"](asked[0], known[0]))
    np.testing.assert_array_equal(stack[1], DISTANCES["chi2"](asked[1], known[1]))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match="l1, l2"):
        stack_distances(rows(2, 3), rows(2, 3), ["manhattan"])
    with pytest.raises(DataError, match="don't fit"):
        stack_distances(rows(2, 3, 3), rows(2, 3), ["l1"])
    with pytest.raises(DataError, match="same items"):
        stack_distances([*rows(2, 3), *rows(3, 3)], rows(2, 3, 3), ["l1", "l1"])


def test_scaled_types_have_unit_spread_and_a_constant_one_has_no_say() -> None:
    known = [*rows(9, 4), np.ones((9, 2), np.float32)]
    stack = stack_distances(known, known, ["l1", "l2"])
    scale = spreads(stack)
    assert (stack[0] / scale[0]).std() == pytest.approx(1, rel=1e-5)
    assert np.isinf(scale[1])
    np.testing.assert_array_equal(weighted_similarity(stack, 1 / scale), weighted_similarity(stack[:1], 1 / scale[:1]))


def test_similarity_is_the_negative_weighted_sum_whatever_the_block() -> None:
    stack = np.random.default_rng(3).random((3, 7, 5)).astype(np.float32)
    weights = np.float32([0.5, 0, 2])
    expected = -(0.5 * stack[0] + 2 * stack[2])
    np.testing.assert_allclose(weighted_similarity(stack, weights), expected, rtol=1e-6)
    np.testing.assert_array_equal(weighted_similarity(stack, weights, block=2), weighted_similarity(stack, weights))
