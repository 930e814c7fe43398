"""Parikh & Grauman's ranking function: the minimum of their objective, with equal pairs in it."""

from __future__ import annotations

import numpy as np
import pytest
from rivals_linear_attributes import RelativeAttributes
from scipy.optimize import minimize

from mediarank.learners.pairwise.linear_ranksvm import solve_rows
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs, equal_pairs
from mediarank.learners.pairwise.ranksvm import Descent
from mediarank.types import DataError


def problem(seed: int = 0, n: int = 14, d: int = 4) -> tuple[np.ndarray, OrderedPairs, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    levels = np.round(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n))
    return X, OrderedPairs.from_strengths(levels), equal_pairs(levels)


@pytest.mark.parametrize("with_equal", [False, True])
def test_equals_the_primal_solved_by_scipy(with_equal: bool) -> None:
    X, pairs, equal = problem()
    D = X[pairs.stronger] - X[pairs.weaker]
    E = X[equal[:, 0]] - X[equal[:, 1]] if with_equal else np.zeros((0, 4))

    def value_and_slope(w: np.ndarray) -> tuple[float, np.ndarray]:
        slack, apart = np.maximum(0, 1 - D @ w), E @ w
        return 0.5 * w @ w + 0.2 * (slack @ slack + apart @ apart), w + 0.4 * (E.T @ apart - D.T @ slack)

    best = minimize(value_and_slope, np.zeros(4), jac=True, method="L-BFGS-B", options={"ftol": 1e-15})
    model = RelativeAttributes(C=0.2, tol=1e-8, max_sweeps=50_000).fit(X, pairs, equal if with_equal else None)
    assert model.converged_
    np.testing.assert_allclose(model.coef_, best.x, atol=1e-5)
    np.testing.assert_allclose(model.predict(X), X @ best.x, atol=1e-4)


def test_more_columns_than_items_change_nothing() -> None:
    _, pairs, equal = problem(3)
    wide = np.random.default_rng(4).normal(size=(14, 40))
    descent = Descent(0.2, "l2", 1e-8, 50_000)
    expected = solve_rows(wide, pairs, descent, equal=equal).coef
    found = RelativeAttributes(C=0.2, tol=1e-8, max_sweeps=50_000).fit(wide, pairs, equal)
    np.testing.assert_allclose(found.coef_, expected, atol=1e-6)


def test_equal_pairs_draw_scores_together() -> None:
    X, pairs, equal = problem(1, n=30)
    apart = []
    for given in (None, equal):
        scores = RelativeAttributes(C=1.0).fit(X, pairs, given).predict(X)
        apart.append(np.abs(scores[equal[:, 0]] - scores[equal[:, 1]]).mean() / scores.std())
    assert apart[1] < apart[0]


def test_no_equal_pairs_and_no_ordered_ones() -> None:
    X, pairs, equal = problem(2)
    empty = np.empty((0, 2), dtype=np.intp)
    np.testing.assert_array_equal(
        RelativeAttributes().fit(X, pairs, empty).coef_, RelativeAttributes().fit(X, pairs).coef_
    )
    with pytest.raises(DataError, match="no ordered pair"):
        RelativeAttributes().fit(X, OrderedPairs.from_strengths([1.0] * 14), equal)
