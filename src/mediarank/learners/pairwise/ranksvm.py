"""RankSVM: a score whose order agrees with ordered pairs of items (paper 004, section 3.2).

Dual coordinate descent over pairs on eq. 4. The matrix Q = A K Aᵀ of eq. 5 is never formed: with β = Aᵀα the scores
of the training items are f = Kβ, the gradient of pair (i, j) is f_i − f_j − 1, and a step on it changes f by a
multiple of K_i − K_j. First how to descend, then the solver that RankMKL shares, then the numba kernels. The learner
is in `kernel_ranksvm.py`; the same descent on explicit features instead of a kernel is in `linear_ranksvm.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.learners.pairwise.ordered_pairs import OrderedPairs
from mediarank.types import ConfigError, DataError, Doubles

Loss = Literal["l1", "l2"]


@dataclass(frozen=True)
class Descent:
    """How to descend: shared by every solver of the dual.

    tol : largest violation of the optimality conditions (the KKT gap) at which the descent stops
    seed : of the order in which a sweep visits the pairs
    """

    C: float = 1.0
    loss: Loss = "l1"
    tol: float = 1e-3
    max_sweeps: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.C) and self.C > 0):
            raise ConfigError(f"C must be finite and positive, not {self.C}.")
        if self.loss not in ("l1", "l2"):
            raise ConfigError(f"loss must be 'l1' or 'l2', not {self.loss!r}.")

    @property
    def box(self) -> tuple[float, float]:
        """The upper bound of α and the ridge on its diagonal: (C, 0) for hinge losses, (∞, 1/2C) for squared ones."""
        return (self.C, 0.0) if self.loss == "l1" else (np.inf, 0.5 / self.C)

    def start(self, pairs: OrderedPairs, alpha: Doubles | None) -> Doubles:
        """The first multipliers: zeros, or a warm start moved into the box."""
        if not len(pairs):
            raise DataError(
                "There is no ordered pair to learn from: every item, or every class, has the same strength. "
                "Give some of them different strengths, or leave this attribute out."
            )
        if alpha is None:
            return np.zeros(len(pairs))
        if alpha.shape != (len(pairs),):
            raise DataError(f"A warm start needs one multiplier for each of {len(pairs)} pairs, not {alpha.shape}.")
        return np.clip(alpha, 0.0, self.box[0])


@dataclass(frozen=True)
class DualSolution:
    """Where the descent ended: multipliers α (p,), `coef` (β for a kernel, w for features), eq. 4's value, KKT gap."""

    alpha: Doubles
    coef: Doubles
    objective: float
    gap: float
    sweeps: int


def solve_gram(
    K: npt.NDArray[np.floating[Any]], pairs: OrderedPairs, descent: Descent, start: Doubles | None = None
) -> DualSolution:
    """Maximise `1ᵀα − ½ αᵀQα` over `0 ≤ α ≤ C` (l1), or `1ᵀα − ½ αᵀ(Q + I/2C)α` over `α ≥ 0` (l2)."""
    K = np.ascontiguousarray(K, dtype=np.float64)
    if K.shape != (pairs.items, pairs.items):
        raise DataError(f"{pairs.items} training items need a kernel of that many rows and columns, not {K.shape}.")
    alpha = descent.start(pairs, start)
    upper, ridge = descent.box
    stronger, weaker = pairs.stronger, pairs.weaker
    diagonal = np.diag(K)
    curvature = diagonal[stronger] + diagonal[weaker] - 2.0 * K[stronger, weaker] + ridge  # Q_pp of eq. 5
    rng = np.random.default_rng(descent.seed)
    beta = item_weights(pairs, alpha)
    scores = K @ beta
    gap, sweeps = np.inf, 0
    while gap > descent.tol and sweeps < descent.max_sweeps:
        order = rng.permutation(len(pairs))
        met = _sweep(K, stronger, weaker, order, alpha, scores, curvature, upper, ridge)
        sweeps += 1
        if met <= descent.tol or sweeps == descent.max_sweeps:
            # A sweep sees gaps on changing scores; whether to stop is decided on freshly summed ones.
            beta = item_weights(pairs, alpha)
            scores = K @ beta
            gap = _kkt_gap(stronger, weaker, alpha, scores, upper, ridge)
    objective = float(alpha.sum() - 0.5 * beta @ scores - 0.5 * ridge * alpha @ alpha)
    return DualSolution(alpha, beta, objective, float(gap), sweeps)


def item_weights(pairs: OrderedPairs, alpha: Doubles) -> Doubles:
    """β = Aᵀα: the sum of the multipliers of all pairs for each item."""
    gained = np.bincount(pairs.stronger, alpha, pairs.items)
    return np.asarray(gained - np.bincount(pairs.weaker, alpha, pairs.items))


@njit(cache=True, nogil=True)
def projected(gradient: float, alpha: float, upper: float) -> float:
    """The part of the gradient (of the negative dual, which is minimised) along which the box lets α move."""
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
        gap = max(gap, abs(projected(gradient, alpha[p], upper)))
    return gap


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep(
    K: Any, stronger: Any, weaker: Any, order: Any, alpha: Any, scores: Any, curvature: Any, upper: float, ridge: float
) -> float:
    """One pass over the pairs, to the exact minimum along each; returns the largest violation met on the way."""
    gap = 0.0
    for p in order:
        i, j = stronger[p], weaker[p]
        gradient = scores[i] - scores[j] - 1.0 + ridge * alpha[p]
        violation = abs(projected(gradient, alpha[p], upper))
        gap = max(gap, violation)
        if violation == 0.0:
            continue
        # Items that the kernel can't distinguish have no curvature: the minimum is at the end of the box.
        if curvature[p] > 0.0:
            target = min(max(alpha[p] - gradient / curvature[p], 0.0), upper)
        else:
            target = upper if gradient < 0.0 else 0.0
        step = target - alpha[p]
        alpha[p] = target
        for n in range(len(scores)):
            scores[n] += step * (K[i, n] - K[j, n])
    return gap
