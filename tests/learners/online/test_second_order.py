"""Second-order online rankers: against their closed forms in plain numpy, and where they must win."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

from mediarank.learners.online.first_order import OPAR2
from mediarank.learners.online.second_order import AROW, SCW, _learn, _step
from mediarank.types import DataError


def triplets(seed: int, count: int, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=len(scales))
    rows = (rng.normal(size=(count, len(scales))) * scales).astype(np.float32)
    return rows, np.where(rows @ truth + 0.3 * rng.normal(size=count) > 0, 1, -1), truth


def test_arow_in_plain_numpy() -> None:
    rows, y, _ = triplets(1, 50, np.ones(3))
    weights, covariance = np.zeros(3), np.eye(3)
    for x, sign in zip(rows.astype(np.float64), y, strict=True):
        margin = sign * (weights @ x)
        if margin < 1:
            beta = 1 / (x @ covariance @ x + 0.5)
            weights = weights + beta * (1 - margin) * sign * covariance @ x
            covariance = covariance - beta * np.outer(covariance @ x, covariance @ x)
    ranker = AROW(r=0.5).fit(rows, y)
    assert ranker.weights_ == pytest.approx(weights)
    assert ranker.covariance_ == pytest.approx(covariance)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.5, 5.0]))
def test_arow_solves_its_problem(seed: int, r: float) -> None:
    """One step minimises (w−w₀)ᵀΣ⁻¹(w−w₀)/2 + ℓ²/2r, ℓ the hinge loss."""
    rows, y, _ = triplets(seed, 6, np.ones(3))
    ranker = AROW(r=r).fit(rows[:-1], y[:-1])
    before, precision = ranker.weights_.copy(), np.linalg.inv(ranker.covariance_)
    after = ranker.partial_fit(rows[-1:], y[-1:]).weights_

    def objective(weights: np.ndarray) -> float:
        loss = max(0.0, 1 - y[-1] * float(weights @ rows[-1]))
        return 0.5 * (weights - before) @ precision @ (weights - before) + loss**2 / (2 * r)

    found = minimize(objective, before, method="BFGS")
    assert objective(after) <= found.fun + 1e-7


@settings(max_examples=50, deadline=None)
@given(st.floats(-3, 3), st.floats(0.05, 5), st.floats(0.55, 0.95))
def test_scw_meets_its_confidence_or_its_cap(margin: float, variance: float, confidence: float) -> None:
    """After a step that the cap does not bind, the triplet holds with just the wanted probability."""
    phi = float(norm.ppf(confidence))
    alpha, beta = _step(1, 1e9, phi, margin, variance)
    new_margin, new_variance = margin + alpha * variance, variance - beta * variance**2
    if phi * np.sqrt(variance) <= margin:
        assert alpha == pytest.approx(0, abs=1e-9)
    else:
        assert new_margin == pytest.approx(phi * np.sqrt(new_variance), rel=1e-6, abs=1e-6)
    assert _step(1, 0.01, phi, margin, variance)[0] <= 0.01
    assert _step.py_func(1, 1e9, phi, margin, variance) == pytest.approx((alpha, beta))


def accuracy(ranker: AROW | SCW | OPAR2, seed: int) -> float:
    """Of pairs ordered right, after few triplets whose dimensions have very different scales."""
    rows, y, truth = triplets(seed, 1200, np.logspace(-1.5, 0.5, 8))
    predicted = ranker.fit(rows[:200], y[:200]).predict(rows[200:])
    return float(np.mean(np.sign(predicted) == np.sign(rows[200:] @ truth)))


@pytest.mark.parametrize("rankers", [[AROW(r=r) for r in (0.1, 1, 10)], [SCW(C=c) for c in (0.01, 0.1, 1)]])
def test_badly_scaled_dimensions_are_learned_sooner_than_by_first_order(rankers: list[AROW | SCW]) -> None:
    def best(candidates: Sequence[AROW | SCW | OPAR2]) -> float:
        return max(float(np.mean([accuracy(ranker, seed) for seed in range(20)])) for ranker in candidates)

    assert best(rankers) > best([OPAR2(C=c) for c in (0.01, 0.1, 1)])


@pytest.mark.parametrize("ranker", [AROW(), SCW()])
def test_invariances(ranker: AROW | SCW) -> None:
    rows, y, _ = triplets(3, 60, np.ones(4))
    whole = ranker.fit(rows, y).weights_.copy()
    assert np.array_equal(ranker.fit(-rows, -y).weights_, whole)
    ranker.fit(rows[:20], y[:20])
    assert np.array_equal(ranker.partial_fit(rows[20:], y[20:]).weights_, whole)
    assert np.linalg.eigvalsh(ranker.covariance_).min() > 0
    assert np.array_equal(ranker.partial_fit(np.zeros((3, 4), np.float32)).weights_, whole)


@pytest.mark.parametrize("rule", [0, 1])
def test_the_kernel_as_plain_python(rule: int) -> None:
    rows, y, _ = triplets(5, 15, np.ones(3))
    results = []
    for kernel in (_learn, _learn.py_func):
        weights, covariance, drift = np.zeros(3), np.eye(3), np.zeros(3)
        kernel(rows, y.astype(np.float32), rule, 0.5, 0.7, 0, weights, covariance, drift)
        results.append(np.concatenate([weights, covariance.ravel(), drift]))
    assert results[0] == pytest.approx(results[1])


@pytest.mark.parametrize("make", [AROW, SCW])
def test_the_average_is_the_mean_of_all_weights(make: type[AROW] | type[SCW]) -> None:
    rows, y, _ = triplets(2, 40, np.ones(3))
    ranker, steps = make(averaged=True), []
    for row, sign in zip(rows, y, strict=True):
        ranker.partial_fit(row[None], [sign])
        steps.append(ranker.weights_.copy())
    assert ranker.ranking_weights == pytest.approx(np.mean(steps, axis=0), rel=1e-5)
    assert make(averaged=True).fit(rows, y).ranking_weights == pytest.approx(ranker.ranking_weights)


def test_parameters_are_checked() -> None:
    with pytest.raises(DataError, match=r"between 0\.5 and 1"):
        SCW(confidence=0.4).fit(np.ones((1, 2), np.float32))
    with pytest.raises(DataError, match="learned 2 dimensions"):
        AROW().fit(np.ones((1, 2), np.float32)).partial_fit(np.ones((1, 3), np.float32))
