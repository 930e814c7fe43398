"""Online learning to rank from triplets, second order: the extension that paper 003 names as future work.

Besides the weights, a learner keeps how sure it is of each direction: a covariance Σ that shrinks along the triplets
it has seen. A rare similarity then moves as far as a common one. AROW (Crammer et al. 2009) and soft
confidence-weighted learning, SCW-I (Wang et al. 2012), differ in how far they step (α) and how fast Σ shrinks (β).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.learners.online.first_order import TripletLearner
from mediarank.types import DataError, Floats

_AROW: Final = 0
_SCW: Final = 1


@dataclass
class SecondOrderRanker(TripletLearner):
    """The base of both learners.

    averaged : not by default, because the weights settle by themselves
    """

    averaged: bool = False
    covariance_: npt.NDArray[np.float64] = field(init=False, repr=False)
    _precision: ClassVar[type] = np.float64
    _rule: ClassVar[int]

    def parameters(self) -> tuple[float, float]:
        """The two numbers that the rule's α and β depend on."""
        raise NotImplementedError

    def start_at(self, weights: npt.ArrayLike, variance: float = 1.0) -> Self:
        """Forget everything and go on from these weights; the smaller the variance, the surer they are taken to be."""
        super().start_at(weights)
        self.covariance_ = variance * np.eye(len(self.weights_))
        return self

    def _go_through(self, rows: Floats, signs: Floats) -> None:
        _learn(rows, signs, self._rule, *self.parameters(), self.seen_, self.weights_, self.covariance_, self._drift)


@dataclass
class AROW(SecondOrderRanker):
    """Adaptive regularisation of weights; the larger r, the more cautious."""

    r: float = 1.0
    _rule: ClassVar[int] = _AROW

    def parameters(self) -> tuple[float, float]:
        return self.r, 0.0


@dataclass
class SCW(SecondOrderRanker):
    """Soft confidence-weighted, variant I: a triplet should hold with probability `confidence`; C caps the step."""

    C: float = 0.1
    confidence: float = 0.75
    _rule: ClassVar[int] = _SCW

    def parameters(self) -> tuple[float, float]:
        if not 0.5 < self.confidence < 1:
            raise DataError(f"The confidence of SCW must lie between 0.5 and 1, not at {self.confidence}.")
        from scipy.special import ndtri  # slow to import

        return self.C, float(ndtri(self.confidence))


@njit(cache=True, error_model="numpy")
def _step(rule: int, first: float, second: float, margin: float, variance: float) -> tuple[float, float]:
    """(α, β) of one triplet: how far the weights go along Σx, and how much Σ shrinks along it."""
    if rule == _AROW:
        beta = 1.0 / (variance + first)
        return max(0.0, 1.0 - margin) * beta, beta if margin < 1.0 else 0.0
    phi, psi, zeta = second, 1.0 + second * second / 2.0, 1.0 + second * second
    root = np.sqrt(margin * margin * phi**4 / 4.0 + variance * phi * phi * zeta)
    alpha = min(first, max(0.0, (root - margin * psi) / (variance * zeta)))
    spread = alpha * variance * phi
    u = 0.25 * (np.sqrt(spread * spread + 4.0 * variance) - spread) ** 2
    return alpha, alpha * phi / (np.sqrt(u) + spread)


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"})
def _learn(  # type: ignore[no-untyped-def]
    rows, signs, rule, first, second, seen, weights, covariance: npt.NDArray[Any], drift: npt.NDArray[Any]
):
    """Go through the triplets once, changing `weights`, `covariance` and `drift` (see `online`) in place."""
    d = rows.shape[1]
    along = np.empty(d)  # Σx
    for t in range(rows.shape[0]):
        margin = 0.0
        for j in range(d):
            margin += weights[j] * rows[t, j]
        margin *= signs[t]
        if rule == _AROW and margin >= 1.0:
            continue
        variance = 0.0
        for i in range(d):
            total = 0.0
            for j in range(d):
                total += covariance[i, j] * rows[t, j]
            along[i] = total
            variance += total * rows[t, i]
        if variance <= 1e-12:  # two items that look the same, or a direction that is settled
            continue
        alpha, beta = _step(rule, first, second, margin, variance)
        if alpha == 0.0:
            continue
        for i in range(d):
            weights[i] += alpha * signs[t] * along[i]
            drift[i] += (seen + t) * alpha * signs[t] * along[i]
            shrink = beta * along[i]
            for j in range(d):
                covariance[i, j] -= shrink * along[j]
