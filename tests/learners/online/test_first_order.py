"""First-order online rankers: each step solves its own problem, and the regret bounds hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from mediarank.learners.online.first_order import OGDR, OPAR1, OPAR2, OPR, OnlineRanker, _learn
from mediarank.types import DataError

RULES = [OPR, OPAR1, OPAR2, OGDR]
SEEDS = st.integers(0, 2**32 - 1)


def triplets(seed: int, count: int = 60, dimensions: int = 4, noise: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, dimensions)).astype(np.float32)
    truth = rng.normal(size=dimensions)
    return rows, np.where(rows @ truth + noise * rng.normal(size=count) > 0, 1, -1)


def hinge(weights: np.ndarray, rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.maximum(0, 1 - y * (rows @ weights))


def path(ranker: OnlineRanker, rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The weights before each triplet."""
    after = [
        ranker.partial_fit(rows[t : t + 1], y[t : t + 1]).weights_.astype(np.float64) for t in range(len(rows) - 1)
    ]
    return np.array([np.zeros(rows.shape[1]), *after])


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.sampled_from([0.01, 0.1, 1.0, 10.0]), st.sampled_from([1, 2]))
def test_a_passive_aggressive_step_minimises_its_objective(seed: int, c: float, power: int) -> None:
    rows, y = triplets(seed, count=8)
    ranker = (OPAR1 if power == 1 else OPAR2)(averaged=False, C=c)
    before = ranker.fit(rows[:-1], y[:-1]).weights_.astype(np.float64).copy()
    after = ranker.partial_fit(rows[-1:], y[-1:]).weights_

    def objective(weights: np.ndarray) -> float:
        return 0.5 * np.sum((weights - before) ** 2) + c * hinge(weights, rows[-1], y[-1]) ** power

    direction = y[-1] * rows[-1].astype(np.float64)
    best = minimize_scalar(lambda step: objective(before + step * direction), bounds=(0, 50), method="bounded")
    assert objective(after) <= best.fun + 1e-5
    nearby = after + 0.05 * np.random.default_rng(seed).normal(size=(200, 4))
    assert all(objective(after) <= objective(w) + 1e-6 for w in nearby)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.sampled_from([0.01, 0.1, 1.0]))
def test_gradient_descent_keeps_its_regret_bound(seed: int, eta: float) -> None:
    """Σℓ_t(w_t) ≤ ‖u‖²/2η + ηXT/2 + Σℓ_t(u), the inequality inside theorem 3, for any u."""
    rows, y = triplets(seed)
    losses = np.maximum(0, 1 - y * np.sum(path(OGDR(eta=eta), rows, y) * rows, axis=1)).sum()
    largest = np.max(np.sum(rows**2, axis=1))
    for u in np.random.default_rng(seed).normal(size=(20, 4)):
        bound = u @ u / (2 * eta) + eta * largest * len(rows) / 2 + hinge(u, rows, y).sum()
        assert losses <= bound + 1e-3


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.sampled_from([0.01, 0.1, 1.0]))
def test_opar2_keeps_its_regret_bound(seed: int, c: float) -> None:
    """Σℓ_t(w_t)² ≤ (X + 1/2C)(‖u‖² + 2CΣℓ_t(u)²) for any u (Crammer et al. 2006, theorem 5)."""
    rows, y = triplets(seed)
    losses = np.maximum(0, 1 - y * np.sum(path(OPAR2(C=c), rows, y) * rows, axis=1))
    largest = np.max(np.sum(rows**2, axis=1))
    for u in np.random.default_rng(seed).normal(size=(20, 4)):
        bound = (largest + 1 / (2 * c)) * (u @ u + 2 * c * np.sum(hinge(u, rows, y) ** 2))
        assert np.sum(losses**2) <= bound * (1 + 1e-4)


def test_the_perceptron_separates_what_can_be_separated() -> None:
    rows, y = triplets(1, count=400, noise=0)
    ranker = OPR(averaged=False)
    for _ in range(200):
        ranker.partial_fit(rows, y)
    assert (y * ranker.predict(rows) > 0).all()


def test_a_known_sequence() -> None:
    """The first triplet always updates, since its margin 0 is undecided."""
    rows = np.float32([[2, 0], [0, 1], [1, 1]])
    assert OPR(averaged=False).fit(rows).weights_.tolist() == [2, 1]
    assert OPAR1(averaged=False, C=0.125).fit(rows[:1]).weights_.tolist() == [0.25, 0]
    assert OPAR1(averaged=False, C=10).fit(rows[:1]).weights_.tolist() == [0.5, 0]
    assert OPAR2(averaged=False, C=0.125).fit(rows[:1]).weights_.tolist() == [0.25, 0]
    assert OGDR(averaged=False, eta=0.5).fit(rows).weights_.tolist() == [1.0, 0.5]


@pytest.mark.parametrize("rule", RULES)
def test_the_average_is_the_mean_of_all_weights(rule: type[OnlineRanker]) -> None:
    rows, y = triplets(2)
    after = [rule(averaged=False).fit(rows[: t + 1], y[: t + 1]).weights_ for t in range(len(rows))]
    assert rule().fit(rows, y).ranking_weights == pytest.approx(np.mean(after, axis=0), abs=1e-5)


@pytest.mark.parametrize("rule", RULES)
def test_in_pieces_as_in_one(rule: type[OnlineRanker]) -> None:
    rows, y = triplets(3, count=101)
    pieces = rule()
    for start in range(0, 101, 7):
        pieces.partial_fit(rows[start : start + 7], y[start : start + 7])
    whole = rule().fit(rows, y)
    assert np.array_equal(pieces.weights_, whole.weights_)
    assert np.array_equal(pieces.ranking_weights, whole.ranking_weights)


@pytest.mark.parametrize("rule", RULES)
def test_swapping_both_items_and_the_answer_changes_nothing(rule: type[OnlineRanker]) -> None:
    rows, y = triplets(4)
    assert np.array_equal(rule().fit(rows, y).ranking_weights, rule().fit(-rows, -y).ranking_weights)


@pytest.mark.parametrize("rule", RULES)
def test_items_that_look_the_same_teach_nothing(rule: type[OnlineRanker]) -> None:
    ranker = rule().fit(np.zeros((5, 3), np.float32))
    assert not ranker.ranking_weights.any()


@pytest.mark.parametrize("rule", [0, 1, 2, 3])
def test_the_kernel_as_plain_python(rule: int) -> None:
    rows, y = triplets(5, count=20)
    results = []
    for kernel in (_learn, _learn.py_func):
        weights, drift = np.zeros(4, np.float32), np.zeros(4)
        kernel(rows, y.astype(np.float32), rule, np.float32(0.1), True, 0, weights, drift)
        results.append((weights, drift))
    assert results[0][0] == pytest.approx(results[1][0], abs=1e-5)
    assert results[0][1] == pytest.approx(results[1][1], abs=1e-3)


def test_bad_triplets_are_refused() -> None:
    with pytest.raises(DataError, match=r"\+1 or -1 for each of the 2"):
        OPR().fit(np.zeros((2, 3), np.float32), [1, 0])
    with pytest.raises(DataError, match=r"not an array of shape \(3,\)"):
        OPR().fit(np.zeros(3, np.float32))
    with pytest.raises(DataError, match="learned 3 dimensions"):
        OPR().fit(np.ones((1, 3), np.float32)).partial_fit(np.ones((1, 4), np.float32))
