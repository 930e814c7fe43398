"""RankMKL: optimality, convexity, gradient, a primal solved by scipy, what the weights mean, edges."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rivals_kernel_ranksvm import KernelRankSVM
from scipy.optimize import minimize
from sklearn.base import clone

from mediarank.learners.kernels.kernel_stack import GramStack, MapStack
from mediarank.learners.kernels.rankmkl import RankMKL
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs
from mediarank.learners.pairwise.ranksvm import Descent
from mediarank.types import ConfigError, DataError

PRECISE = {"tol": 1e-5, "inner_tol": 1e-8, "max_sweeps": 50_000, "max_steps": 300}


def problem(seed: int = 0, n: int = 14) -> tuple[list[np.ndarray], OrderedPairs]:
    """Three feature sets: one that decides, one that helps, one of noise; strengths in four levels."""
    rng = np.random.default_rng(seed)
    strong, weak, noise = rng.normal(size=(n, 3)), rng.normal(size=(n, 2)), rng.normal(size=(n, 4))
    signal = 2 * strong[:, 0] + 0.7 * weak[:, 0] + 0.3 * rng.normal(size=n)
    pairs = OrderedPairs.from_strengths(np.digitize(signal, np.quantile(signal, [0.25, 0.5, 0.75])))
    return [strong, weak, noise], pairs


def grams(features: list[np.ndarray]) -> np.ndarray:
    return np.stack([X @ X.T for X in features])


def objective(d: np.ndarray, kernels: np.ndarray, pairs: OrderedPairs, C: float, loss: str = "l2") -> float:
    """T(d) of the corrected eq. 8 with σ = 1, its inner maximum solved to the end."""
    inner = GramStack(kernels).solve(d, pairs, Descent(C, loss, 1e-9, 100_000), None)
    return 0.5 * float(d @ d) + inner.objective


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_the_weights_are_the_closed_form_fixed_point(loss: str) -> None:
    """KKT in d: d_k = αᵀQ_kα / 2σ."""
    features, pairs = problem()
    kernels = grams(features)
    model = RankMKL(C=0.3, sigma=0.7, loss=loss, **PRECISE).fit(kernels, pairs)
    assert model.converged_
    energies = GramStack(kernels).energies(model.coef_)
    np.testing.assert_allclose(model.weights_, energies / (2 * 0.7), rtol=1e-4, atol=1e-6)


def test_sparse_weights_meet_their_conditions() -> None:
    """With σ Σ d: ½ αᵀQ_kα = σ where d_k > 0, and no more than σ where it is 0."""
    features, pairs = problem(3)
    kernels = grams(features)
    model = RankMKL(C=0.05, sigma=1.0, regularizer="l1", loss="l2", **PRECISE).fit(kernels, pairs)
    assert model.converged_
    pull = GramStack(kernels).energies(model.coef_) / 2
    np.testing.assert_allclose(pull[model.weights_ > 0], 1.0, atol=1e-4)
    assert (pull[model.weights_ == 0] <= 1 + 1e-4).all()
    assert np.count_nonzero(model.weights_) < 3


def test_equals_the_primal_solved_by_scipy() -> None:
    """Eliminating d leaves `Σ_k 3/2 (σ^½ ‖w_k‖² / 2)^⅔ + C Σ ξ²`: L-BFGS on w alone finds the same ranking function."""
    features, pairs = problem(1)
    D = np.concatenate([X[pairs.stronger] - X[pairs.weaker] for X in features], axis=1)
    part = np.repeat(np.arange(3), [X.shape[1] for X in features])
    C, sigma = 0.2, 0.5

    def value_and_slope(w: np.ndarray) -> tuple[float, np.ndarray]:
        squared = np.bincount(part, w**2, 3) + 1e-18
        d = (squared / (2 * sigma)) ** (1 / 3)
        slack = np.maximum(0, 1 - D @ w)
        value = (squared / (2 * d) + sigma / 2 * d**2).sum() + C * (slack**2).sum()
        return value, w / d[part] - 2 * C * D.T @ slack

    start = np.random.default_rng(0).normal(size=len(part))
    best = minimize(value_and_slope, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "maxiter": 5000})
    model = RankMKL(C=C, sigma=sigma, loss="l2", **PRECISE).fit(grams(features), pairs)
    assert model.objective_ == pytest.approx(best.fun, rel=1e-5)
    np.testing.assert_allclose(model.predict(grams(features)), np.concatenate(features, axis=1) @ best.x, atol=2e-3)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 1000), st.floats(0.05, 0.95))
def test_the_objective_is_convex(seed: int, share: float) -> None:
    features, pairs = problem(seed % 7, n=8)
    kernels = grams(features)
    a, b = np.random.default_rng(seed).exponential(size=(2, 3))
    between = objective(share * a + (1 - share) * b, kernels, pairs, 0.3)
    ends = share * objective(a, kernels, pairs, 0.3) + (1 - share) * objective(b, kernels, pairs, 0.3)
    assert between <= ends + 1e-6 * abs(ends)


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_the_gradient_is_that_of_the_objective(loss: str) -> None:
    """σ d_k − ½ αᵀQ_kα against differences of T."""
    features, pairs = problem(2, n=10)
    kernels = grams(features)
    d, small = np.array([0.8, 0.3, 0.5]), 1e-4
    inner = GramStack(kernels).solve(d, pairs, Descent(0.3, loss, 1e-10, 200_000), None)
    gradient = d - 0.5 * GramStack(kernels).energies(inner.coef)
    for k, axis in enumerate(np.eye(3)):
        rise = objective(d + small * axis, kernels, pairs, 0.3, loss)
        fall = objective(d - small * axis, kernels, pairs, 0.3, loss)
        assert gradient[k] == pytest.approx((rise - fall) / (2 * small), rel=1e-3, abs=1e-4)


def test_every_step_falls_and_convergence_is_recorded() -> None:
    features, pairs = problem(4, n=24)
    model = RankMKL(C=0.5, loss="l2", **PRECISE).fit(grams(features), pairs)
    values = [step.objective for step in model.history_]
    assert len(values) > 2
    assert all(after < before for before, after in pairwise(values))
    assert model.history_[-1].residual <= PRECISE["tol"] < model.history_[0].residual
    assert model.history_[-1].weights == tuple(model.weights_)


def test_out_of_steps_is_reported() -> None:
    features, pairs = problem(4, n=24)
    model = RankMKL(C=0.5, tol=1e-9, max_steps=1).fit(grams(features), pairs)
    assert not model.converged_
    assert len(model.history_) == 2


def test_only_one_ratio_of_c_and_sigma_matters() -> None:
    """Twice C and 8 (or, sparse, 4) times σ scale the objective and leave the ranking function as it is."""
    features, pairs = problem(5)
    kernels = grams(features)
    for regularizer, factor in (("l2", 8.0), ("l1", 4.0)):
        one = RankMKL(C=0.1, sigma=1.0, regularizer=regularizer, loss="l2", **PRECISE).fit(kernels, pairs)
        other = RankMKL(C=0.2, sigma=factor, regularizer=regularizer, loss="l2", **PRECISE).fit(kernels, pairs)
        np.testing.assert_allclose(one.predict(kernels), other.predict(kernels), atol=1e-3)
        assert other.objective_ == pytest.approx(2 * one.objective_, rel=1e-4)


def test_the_kernel_that_decides_weighs_most_and_a_kernel_of_zeros_nothing() -> None:
    features, pairs = problem(6, n=40)
    kernels = np.concatenate([grams(features), np.zeros((1, 40, 40))])
    kernels[:3] /= np.trace(kernels[:3], axis1=1, axis2=2)[:, None, None] / 40
    weights = RankMKL(C=0.02, loss="l2").fit(kernels, pairs).weights_
    assert weights.argmax() == 0
    assert weights[3] == 0.0


def test_all_kernels_zero() -> None:
    _, pairs = problem()
    model = RankMKL(C=0.5).fit(np.zeros((2, 14, 14)), pairs)
    np.testing.assert_array_equal(model.weights_, 0)
    np.testing.assert_array_equal(model.predict(np.zeros((2, 3, 14))), 0)


def test_equal_kernels_share_the_weight() -> None:
    features, pairs = problem(7)
    K = grams(features)[0]
    model = RankMKL(C=0.3, **PRECISE).fit(np.stack([K, K]), pairs)
    assert model.weights_[0] == pytest.approx(model.weights_[1], rel=1e-4)


def test_maps_and_gram_matrices_give_the_same_function() -> None:
    features, pairs = problem(8)
    by_gram = RankMKL(C=0.3, loss="l2", **PRECISE).fit(grams(features), pairs)
    stack = MapStack(features)
    by_map = RankMKL(C=0.3, loss="l2", **PRECISE).fit(stack, pairs)
    np.testing.assert_allclose(by_map.weights_, by_gram.weights_, rtol=1e-3)
    np.testing.assert_allclose(by_map.predict(stack), by_gram.predict(grams(features)), atol=1e-3)
    np.testing.assert_allclose(
        stack.energies(by_map.coef_), GramStack(grams(features)).energies(by_gram.coef_), rtol=1e-3
    )


def test_fixed_weights_are_ranksvm_on_the_mean() -> None:
    features, pairs = problem(9)
    kernels = grams(features)
    fixed = RankMKL(C=0.3, regularizer="fixed", inner_tol=1e-7, max_sweeps=20_000).fit(kernels, pairs)
    svm = KernelRankSVM(C=0.3, tol=1e-7, max_sweeps=20_000).fit(kernels.mean(axis=0), pairs)
    np.testing.assert_allclose(fixed.predict(kernels), svm.predict(kernels.mean(axis=0)), atol=1e-5)
    np.testing.assert_allclose(fixed.weights_, 1 / 3)


def test_one_pair_and_duplicates() -> None:
    features, pairs = problem(10)
    lone = OrderedPairs(np.array([5]), np.array([2]), 14)
    scores = RankMKL(C=10.0).fit(grams(features), lone).predict(grams(features))
    assert scores[5] > scores[2]
    twice = [np.concatenate([X, X]) for X in features]
    doubled = OrderedPairs(np.r_[pairs.stronger, pairs.stronger + 14], np.r_[pairs.weaker, pairs.weaker + 14], 28)
    model = RankMKL(C=0.15, loss="l2", **PRECISE).fit(grams(twice), doubled)
    once = RankMKL(C=0.3, loss="l2", **PRECISE).fit(grams(features), pairs)
    scores = model.predict(grams(twice))
    np.testing.assert_allclose(scores[:14], scores[14:], atol=1e-9)
    np.testing.assert_allclose(scores[:14], once.predict(grams(features)), atol=2e-3)  # each pair twice, at half of C


def test_a_warm_start_takes_fewer_steps() -> None:
    features, pairs = problem(11, n=24)
    kernels = grams(features)
    cold = RankMKL(C=0.3, loss="l2", **PRECISE).fit(kernels, pairs)
    warm = RankMKL(C=0.3, loss="l2", **PRECISE).fit(kernels, pairs, cold.weights_, cold.alpha_)
    assert len(warm.history_) < len(cold.history_)
    np.testing.assert_allclose(warm.weights_, cold.weights_, rtol=1e-3)


def test_refusals() -> None:
    features, pairs = problem()
    with pytest.raises(ConfigError, match="sigma"):
        RankMKL(sigma=0.0).fit(grams(features), pairs)
    with pytest.raises(ConfigError, match="regularizer"):
        RankMKL(regularizer="l3").fit(grams(features), pairs)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="one per kernel"):
        RankMKL().fit(grams(features)[0], pairs)
    with pytest.raises(DataError, match="same items"):
        MapStack([np.ones((3, 2)), np.ones((4, 2))])
    with pytest.raises(DataError, match="no ordered pair"):
        RankMKL().fit(grams(features), OrderedPairs.from_strengths([1.0] * 14))


def test_it_is_a_scikit_learn_estimator() -> None:
    model = RankMKL(C=0.3, regularizer="l1", seed=5)
    assert clone(model).get_params() == model.get_params()
