"""RankSVM: the optimality conditions, scikit-learn's SVC as oracle, a primal solved by scipy, known answers, edges."""

from __future__ import annotations

import numpy as np
import pytest
from rivals_kernel_ranksvm import KernelRankSVM
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.svm import SVC

from mediarank.learners.pairwise import ranksvm
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs
from mediarank.learners.pairwise.ranksvm import item_weights
from mediarank.types import ConfigError, DataError

LOSSES = ("l1", "l2")


def problem(n: int = 16, d: int = 4, noise: float = 0.5, seed: int = 0) -> tuple[np.ndarray, OrderedPairs]:
    """Items whose strength is a noisy linear function, in four levels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = X @ rng.normal(size=d) + noise * rng.normal(size=n)
    return X, OrderedPairs.from_strengths(np.digitize(signal, np.quantile(signal, [0.25, 0.5, 0.75])))


def differences(pairs: OrderedPairs) -> np.ndarray:
    """A of eq. 6."""
    A = np.zeros((len(pairs), pairs.items))
    A[np.arange(len(pairs)), pairs.stronger] = 1
    A[np.arange(len(pairs)), pairs.weaker] = -1
    return A


def dual_value(Q: np.ndarray, alpha: np.ndarray, C: float, loss: str) -> float:
    ridge = 0.0 if loss == "l1" else 0.5 / C
    return float(alpha.sum() - 0.5 * alpha @ Q @ alpha - 0.5 * ridge * alpha @ alpha)


def primal_value(w: np.ndarray, D: np.ndarray, C: float, loss: str) -> float:
    slack = np.maximum(0, 1 - D @ w)
    return float(0.5 * w @ w + C * (slack if loss == "l1" else slack**2).sum())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_no_duality_gap_and_kkt(loss: str, C: float) -> None:
    X, pairs = problem()
    K, A = X @ X.T, differences(pairs)
    model = KernelRankSVM(C=C, loss=loss, tol=1e-7, max_sweeps=20000).fit(K, pairs)
    assert model.converged_
    assert model.gap_ <= 1e-7
    w = X.T @ model.dual_coef_
    dual, primal = dual_value(A @ K @ A.T, model.alpha_, C, loss), primal_value(w, A @ X, C, loss)
    assert dual == pytest.approx(primal, rel=1e-5)
    np.testing.assert_allclose(model.dual_coef_, A.T @ model.alpha_, atol=1e-12)  # β = Aᵀα
    margin = A @ X @ w
    if loss == "l1":
        assert (margin[model.alpha_ == 0] >= 1 - 1e-6).all()
        assert (margin[model.alpha_ == C] <= 1 + 1e-6).all()
        np.testing.assert_allclose(margin[(model.alpha_ > 0) & (model.alpha_ < C)], 1, atol=1e-6)
    else:
        np.testing.assert_allclose(model.alpha_, 2 * C * np.maximum(0, 1 - margin), atol=1e-5)


@pytest.mark.parametrize("C", [0.05, 1.0])
def test_equals_svc_on_pairs_of_both_signs(C: float) -> None:
    """Every pair and its mirror image make a classification problem without bias; each of the two gets C/2."""
    X, pairs = problem(seed=1)
    A = differences(pairs)
    both = np.concatenate([A @ X, -A @ X])
    svc = SVC(kernel="precomputed", C=C / 2, tol=1e-8)
    svc.fit(both @ both.T, np.repeat([1, -1], len(pairs)))
    w = svc.dual_coef_ @ both[svc.support_]
    model = KernelRankSVM(C=C, tol=1e-8, max_sweeps=50000).fit(X @ X.T, pairs)
    np.testing.assert_allclose(model.predict(X @ X.T), X @ w.ravel(), rtol=1e-4, atol=1e-5)


def test_equals_the_primal_solved_by_scipy() -> None:
    """The squared loss is smooth: L-BFGS on eq. 1 needs no dual at all."""
    X, pairs = problem(seed=2)
    D = differences(pairs) @ X

    def value_and_slope(w: np.ndarray) -> tuple[float, np.ndarray]:
        slack = np.maximum(0, 1 - D @ w)
        return 0.5 * w @ w + 0.3 * (slack**2).sum(), w - 0.6 * D.T @ slack

    best = minimize(value_and_slope, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options={"ftol": 1e-15})
    model = KernelRankSVM(C=0.3, loss="l2", tol=1e-8, max_sweeps=20000).fit(X @ X.T, pairs)
    np.testing.assert_allclose(X.T @ model.dual_coef_, best.x, atol=1e-5)


def test_known_answer() -> None:
    """Two items one apart on a line: the margin of 1 takes w = 1, or as much of it as C allows."""
    X = np.array([[0.0], [1.0]])
    pair = OrderedPairs(np.array([1]), np.array([0]), 2)
    for C, expected in ((10.0, 1.0), (0.25, 0.25)):
        assert X.T @ KernelRankSVM(C=C, tol=1e-9).fit(X @ X.T, pair).dual_coef_ == pytest.approx(expected)
    # squared: α = 1 / (1 + 1/2C)
    assert X.T @ KernelRankSVM(C=1.0, loss="l2", tol=1e-9).fit(X @ X.T, pair).dual_coef_ == pytest.approx(2 / 3)


def test_a_warm_start_ends_where_a_cold_one_does_and_sooner() -> None:
    X, pairs = problem(n=40, seed=4)
    K = X @ X.T
    cold = KernelRankSVM(C=0.2, loss="l2", tol=1e-5, max_sweeps=5000).fit(K, pairs)
    near = KernelRankSVM(C=0.19, loss="l2", tol=1e-5, max_sweeps=5000).fit(K, pairs)
    warm = KernelRankSVM(C=0.2, loss="l2", tol=1e-5, max_sweeps=5000).fit(K, pairs, near.alpha_)
    np.testing.assert_allclose(warm.predict(K), cold.predict(K), atol=1e-3)
    assert warm.sweeps_ < cold.sweeps_


def test_one_pair_in_a_large_collection() -> None:
    X, _ = problem(n=30)
    model = KernelRankSVM(C=100).fit(X @ X.T, OrderedPairs(np.array([7]), np.array([3]), 30))
    scores = model.predict(X @ X.T)
    assert scores[7] - scores[3] == pytest.approx(1.0, abs=1e-2)
    assert np.count_nonzero(model.dual_coef_) == 2


def test_a_kernel_of_zeros_tells_nothing() -> None:
    _, pairs = problem()
    for loss in LOSSES:
        model = KernelRankSVM(C=0.5, loss=loss).fit(np.zeros((16, 16)), pairs)
        assert model.converged_
        np.testing.assert_array_equal(model.predict(np.zeros((3, 16))), 0)


def test_duplicates_of_unequal_strength_do_not_stop_it() -> None:
    """A class may hold a copy of another class's image: the pair can't be satisfied, all others can."""
    X, pairs = problem(noise=0.0, seed=5)
    twice = np.concatenate([X, X[:2]])
    contradicting = OrderedPairs(
        np.r_[pairs.stronger, 0, 17], np.r_[pairs.weaker, 16, 1], 18
    )  # 0 over its copy 16, and 17 over 1, whose copy it is
    for loss in LOSSES:
        model = KernelRankSVM(C=1.0, loss=loss, tol=1e-5, max_sweeps=20000).fit(twice @ twice.T, contradicting)
        assert model.converged_
        scores = model.predict(twice @ twice.T)
        assert scores[0] == pytest.approx(scores[16])
        assert np.isfinite(scores).all()


def test_nothing_to_learn_is_reported() -> None:
    nothing = OrderedPairs.from_strengths([1.0, 1.0])
    with pytest.raises(DataError, match="no ordered pair"):
        KernelRankSVM().fit(np.eye(2), nothing)


def test_refusals() -> None:
    _, pairs = problem()
    with pytest.raises(ConfigError, match="C must"):
        KernelRankSVM(C=0.0).fit(np.eye(16), pairs)
    with pytest.raises(ConfigError, match="loss"):
        KernelRankSVM(loss="hinge").fit(np.eye(16), pairs)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="rows and columns"):
        KernelRankSVM().fit(np.eye(5), pairs)
    with pytest.raises(DataError, match="warm start"):
        KernelRankSVM().fit(np.eye(16), pairs, np.zeros(3))


def test_it_is_a_scikit_learn_estimator() -> None:
    model = KernelRankSVM(C=0.3, loss="l2", seed=5)
    assert clone(model).get_params() == model.get_params()


def test_the_numba_kernels_as_plain_python() -> None:
    X, pairs = problem(n=8)
    K = X @ X.T
    order = np.random.default_rng(0).permutation(len(pairs))
    results = []
    for sweep, gap in (
        (ranksvm._sweep, ranksvm._kkt_gap),
        (ranksvm._sweep.py_func, ranksvm._kkt_gap.py_func),
    ):
        alpha, scores = np.zeros(len(pairs)), np.zeros(8)
        curvature = np.einsum("ij,ij->i", differences(pairs) @ K, differences(pairs))
        for _ in range(3):
            sweep(K, pairs.stronger, pairs.weaker, order, alpha, scores, curvature, 0.5, 0.0)
        np.testing.assert_allclose(scores, K @ item_weights(pairs, alpha), atol=1e-9)
        results.append((alpha, gap(pairs.stronger, pairs.weaker, alpha, scores, 0.5, 0.0)))
    np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-12)
    assert results[0][1] == pytest.approx(results[1][1])
    assert [ranksvm.projected.py_func(g, a, 1.0) for g, a in ((-1, 0), (1, 0), (-1, 1), (1, 1), (2, 0.5))] == [
        -1, 0, 0, 1, 2,
    ]  # fmt: skip
