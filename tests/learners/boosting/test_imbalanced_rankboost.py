from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.learners.boosting import imbalanced_rankboost as module
from mediarank.learners.boosting.costs import Costs
from mediarank.learners.boosting.imbalanced_rankboost import ImbalancedRankBoost
from mediarank.learners.boosting.plan import walk
from mediarank.learners.boosting.rankboost import RATE_LIMIT, RankBoost, distribution
from mediarank.types import DataError

REGULARISERS = ("squared", "exponential", "above_lowest")


def example(seed: int, items: int = 80, models: int = 6, ties: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.random(items) < 0.25
    y[:2] = True, False
    X = np.clip(np.where(y, 0.15, -0.15)[:, None] + rng.normal(scale=0.5, size=(items, models)), -1, 1)
    return (np.round(X * 3) / 3 if ties else X).astype(np.float32), y


def pair_loss(f: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(np.exp(-(f[y][:, None] - f[~y][None, :]))))


def omega(regulariser: str, candidate: float, theta: float, f: np.ndarray) -> float:
    """The last summand of eq 8."""
    if regulariser == "squared":
        return (candidate - theta) ** 2
    if regulariser == "exponential":
        return float(np.exp(candidate - theta))
    above = f[f > theta]
    return (candidate - (above.min() if len(above) else theta)) ** 2


def entry_by_entry(
    h: np.ndarray, y: np.ndarray, f: np.ndarray, theta: float, regulariser: str, strength: float, width: float = 1.0
) -> dict[tuple[int, float], float]:
    """The matrix of eq 17 straight from eqs 10 and 12: a sum over pairs for every model and threshold."""
    C = np.exp(f[~y][None, :] - f[y][:, None])
    loss = C.mean()
    C /= C.sum()
    matrix = {}
    for k, candidate in itertools.product(range(h.shape[1]), {theta, *f[f >= theta]}):
        masked = h[:, k] * (f >= candidate)
        r = np.sum(C * (masked[y][:, None] - masked[~y][None, :])) / width
        bound = loss * np.sqrt(1 - min(abs(r), RATE_LIMIT) ** 2)
        matrix[k, candidate] = bound + strength * omega(regulariser, candidate, theta, f)
    return matrix


@pytest.mark.parametrize("regulariser", REGULARISERS)
@pytest.mark.parametrize("ties", [False, True])
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000), strength=st.sampled_from([0.0, 0.01, 0.2]))
def test_the_chosen_entry_is_the_least_of_the_whole_matrix(
    regulariser: str, ties: bool, seed: int, strength: float
) -> None:
    X, y = example(seed, items=40, models=3, ties=ties)
    f = np.random.default_rng(seed).normal(scale=0.5, size=40)
    f = np.round(f, 1) if ties else f
    theta = float(np.sort(f)[5])
    matrix = entry_by_entry(X, y, f, theta, regulariser, strength)
    learner = ImbalancedRankBoost(regulariser=regulariser, regularization=strength)
    u, loss = distribution(f, y)
    active = np.flatnonzero(f >= theta)
    k, threshold, bound, rate = learner._best_entry(X, active, f, u, loss, theta, np.ones(3), first=False)
    assert bound == pytest.approx(min(matrix.values()), rel=1e-6)
    assert matrix[k, threshold] == pytest.approx(bound, rel=1e-6)
    assert rate == pytest.approx(np.sum(u * X[:, k] * (f >= threshold)), abs=1e-6)


def test_the_kernels_agree_with_themselves_uncompiled() -> None:
    X, y = example(1, items=30, models=4, ties=True)
    f = np.round(np.random.default_rng(1).normal(size=30), 1)
    u, loss = distribution(f, y)
    everyone = np.arange(30)
    arguments = (
        X, everyone, np.argsort(-f), f, u, loss, float(f.min()), float(f.min()), 1, 0.02, 1.0, RATE_LIMIT,
        np.linspace(0.5, 1, 4), 0.05,
    )  # fmt: skip
    assert module._best_entry.py_func(*arguments) == pytest.approx(module._best_entry(*arguments))
    running = np.array([0.1, -0.4, 0.3])
    for kernel in (module._largest_square, module._largest_square.py_func):
        assert kernel(running) == pytest.approx(0.16)
    prices = np.array([1.0, 2.0, 0.0])
    for name in ("_least_priced", "_argmin_priced"):
        kernel = getattr(module, name)
        assert kernel(running, prices, 1.0, 1.0, 0.9, 0.1) == pytest.approx(
            kernel.py_func(running, prices, 1.0, 1.0, 0.9, 0.1)
        )
    for number in (1, 2, 3):
        assert module._penalty(0.5, 0.1, 0.2, number, 0.3) == module._penalty.py_func(0.5, 0.1, 0.2, number, 0.3)
    for kernel in (module._add, module._add.py_func):
        kernel(running, np.ones((2, 3), dtype=np.float32), np.array([9.0, 2.0]), np.array([1]), 0.5)
    np.testing.assert_allclose(running, [2.1, 1.6, 2.3])


@pytest.mark.parametrize(("number", "expected"), [(1, 0.3 * 0.16), (2, 0.3 * np.exp(0.4)), (3, 0.3 * 0.09)])
def test_penalties_by_hand(number: int, expected: float) -> None:
    assert module._penalty(0.5, 0.1, 0.2, number, 0.3) == pytest.approx(expected)


@pytest.mark.parametrize("regulariser", REGULARISERS)
@pytest.mark.parametrize(("score_range", "step"), [("unit", "bound"), ("unit", "exact"), ("symmetric", "exact")])
def test_thresholds_rise_and_the_loss_never_does_and_stays_below_its_bound(
    regulariser: str, score_range: str, step: str
) -> None:
    X, y = example(2)
    fitted = ImbalancedRankBoost(
        rounds=40, score_range=score_range, step=step, regulariser=regulariser, regularization=0.02, tolerance=0
    ).fit(X, y)
    assert len(fitted.models_) > 3
    assert np.all(np.diff(fitted.thresholds_[1:]) >= 0)
    assert np.all(np.diff(fitted.losses_) <= 1e-12)
    # L′ holds the penalty as well, which is never negative.
    assert np.all(fitted.bounds_ >= fitted.losses_[1:] - 1e-12)
    assert fitted.losses_[-1] == pytest.approx(pair_loss(fitted.predict(X), y), rel=1e-5)


def test_the_bound_of_the_papers_mode_can_fail() -> None:
    """Deviation 2 of the card: with h in [−1, 1] eq 9 needs |A| ≤ 1 and does not have it."""
    X = np.array([[1, 1, 1, 1, -1, -1, -1, -1, -1, 1]], dtype=np.float32).T  # one of five wrong in either kind
    y = np.arange(10) < 5
    fitted = ImbalancedRankBoost(rounds=1, tolerance=0).fit(X, y)
    assert fitted.losses_[1] > fitted.bounds_[0]
    exact = ImbalancedRankBoost(rounds=1, tolerance=0, step="exact").fit(X, y)
    assert exact.losses_[1] <= exact.bounds_[0]


@pytest.mark.parametrize("score_range", ["unit", "symmetric"])
def test_active_sets_are_nested(score_range: str) -> None:
    X, y = example(3, items=200)
    fitted = ImbalancedRankBoost(rounds=40, score_range=score_range, regularization=0.005).fit(X, y)
    sets = [set(state.active.tolist()) for state in walk(fitted.plan_, lambda m, i: X[i, m], len(X))]
    assert all(later <= earlier for earlier, later in itertools.pairwise(sets))
    assert len(sets[-1]) < len(sets[0]) == 200


@pytest.mark.parametrize("score_range", ["unit", "symmetric"])
@pytest.mark.parametrize("step", ["bound", "exact"])
@pytest.mark.parametrize("regulariser", ["squared", "exponential"])
def test_without_thresholds_it_is_rankboost(score_range: str, step: str, regulariser: str) -> None:
    X, y = example(4)
    plain = RankBoost(rounds=25, score_range=score_range, step=step, tolerance=0).fit(X, y)
    never = ImbalancedRankBoost(
        rounds=25, score_range=score_range, step=step, regulariser=regulariser, tolerance=0, first_threshold=-np.inf
    ).fit(X, y)
    np.testing.assert_array_equal(never.models_, plain.models_)
    np.testing.assert_allclose(never.weights_, plain.weights_, rtol=1e-9)
    assert np.all(never.thresholds_ == -np.inf)


def test_the_first_round_is_unconditional_and_sets_the_first_threshold() -> None:
    X, y = example(5)
    fitted = ImbalancedRankBoost(rounds=2, regularization=1e9).fit(X, y)
    assert fitted.thresholds_[0] == -np.inf
    assert fitted.models_[0] == RankBoost(rounds=1).fit(X, y).models_[0]
    first = fitted.weights_[0] * X[:, fitted.models_[0]]
    assert fitted.thresholds_[1] == pytest.approx(first.min())  # λ allows no other


def test_survivors_of_the_unit_range_rise_above_the_pruned_and_more_is_pruned() -> None:
    X, y = example(6, items=200)
    unit = ImbalancedRankBoost(rounds=20, score_range="unit").fit(X, y)
    symmetric = ImbalancedRankBoost(rounds=20).fit(X, y)

    def evaluations(fitted: ImbalancedRankBoost) -> int:
        return list(walk(fitted.plan_, lambda m, i: X[i, m], len(X)))[-1].evaluations

    states = list(walk(unit.plan_, lambda m, i: X[i, m], len(X)))
    if (unit.weights_ >= 0).all():
        pruned = np.setdiff1d(np.arange(len(X)), states[-1].active)
        assert states[-1].scores[pruned].max() < states[-1].scores[states[-1].active].min()
    assert evaluations(unit) / len(set(unit.models_)) < evaluations(symmetric) / len(set(symmetric.models_))


def test_a_stronger_regularisation_prunes_less() -> None:
    X, y = example(7, items=300)
    left = []
    for strength in (0.0, 0.01, 1.0):
        fitted = ImbalancedRankBoost(rounds=6, regularization=strength, tolerance=0).fit(X, y)
        left.append(len(list(walk(fitted.plan_, lambda m, i: X[i, m], len(X)))[-1].active))
    assert left[0] <= left[1] <= left[2]
    assert left[0] < left[2]


def test_regularization_is_relative_to_the_number_of_pairs() -> None:
    """Deviation 3 of the card: the same examples twice over give the same ranker."""
    X, y = example(8)
    once = ImbalancedRankBoost(rounds=10, tolerance=0).fit(X, y)
    twice = ImbalancedRankBoost(rounds=10, tolerance=0).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    np.testing.assert_array_equal(once.models_, twice.models_)
    np.testing.assert_allclose(once.thresholds_, twice.thresholds_, atol=1e-6)


def test_dear_models_are_avoided_until_they_are_paid_for() -> None:
    rng = np.random.default_rng(9)
    y = rng.random(300) < 0.3
    good = np.clip(np.where(y, 0.3, -0.3) + rng.normal(scale=0.4, size=300), -1, 1)
    nearly = np.clip(np.where(y, 0.25, -0.25) + rng.normal(scale=0.4, size=300), -1, 1)
    X = np.column_stack([good, nearly]).astype(np.float32)
    costs = Costs.of_models([10.0, 1.0])
    assert ImbalancedRankBoost(rounds=1).fit(X, y, costs).models_[0] == 0
    assert ImbalancedRankBoost(rounds=1, cost_weight=0.3).fit(X, y, costs).models_[0] == 1
    assert costs.own.tolist() == [10.0, 1.0]
    both = ImbalancedRankBoost(rounds=30, cost_weight=0.005, step="exact").fit(X, y, costs)
    assert set(both.models_) == {0, 1}


def test_priced_entries_are_the_least_of_the_whole_matrix() -> None:
    X, y = example(10, items=40, models=3)
    f = np.random.default_rng(10).normal(scale=0.5, size=40)
    theta = float(f.min())
    prices = np.array([0.2, 1.0, 0.6])
    priced = {
        (k, candidate): value + 0.3 * prices[k] * np.sum(f >= candidate) / 40
        for (k, candidate), value in entry_by_entry(X, y, f, theta, "squared", 0.01).items()
    }
    u, loss = distribution(f, y)
    learner = ImbalancedRankBoost(regularization=0.01, cost_weight=0.3)
    k, threshold, bound, _ = learner._best_entry(X, np.arange(40), f, u, loss, theta, prices, first=False)
    assert bound == pytest.approx(min(priced.values()), rel=1e-6)
    assert priced[k, threshold] == pytest.approx(bound, rel=1e-6)


def test_costs_of_other_models_are_refused() -> None:
    X, y = example(11, models=2)
    with pytest.raises(DataError, match="2 models but costs of 1"):
        ImbalancedRankBoost().fit(X, y, Costs.of_models([1.0]))


def test_one_relevant_constant_scores_and_one_kind_only() -> None:
    X = np.array([[0.9, -0.2], [0.1, 0.3], [-0.4, 0.6]], dtype=np.float32)
    assert np.argmax(ImbalancedRankBoost(rounds=5).fit(X, [1, 0, 0]).predict(X)) == 0
    assert len(ImbalancedRankBoost().fit(np.full((4, 3), -1.0, dtype=np.float32), [1, 0, 0, 1]).plan_) == 0
    for y in ([0, 0, 0], [1, 1, 1]):
        with pytest.raises(DataError, match="items are relevant"):
            ImbalancedRankBoost().fit(X, y)


def test_it_stops_when_the_bound_converges() -> None:
    X, y = example(12)
    fitted = ImbalancedRankBoost(rounds=500, step="exact", tolerance=1e-4).fit(X, y)
    assert 1 < len(fitted.models_) < 500
    assert np.all(np.abs(np.diff(fitted.bounds_)) >= 1e-4)
