"""Several kernels over the same items, with the operations of learners: solve, measure contributions, score.

`GramStack` holds Gram matrices: exact, n² numbers per kernel. `MapStack` holds per kernel a map of items to columns
whose dot products are the kernel (exactly, or nearly: see `similarity/nystroem.py`): m numbers per item and kernel, for
more items than a Gram matrix can hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve
from threadpoolctl import threadpool_limits

from mediarank.learners.pairwise.linear_ranksvm import solve_rows
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs, Positions
from mediarank.learners.pairwise.ranksvm import Descent, DualSolution, solve_gram
from mediarank.types import DataError, Doubles

Matrix = npt.NDArray[np.floating[Any]]


class KernelStack(Protocol):
    """`coef` is a solution's coefficients: β over items for Gram matrices, v over columns for maps."""

    def __len__(self) -> int:
        """How many kernels."""

    def solve(self, weights: Doubles, pairs: OrderedPairs, descent: Descent, start: Doubles | None) -> DualSolution:
        """RankSVM with the kernel `Σ_k weights_k K_k`."""

    def ridge(self, weights: Doubles, targets: Doubles, penalty: float) -> Doubles:
        """Coefficients (…, c) of ridge regression of targets (n, c) with the kernel `Σ_k weights_k K_k`."""

    def energies(self, coef: Doubles) -> Doubles:
        """`αᵀQ_kα = βᵀK_kβ` of each kernel."""

    def scores(self, weights: Doubles, coef: Doubles) -> Doubles:
        """`Σ_k weights_k K_k β`: a score per item, or a row of them where `coef` has several columns."""

    def by_kernel(self, weights: Doubles, coef: Doubles) -> list[Doubles]:
        """The factors of each kernel's columns when scoring."""

    def take(self, rows: Positions, columns: Positions) -> KernelStack:
        """Some items against others, so that cross-validation's folds share what was computed once."""

    def only(self, kernel: int) -> KernelStack:
        """One kernel alone."""


class GramStack:
    """Gram matrices (t, n, n) among training items or, for scoring alone, (t, m, n) of other items with them."""

    def __init__(self, grams: Sequence[Matrix] | Matrix) -> None:
        self.grams = np.asarray(grams)
        if self.grams.ndim != 3:
            raise DataError("A stack of kernels needs matrices of one shape, one per kernel.")

    def __len__(self) -> int:
        return len(self.grams)

    def solve(self, weights: Doubles, pairs: OrderedPairs, descent: Descent, start: Doubles | None) -> DualSolution:
        return solve_gram(np.tensordot(weights, self.grams, axes=1), pairs, descent, start)

    def ridge(self, weights: Doubles, targets: Doubles, penalty: float) -> Doubles:
        return _solve(np.tensordot(weights, self.grams, axes=1), targets, penalty)

    def energies(self, coef: Doubles) -> Doubles:
        return np.asarray((self.grams @ coef) @ coef, dtype=np.float64)

    def scores(self, weights: Doubles, coef: Doubles) -> Doubles:
        return np.asarray(np.tensordot(weights, self.grams @ coef, axes=1), dtype=np.float64)

    def by_kernel(self, weights: Doubles, coef: Doubles) -> list[Doubles]:
        return [weight * coef for weight in weights]

    def take(self, rows: Positions, columns: Positions) -> GramStack:
        return GramStack(self.grams[:, rows[:, None], columns[None, :]])

    def only(self, kernel: int) -> GramStack:
        return GramStack(self.grams[kernel : kernel + 1])


class MapStack:
    """One map per kernel, each (n, m_k); `K_k = Φ_k Φ_kᵀ`."""

    def __init__(self, maps: Sequence[Matrix]) -> None:
        if len({len(one) for one in maps}) != 1:
            raise DataError("A stack of kernels needs maps of the same items, one per kernel.")
        self.widths = [one.shape[1] for one in maps]
        self.columns = np.concatenate(maps, axis=1)
        self.kernel_of = np.repeat(np.arange(len(maps)), self.widths)

    def __len__(self) -> int:
        return len(self.widths)

    def solve(self, weights: Doubles, pairs: OrderedPairs, descent: Descent, start: Doubles | None) -> DualSolution:
        return solve_rows(self.columns, pairs, descent, start, column_weights=weights[self.kernel_of])

    def ridge(self, weights: Doubles, targets: Doubles, penalty: float) -> Doubles:
        """v with `D v` the direction: (D½ΦᵀΦD½ + λI) D½v = D½Φᵀ targets, D the columns' weights."""
        roots = np.sqrt(weights)[self.kernel_of][:, None]
        rows = self.columns.T.astype(np.float64) * roots
        direction = _solve(rows @ rows.T, rows @ targets, penalty)
        return np.asarray(np.divide(direction, roots, out=np.zeros_like(direction), where=roots > 0))

    def energies(self, coef: Doubles) -> Doubles:
        return np.asarray(np.bincount(self.kernel_of, coef**2, len(self)), dtype=np.float64)

    def scores(self, weights: Doubles, coef: Doubles) -> Doubles:
        return np.asarray(self.columns @ self._direction(weights, coef), dtype=np.float64)

    def by_kernel(self, weights: Doubles, coef: Doubles) -> list[Doubles]:
        return np.split(self._direction(weights, coef), np.cumsum(self.widths)[:-1])

    def _direction(self, weights: Doubles, coef: Doubles) -> Doubles:
        return np.asarray((weights[self.kernel_of] * coef.T).T)

    def take(self, rows: Positions, columns: Positions) -> MapStack:
        """Only rows matter: columns belong to landmarks, not to items."""
        return MapStack(self._split(self.columns[rows]))

    def only(self, kernel: int) -> MapStack:
        return MapStack([self._split(self.columns)[kernel]])

    def _split(self, values: Matrix) -> list[Any]:
        """The part of each kernel, of an array whose last axis runs over the columns."""
        return np.split(values, np.cumsum(self.widths)[:-1], axis=-1)


def _solve(matrix: Doubles, right: Doubles, penalty: float) -> Doubles:
    """(matrix + penalty I)⁻¹ right, of a positive semidefinite matrix; on one thread, for the same digits anywhere."""
    with threadpool_limits(1, user_api="blas"):
        shifted = matrix.astype(np.float64) + penalty * np.eye(len(matrix))
        return np.asarray(solve(shifted, right, assume_a="pos"))
