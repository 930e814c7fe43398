"""Stacks of kernels: Gram matrices and maps give the same results, as a whole and in parts."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.learners.kernels.kernel_stack import GramStack, MapStack
from mediarank.types import DataError


def maps(n: int = 9, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, width)) for width in (3, 1, 4)]


def grams(features: list[np.ndarray]) -> np.ndarray:
    return np.stack([X @ X.T for X in features])


def test_maps_and_grams_agree() -> None:
    features, beta, weights = maps(), np.random.default_rng(1).normal(size=9), np.array([0.5, 2.0, 0.0])
    v = np.concatenate(features, axis=1).T @ beta
    by_gram, by_map = GramStack(grams(features)), MapStack(features)
    assert len(by_gram) == len(by_map) == 3
    np.testing.assert_allclose(by_map.energies(v), by_gram.energies(beta))
    np.testing.assert_allclose(by_map.energies(v), [beta @ K @ beta for K in grams(features)])
    np.testing.assert_allclose(by_map.scores(weights, v), by_gram.scores(weights, beta))
    np.testing.assert_allclose(by_gram.scores(weights, beta), np.tensordot(weights, grams(features), axes=1) @ beta)


def test_scores_are_sums_over_kernels() -> None:
    features, beta, weights = maps(), np.random.default_rng(1).normal(size=9), np.array([0.5, 2.0, 0.1])
    v = np.concatenate(features, axis=1).T @ beta
    for stack, coef, columns in (
        (GramStack(grams(features)), beta, grams(features)),
        (MapStack(features), v, features),
    ):
        parts = stack.by_kernel(weights, coef)
        total = sum(part @ own for part, own in zip(columns, parts, strict=True))
        np.testing.assert_allclose(total, stack.scores(weights, coef))


def test_parts_of_a_stack() -> None:
    features = maps()
    rows, columns = np.array([3, 1]), np.array([0, 2, 5])
    np.testing.assert_array_equal(
        GramStack(grams(features)).take(rows, columns).only(1).grams[0], grams(features)[1][np.ix_(rows, columns)]
    )
    np.testing.assert_array_equal(MapStack(features).take(rows, columns).only(2).columns, features[2][rows])


def test_a_map_without_columns_is_a_kernel_of_zeros() -> None:
    stack = MapStack([np.empty((4, 0)), np.ones((4, 2))])
    assert len(stack) == 2
    np.testing.assert_array_equal(stack.energies(np.array([1.0, 2.0])), [0, 5])


def test_refusals() -> None:
    with pytest.raises(DataError, match="one per kernel"):
        GramStack(np.ones((3, 3)))
    with pytest.raises(DataError, match="same items"):
        MapStack([np.ones((3, 2)), np.ones((4, 2))])
