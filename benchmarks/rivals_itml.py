"""Information-theoretic metric learning (Davis et al., ICML 2007): a Mahalanobis distance that brings similar items
together and keeps dissimilar ones apart while staying close to the Euclidean one.

Bregman projections onto one constraint after another, each a rank-one change of the metric. Every change lies in the
span of the items' differences, so with more columns than items the metric is learned in that span and is the identity
outside of it: the same result for a fraction of the work. FG-LocalPair uses it to find analogous pairs of images; it
is fitted on training images alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from sklearn.base import BaseEstimator

from mediarank.learners.pairwise.ordered_pairs import Positions
from mediarank.types import DataError

Matrix = npt.NDArray[np.float64]


class ITML(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Learn A so that `(x − z)ᵀA(x − z)` is below `u` for similar and above `l` for dissimilar pairs, with slack.

    gamma : how strongly constraints are enforced against closeness to the identity
    percentiles : u and l are these percentiles of the squared Euclidean distances among the items
    basis_ (d, r) : of the span in which A differs from the identity; `inner_` (r, r) : A in terms of it
    sweeps_, converged_ : how the projections ended
    """

    def __init__(
        self,
        gamma: float = 1.0,
        percentiles: tuple[float, float] = (5.0, 95.0),
        tol: float = 1e-3,
        max_sweeps: int = 100,
        seed: int = 0,
    ) -> None:
        self.gamma = gamma
        self.percentiles = percentiles
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.seed = seed

    def fit(self, X: npt.ArrayLike, similar: Positions, dissimilar: Positions) -> ITML:
        """Learn from features (n, d) and pairs of rows (m, 2) of each kind."""
        rows = np.asarray(X, dtype=np.float64)
        both = np.concatenate([similar.reshape(-1, 2), dissimilar.reshape(-1, 2)])
        if not len(both):
            raise DataError("A metric is learned from pairs, but there is neither a similar nor a dissimilar one.")
        near, far = self._bounds(rows)
        sign = np.repeat([1.0, -1.0], [len(both) - len(dissimilar), len(dissimilar)])
        self.basis_ = _span(rows)
        inside = rows @ self.basis_
        differences = inside[both[:, 0]] - inside[both[:, 1]]
        useful = np.abs(differences).max(axis=1) > 0  # equal rows are as near as can be, and no metric parts them
        differences, sign = differences[useful], sign[useful]
        bounds = np.where(sign > 0, near, far)
        multipliers = np.zeros(len(sign))
        self.inner_ = np.eye(self.basis_.shape[1])
        self.sweeps_, self.converged_ = 0, not len(sign)
        rng = np.random.default_rng(self.seed)
        while not self.converged_ and self.sweeps_ < self.max_sweeps:
            before = multipliers.copy()
            order = rng.permutation(len(sign))
            _project(self.inner_, differences, sign, order, bounds, multipliers, self.gamma)
            self.sweeps_ += 1
            size = float(np.linalg.norm(before) + np.linalg.norm(multipliers))
            self.converged_ = bool(np.abs(multipliers - before).sum() <= self.tol * max(size, 1e-12))
        return self

    def transform(self, X: npt.ArrayLike) -> Matrix:
        """Rows (n, d) whose Euclidean distances are the learned ones."""
        rows = np.asarray(X, dtype=np.float64)
        moved = np.linalg.cholesky(self.inner_) - np.eye(len(self.inner_))
        return rows + rows @ self.basis_ @ moved @ self.basis_.T

    @property
    def metric_(self) -> Matrix:
        """A (d, d), positive definite."""
        d = len(self.basis_)
        return np.eye(d) + self.basis_ @ (self.inner_ - np.eye(len(self.inner_))) @ self.basis_.T

    def _bounds(self, rows: Matrix) -> tuple[float, float]:
        gram = rows @ rows.T
        squared = np.diag(gram)[:, None] + np.diag(gram)[None, :] - 2 * gram
        low, high = np.percentile(squared[np.triu_indices(len(rows), k=1)], self.percentiles)
        if not high > 0:
            raise DataError("All items have the same features: no metric can tell them apart.")
        return max(float(low), 1e-9 * float(high)), float(high)


def _span(rows: Matrix) -> Matrix:
    """An orthonormal basis (d, r) of the rows' differences; all of space where there are more rows than columns."""
    if rows.shape[1] < len(rows):
        return np.eye(rows.shape[1])
    _, sizes, directions = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    return np.ascontiguousarray(directions[sizes > 1e-9 * sizes[0]].T)


@njit(cache=True, error_model="numpy")
def _project(A: Any, differences: Any, sign: Any, order: Any, bounds: Any, multipliers: Any, gamma: float) -> None:
    """Algorithm 1 of the paper, once over all constraints; `bounds` are its ξ, `multipliers` its λ."""
    Av = np.empty(A.shape[0])
    for c in order:
        v = differences[c]
        Av[:] = A @ v
        p = Av @ v
        if p <= 0.0:
            continue
        # From 1/p' = 1/p − δα and 1/ξ' = 1/ξ + δα/γ, to meet at p' = ξ'; as printed it holds for γ = 1 alone.
        alpha = min(multipliers[c], sign[c] * gamma / (gamma + 1) * (1 / p - 1 / bounds[c]))
        beta = sign[c] * alpha / (1 - sign[c] * alpha * p)
        bounds[c] = gamma * bounds[c] / (gamma + sign[c] * alpha * bounds[c])
        multipliers[c] -= alpha
        for i in range(A.shape[0]):
            scaled = beta * Av[i]
            for j in range(A.shape[0]):
                A[i, j] += scaled * Av[j]
