"""Relative attributes (Parikh & Grauman, ICCV 2011): one linear ranking function per attribute.

Minimises `½‖w‖² + C (Σ ξ² + Σ γ²)` with `w·x_i ≥ w·x_j + 1 − ξ` for ordered pairs and `|w·x_i − w·x_j| ≤ γ` for pairs
of equal strength. The authors use Newton steps in the primal; the dual descent here reaches the same minimum.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from mediarank.learners.pairwise.linear_ranksvm import solve_rows
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs, Positions
from mediarank.learners.pairwise.ranksvm import Descent
from mediarank.types import Doubles


class RelativeAttributes(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """coef_ : w (d,); `gap_`, `converged_` : how the descent ended."""

    def __init__(self, C: float = 0.1, tol: float = 1e-3, max_sweeps: int = 300, seed: int = 0) -> None:
        self.C = C
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.seed = seed

    def fit(self, X: npt.ArrayLike, pairs: OrderedPairs, equal: Positions | None = None) -> RelativeAttributes:
        """Learn from features (n, d), ordered pairs of rows and, if there are any, pairs (m, 2) of equal strength."""
        descent = Descent(self.C, "l2", self.tol, self.max_sweeps, self.seed)
        rows = np.asarray(X, dtype=np.float64)
        basis = _span(rows) if rows.shape[1] > len(rows) else np.eye(rows.shape[1])
        solution = solve_rows(rows @ basis, pairs, descent, equal=equal)
        self.coef_, self.gap_, self.converged_ = basis @ solution.coef, solution.gap, solution.gap <= self.tol
        return self

    def predict(self, X: npt.ArrayLike) -> Doubles:
        return np.asarray(np.asarray(X) @ self.coef_, dtype=np.float64)


def _span(rows: Doubles) -> Doubles:
    """An orthonormal basis (d, r) of the items' span, in which w lies: the same problem with fewer columns."""
    sizes, turned = np.linalg.eigh(rows @ rows.T)
    kept = sizes > 1e-10 * sizes[-1]
    return np.asarray(rows.T @ (turned[:, kept] / np.sqrt(sizes[kept])))
