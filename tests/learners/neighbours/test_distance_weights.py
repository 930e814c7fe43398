"""Weights of distances by least squares and by LASSO: planted weights are found."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.learners.neighbours.distance_weights import COMBINATIONS, lasso_weights, least_squares_weights


def planted(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Consistency falls with the first two distances, two to one; the third is idle."""
    rng = np.random.default_rng(seed)
    distances = rng.random((400, 3)).astype(np.float32)
    return distances, 0.9 - 0.4 * distances[:, 0] - 0.2 * distances[:, 1] + rng.normal(scale=0.01, size=400)


@pytest.mark.parametrize("name", ["least_squares", "lasso"])
def test_planted_weights_are_found(name: str) -> None:
    np.testing.assert_allclose(COMBINATIONS[name](*planted()), [0.4, 0.2, 0], atol=0.02)


def test_least_squares_equals_the_normal_equations() -> None:
    distances, consistency = planted(1)
    rows = np.column_stack([distances, np.ones(len(distances))]).astype(float)
    expected = np.linalg.solve(rows.T @ rows, rows.T @ -consistency)[:-1]
    np.testing.assert_allclose(least_squares_weights(distances, consistency), expected, atol=1e-5)


def test_a_constant_distance_gets_no_weight() -> None:
    distances, consistency = planted()
    distances[:, 2] = 1
    for learn in (least_squares_weights, lasso_weights):
        assert learn(distances, consistency)[2] == pytest.approx(0, abs=1e-6)


def test_lasso_sets_idle_types_to_zero_and_has_no_negative_weight() -> None:
    distances, consistency = planted(2)
    weights = lasso_weights(distances, consistency + 0.3 * distances[:, 2])  # the third points the wrong way
    assert weights[2] == 0
    wrong = distances.sum(axis=1).astype(float)  # all do: back to equal weights
    np.testing.assert_allclose(lasso_weights(distances, wrong), 1 / 3)
