"""Kernel RankSVM: a score whose order agrees with ordered pairs of items (paper 004, section 3.2).

Dual coordinate descent over pairs on eq. 4. The matrix Q = A K Aᵀ of eq. 5 is never formed: with β = Aᵀα the scores
of the training items are f = Kβ, the gradient of pair (i, j) is f_i − f_j − 1, and a step on it changes f by a
multiple of K_i − K_j. First the learner, then the solver that RankMKL shares, then the numba kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numba import njit
from sklearn.base import BaseEstimator

from mediarank.learners.pairs import OrderedPairs
from mediarank.types import ConfigError, DataError

Vector = npt.NDArray[np.float64]
Loss = Literal["l1", "l2"]


class KernelRankSVM(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """RankSVM on a precomputed kernel, minimising `½‖w‖² + C Σ ξ` (loss "l1") or `½‖w‖² + C Σ ξ²` ("l2").

    There is no bias, since differences of scores have none. `fit` takes a kernel and pairs rather than X and y, so
    scikit-learn's `check_estimator` does not apply; parameters, `clone` and learned attributes do as there.

    tol : largest violation of the optimality conditions (the KKT gap) at which the descent stops
    dual_coef_ : β, one number a training item; `alpha_` are the pairs' multipliers, a warm start for the next fit
    gap_, sweeps_, converged_ : how the descent ended
    """

    def __init__(
        self, C: float = 1.0, loss: Loss = "l1", tol: float = 1e-3, max_sweeps: int = 1000, seed: int = 0
    ) -> None:
        self.C = C
        self.loss = loss
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.seed = seed

    def fit(self, K: npt.ArrayLike, pairs: OrderedPairs, alpha: Vector | None = None) -> KernelRankSVM:
        """Learn from a kernel (n, n) among training items and pairs of them, starting at `alpha` if it is given."""
        gram = _square(K, pairs)
        solution = solve_dual(gram, pairs, self.C, self.loss, self.tol, self.max_sweeps, self.seed, alpha)
        self.alpha_, self.dual_coef_ = solution.alpha, solution.beta
        self.gap_, self.sweeps_, self.converged_ = solution.gap, solution.sweeps, solution.gap <= self.tol
        return self

    def predict(self, K: npt.ArrayLike) -> Vector:
        """Scores of m items from their kernel (m, n) with the training items; a higher score shows more."""
        return np.asarray(K, dtype=np.float64) @ self.dual_coef_


@dataclass(frozen=True)
class DualSolution:
    """Where the descent ended.

    alpha (p,) : multipliers of the pairs; beta (n,) : β = Aᵀα; scores (n,) : f = Kβ; objective : of eq. 4
    """

    alpha: Vector
    beta: Vector
    scores: Vector
    objective: float
    gap: float
    sweeps: int


def solve_dual(
    K: Vector, pairs: OrderedPairs, C: float, loss: Loss, tol: float, max_sweeps: int, seed: int, start: Vector | None
) -> DualSolution:
    """Maximise `1ᵀα − ½ αᵀQα` over `0 ≤ α ≤ C` (l1), or `1ᵀα − ½ αᵀ(Q + I/2C)α` over `α ≥ 0` (l2)."""
    if not (np.isfinite(C) and C > 0):
        raise ConfigError(f"C must be finite and positive, not {C}.")
    if loss not in ("l1", "l2"):
        raise ConfigError(f"loss must be 'l1' or 'l2', not {loss!r}.")
    if not len(pairs):
        raise DataError(
            "There is no ordered pair to learn from: every item, or every class, has the same strength. "
            "Give some of them different strengths, or leave this attribute out."
        )
    upper, ridge = (C, 0.0) if loss == "l1" else (np.inf, 0.5 / C)
    stronger, weaker = pairs.stronger, pairs.weaker
    alpha = np.zeros(len(pairs)) if start is None else np.clip(np.array(start, dtype=np.float64), 0.0, upper)
    if alpha.shape != (len(pairs),):
        raise DataError(f"A warm start needs one multiplier a pair: {len(pairs)}, not {alpha.shape}.")
    curvature = np.diag(K)[stronger] + np.diag(K)[weaker] - 2.0 * K[stronger, weaker] + ridge
    rng = np.random.default_rng(seed)
    gap, sweeps = np.inf, 0
    scores = K @ _item_weights(stronger, weaker, alpha, len(K))
    while sweeps < max_sweeps:
        order = rng.permutation(len(pairs))
        moving = _sweep(K, stronger, weaker, order, alpha, scores, curvature, upper, ridge)
        sweeps += 1
        if moving <= tol or sweeps == max_sweeps:
            # Seen pair by pair while the scores moved, the gap is an estimate; on settled, freshly summed scores it is not.
            scores = K @ _item_weights(stronger, weaker, alpha, len(K))
            gap = _kkt_gap(stronger, weaker, alpha, scores, upper, ridge)
            if gap <= tol:
                break
    beta = _item_weights(stronger, weaker, alpha, len(K))
    objective = float(alpha.sum() - 0.5 * beta @ scores - 0.5 * ridge * alpha @ alpha)
    return DualSolution(alpha, beta, scores, objective, float(gap), sweeps)


def primal_objective(solution: DualSolution, pairs: OrderedPairs, C: float, loss: Loss) -> float:
    """Eq. 1 at w = Σ β_i φ(x_i): never below the dual objective, and equal to it at the optimum."""
    slack = np.maximum(0.0, 1.0 - (solution.scores[pairs.stronger] - solution.scores[pairs.weaker]))
    return float(0.5 * solution.beta @ solution.scores + C * (slack if loss == "l1" else slack**2).sum())


def _square(K: npt.ArrayLike, pairs: OrderedPairs) -> Vector:
    gram = np.ascontiguousarray(K, dtype=np.float64)
    if gram.shape != (pairs.items, pairs.items):
        raise DataError(f"{pairs.items} training items need a kernel of that many rows and columns, not {gram.shape}.")
    return gram


@njit(cache=True, nogil=True)
def _item_weights(stronger: Any, weaker: Any, alpha: Any, items: int) -> Any:
    """β = Aᵀα: what the multipliers of all pairs add up to for each item."""
    beta = np.zeros(items)
    for p in range(len(alpha)):
        beta[stronger[p]] += alpha[p]
        beta[weaker[p]] -= alpha[p]
    return beta


@njit(cache=True, nogil=True)
def _projected(gradient: float, alpha: float, upper: float) -> float:
    """The part of the gradient (of the minimised negative dual) along which the box lets α move."""
    if alpha <= 0.0:
        return min(gradient, 0.0)
    if alpha >= upper:
        return max(gradient, 0.0)
    return gradient


@njit(cache=True, nogil=True)
def _kkt_gap(stronger: Any, weaker: Any, alpha: Any, scores: Any, upper: float, ridge: float) -> float:
    gap = 0.0
    for p in range(len(alpha)):
        gradient = scores[stronger[p]] - scores[weaker[p]] - 1.0 + ridge * alpha[p]
        gap = max(gap, abs(_projected(gradient, alpha[p], upper)))
    return gap


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep(
    K: Any, stronger: Any, weaker: Any, order: Any, alpha: Any, scores: Any, curvature: Any, upper: float, ridge: float
) -> float:
    """One pass over the pairs: the exact minimum along each; returns the largest violation met on the way."""
    gap = 0.0
    for p in order:
        i, j = stronger[p], weaker[p]
        gradient = scores[i] - scores[j] - 1.0 + ridge * alpha[p]
        violation = abs(_projected(gradient, alpha[p], upper))
        gap = max(gap, violation)
        if violation == 0.0:
            continue
        # Items that the kernel can't tell apart have no curvature: the minimum is at the end of the box.
        if curvature[p] > 0.0:
            target = min(max(alpha[p] - gradient / curvature[p], 0.0), upper)
        else:
            target = upper if gradient < 0.0 else 0.0
        step = target - alpha[p]
        if step == 0.0:
            continue
        alpha[p] = target
        for n in range(len(scores)):
            scores[n] += step * (K[i, n] - K[j, n])
    return gap
