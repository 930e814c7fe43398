"""RankSVM on features: the same function as on their kernel; weighted columns, equal pairs, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.learners.pairwise import linear_ranksvm
from mediarank.learners.pairwise.linear_ranksvm import solve_rows
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs
from mediarank.learners.pairwise.ranksvm import Descent, item_weights, solve_gram
from mediarank.types import ConfigError, DataError

LOSSES = ("l1", "l2")


def problem(n: int = 16, d: int = 4, noise: float = 0.5, seed: int = 0) -> tuple[np.ndarray, OrderedPairs]:
    """Items whose strength is a noisy linear function, in four levels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = X @ rng.normal(size=d) + noise * rng.normal(size=n)
    return X, OrderedPairs.from_strengths(np.digitize(signal, np.quantile(signal, [0.25, 0.5, 0.75])))


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from(LOSSES), st.floats(0.01, 10))
def test_features_and_kernel_give_the_same_function(seed: int, loss: str, C: float) -> None:
    X, pairs = problem(n=10, d=3, seed=seed)
    descent = Descent(C, loss, 1e-6, 20000)
    by_kernel, by_rows = solve_gram(X @ X.T, pairs, descent), solve_rows(X, pairs, descent)
    assert by_kernel.objective == pytest.approx(by_rows.objective, rel=1e-4)
    np.testing.assert_allclose(X.T @ by_kernel.coef, by_rows.coef, atol=1e-3)


def test_column_weights_scale_columns() -> None:
    X, pairs = problem(seed=3)
    weights = np.array([0.5, 2.0, 0.0, 1.0])
    descent = Descent(0.5, "l1", 1e-7, 20000)
    weighted, scaled = (
        solve_rows(X, pairs, descent, column_weights=weights),
        solve_rows(X * weights**0.5, pairs, descent),
    )
    assert weighted.objective == pytest.approx(scaled.objective, rel=1e-6)
    np.testing.assert_allclose(X @ (weights * weighted.coef), X * weights**0.5 @ scaled.coef, atol=1e-4)


def test_a_warm_start_ends_where_a_cold_one_does() -> None:
    X, pairs = problem(seed=4)
    descent = Descent(0.5, "l1", 1e-7, 20000)
    cold = solve_rows(X, pairs, descent)
    warm = solve_rows(X, pairs, descent, cold.alpha)
    np.testing.assert_allclose(warm.coef, cold.coef, atol=1e-5)
    assert warm.sweeps < cold.sweeps


def test_float32_rows_are_enough() -> None:
    X, pairs = problem(seed=5)
    descent = Descent(0.5, "l2", 1e-5, 20000)
    np.testing.assert_allclose(
        solve_rows(X.astype(np.float32), pairs, descent).coef, solve_rows(X, pairs, descent).coef, atol=1e-3
    )


def test_refusals() -> None:
    _, pairs = problem()
    with pytest.raises(DataError, match="rows of features"):
        solve_rows(np.ones((3, 2)), pairs, Descent())
    with pytest.raises(ConfigError, match="squared loss"):
        solve_rows(np.ones((16, 2)), pairs, Descent(), equal=np.array([[0, 1]]))


def test_the_numba_kernels_over_rows_as_plain_python() -> None:
    X, pairs = problem(n=8)
    order = np.random.default_rng(0).permutation(len(pairs))
    weights = np.array([1.0, 0.5, 2.0, 1.0])
    results = []
    for sweep, curvatures in (
        (linear_ranksvm._sweep_rows, linear_ranksvm._curvatures),
        (linear_ranksvm._sweep_rows.py_func, linear_ranksvm._curvatures.py_func),
    ):
        alpha, direction = np.zeros(len(pairs)), np.zeros(4)
        curvature = curvatures(X, pairs.stronger, pairs.weaker, weights) + 1.0
        ordered = len(pairs) - 2  # the last two are taken as equal
        for _ in range(3):
            sweep(
                X, pairs.stronger, pairs.weaker, order, alpha, direction, weights, curvature, np.inf, 1.0, ordered
            )  # fmt: skip
        np.testing.assert_allclose(direction, weights * (X.T @ item_weights(pairs, alpha)), atol=1e-9)
        results.append(alpha)
    np.testing.assert_allclose(results[0], results[1], atol=1e-10)
