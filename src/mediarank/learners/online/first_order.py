"""Online learning to rank from triplets, first order (paper 003, section 3).

A triplet says that for a query q the item p¹ belongs before p² (y = +1) or after it (y = −1); a learner sees only
Δφ = φ(q, p¹) − φ(q, p²) and y. All four rules add `step · y · Δφ` to the weights and differ in the step alone:
OPR (eq. 1), OPAR-I (eq. 5), OPAR-II (Proposition 1) and OGDR (eq. 7). Each also keeps the average of its weights,
which is far less sensitive to its parameter than the last weights are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.learners.pairwise.triplets import Triplets
from mediarank.types import DataError, Floats

_PERCEPTRON: Final = 0
_PASSIVE_AGGRESSIVE_1: Final = 1
_PASSIVE_AGGRESSIVE_2: Final = 2
_GRADIENT: Final = 3


@dataclass
class TripletLearner:
    """The base of all learners that go through triplets once.

    averaged : rank with the average of all weights so far instead of the last ones
    """

    averaged: bool = True
    weights_: npt.NDArray[Any] = field(init=False, repr=False)
    seen_: int = field(init=False, default=0)
    _drift: npt.NDArray[np.float64] = field(init=False, repr=False)
    _precision: ClassVar[type] = np.float32

    def fit(self, differences: Floats, y: npt.ArrayLike | None = None) -> Self:
        """Forget everything, then learn from the triplets in their order."""
        rows, signs = require_triplets(differences, y)
        return self.start_at(np.zeros(rows.shape[1]))._go_on(rows, signs)

    def start_at(self, weights: npt.ArrayLike) -> Self:
        """Forget everything and go on from these weights instead of from zeros."""
        self.weights_ = np.array(weights, dtype=self._precision)
        self._drift = np.zeros(len(self.weights_))
        self.seen_ = 0
        return self

    def partial_fit(self, differences: Floats, y: npt.ArrayLike | None = None) -> Self:
        """Learn from more triplets. differences : (n, d) Δφ; y : (n,) of ±1, by default all +1"""
        rows, signs = require_triplets(differences, y)
        if not hasattr(self, "weights_"):
            self.start_at(np.zeros(rows.shape[1]))
        if rows.shape[1] != len(self.weights_):
            raise DataError(
                f"This ranker learned {len(self.weights_)} dimensions; the new triplets have {rows.shape[1]}."
            )
        return self._go_on(rows, signs)

    def fit_triplets(self, data: Triplets) -> Self:
        return self.fit(data.differences)

    @property
    def ranking_weights(self) -> Floats:
        """The weights to rank with: the average, or the last ones."""
        if not self.averaged or self.seen_ == 0:
            return self.weights_.astype(np.float32, copy=False)
        return (self.weights_ - self._drift / self.seen_).astype(np.float32)

    def predict(self, phi: Floats) -> Floats:
        """Scores of items by their φ, higher is better. phi : (n, d)"""
        return np.asarray(phi @ self.ranking_weights, dtype=np.float32)

    def _go_on(self, rows: Floats, signs: Floats) -> Self:
        self._go_through(rows, signs)
        self.seen_ += len(rows)
        return self

    def _go_through(self, rows: Floats, signs: Floats) -> None:
        """Change the weights, and the drift by which their average differs from them, triplet after triplet."""
        raise NotImplementedError


@dataclass
class OnlineRanker(TripletLearner):
    """The base of the paper's four rules."""

    _rule: ClassVar[int]

    def parameter(self) -> float:
        """The number that the rule's step depends on."""
        raise NotImplementedError

    def _go_through(self, rows: Floats, signs: Floats) -> None:
        parameter = np.float32(self.parameter())
        _learn(rows, signs, self._rule, parameter, self.averaged, self.seen_, self.weights_, self._drift)


@dataclass
class OPR(OnlineRanker):
    """Online Perceptron Ranking: a full step whenever the order is wrong or undecided (eq. 1, with ≤).

    >>> OPR(averaged=False).fit(np.float32([[1, 0], [0, 2], [1, -1]])).weights_.tolist()
    [2.0, 1.0]
    """

    _rule: ClassVar[int] = _PERCEPTRON

    def parameter(self) -> float:
        return 1.0


@dataclass
class OPAR1(OnlineRanker):
    """Passive-aggressive ranking with a linear penalty: step min(C, ℓ/‖Δφ‖²) (eq. 5)."""

    C: float = 0.1
    _rule: ClassVar[int] = _PASSIVE_AGGRESSIVE_1

    def parameter(self) -> float:
        return self.C


@dataclass
class OPAR2(OnlineRanker):
    """Passive-aggressive ranking with a squared penalty: step ℓ/(‖Δφ‖² + 1/2C) (Proposition 1)."""

    C: float = 0.1
    _rule: ClassVar[int] = _PASSIVE_AGGRESSIVE_2

    def parameter(self) -> float:
        return 0.5 / self.C


@dataclass
class OGDR(OnlineRanker):
    """Online gradient descent on the hinge loss with a fixed rate η (eq. 7)."""

    eta: float = 0.01
    _rule: ClassVar[int] = _GRADIENT

    def parameter(self) -> float:
        return self.eta


def require_triplets(differences: Floats, y: npt.ArrayLike | None) -> tuple[Floats, Floats]:
    """Contiguous float32 rows and signs, or an error that says what is wrong."""
    rows = np.ascontiguousarray(differences, dtype=np.float32)
    if rows.ndim != 2:
        raise DataError(f"Triplets are rows of differences of φ, (n, d), not an array of shape {rows.shape}.")
    signs = np.ones(len(rows), np.float32) if y is None else np.ascontiguousarray(y, dtype=np.float32)
    if signs.shape != (len(rows),) or not _all_signs(signs):
        raise DataError(f"y must hold one +1 or -1 for each of the {len(rows)} triplets.")
    return rows, signs


@njit(cache=True)
def _all_signs(signs: npt.NDArray[Any]) -> bool:
    good = True
    for sign in signs:
        good &= abs(sign) == 1
    return good


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"})
def _learn(rows, signs, rule, parameter, averaged, seen, weights, drift):  # type: ignore[no-untyped-def]
    """Go through the triplets once, changing `weights` and `drift` in place.

    drift : Σ over updates of (triplets before it) × update, so that the average is weights − drift / triplets
    """
    for t in range(rows.shape[0]):
        dot = np.float32(0)
        for j in range(rows.shape[1]):
            dot += weights[j] * rows[t, j]
        margin = signs[t] * dot
        if margin >= 1 or (rule == _PERCEPTRON and margin > 0):
            continue
        step = parameter
        if rule in (_PASSIVE_AGGRESSIVE_1, _PASSIVE_AGGRESSIVE_2):
            square = np.float32(0)
            for j in range(rows.shape[1]):
                square += rows[t, j] * rows[t, j]
            if square == 0:  # two items that look the same teach nothing
                continue
            if rule == _PASSIVE_AGGRESSIVE_1:
                step = min(parameter, (1 - margin) / square)
            else:
                step = (1 - margin) / (square + parameter)
        step *= signs[t]
        for j in range(rows.shape[1]):
            weights[j] += step * rows[t, j]
        if averaged:
            weight = np.float64(step) * (seen + t)
            for j in range(rows.shape[1]):
                drift[j] += weight * rows[t, j]
