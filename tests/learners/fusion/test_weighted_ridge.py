from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from mediarank.learners.fusion.weighted_ridge import weighted_ridge, with_bias


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.integers(1, 30), st.sampled_from([0.01, 1.0]))
def test_equation_2_is_ridge_with_sample_weights_and_a_penalised_bias(seed: int, n: int, strength: float) -> None:
    rng = np.random.default_rng(seed)
    scores, goal, costs = rng.random((n, 3)), rng.integers(2, size=n).astype(float), rng.random(n) + 0.01
    oracle = Ridge(alpha=strength, fit_intercept=False).fit(with_bias(scores), goal, sample_weight=costs)
    np.testing.assert_allclose(weighted_ridge(with_bias(scores), goal, costs, strength), oracle.coef_, atol=1e-9)


def test_a_known_answer() -> None:
    # one example x = (1, 1), y = 1, c = 1, λ = 1: (xxᵀ + I) w = x has the solution (1/3, 1/3)
    np.testing.assert_allclose(weighted_ridge(np.ones((1, 2)), np.ones(1), np.ones(1), 1.0), [1 / 3, 1 / 3])


def test_repeats_are_solved_each_by_itself() -> None:
    rng = np.random.default_rng(0)
    design, goal, costs = rng.random((4, 2, 9, 3)), rng.random((4, 2, 9)), rng.random((4, 2, 9))
    together = weighted_ridge(design, goal, costs, 0.1)
    for at in np.ndindex(4, 2):
        np.testing.assert_allclose(together[at], weighted_ridge(design[at], goal[at], costs[at], 0.1))
