"""Several kernels over the same items, seen the three ways RankMKL needs them: solve for given weights, measure what
each kernel contributes, score.

`GramStack` holds Gram matrices: exact, n² numbers a kernel. `MapStack` holds for each kernel a map of items to columns
whose dot products are the kernel (exactly, or nearly: see `similarity/nystroem.py`): m numbers an item and kernel, for
more items than a Gram matrix can hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

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

    def energies(self, coef: Doubles) -> Doubles:
        """`αᵀQ_kα = βᵀK_kβ` of each kernel."""

    def scores(self, weights: Doubles, coef: Doubles) -> Doubles:
        """`Σ_k weights_k K_k β`, one score an item."""

    def by_kernel(self, weights: Doubles, coef: Doubles) -> list[Doubles]:
        """What scoring multiplies each kernel's columns by."""

    def take(self, rows: Positions, columns: Positions) -> KernelStack:
        """Some items against others: how cross-validation's folds share what was computed once."""

    def only(self, kernel: int) -> KernelStack:
        """One kernel alone."""


class GramStack:
    """Gram matrices (t, n, n) among training items or, for scoring alone, (t, m, n) of other items with them."""

    def __init__(self, grams: Sequence[Matrix] | Matrix) -> None:
        self.grams = np.asarray(grams)
        if self.grams.ndim != 3:
            raise DataError("A stack of kernels needs matrices of one shape, one a kernel.")

    def __len__(self) -> int:
        return len(self.grams)

    def solve(self, weights: Doubles, pairs: OrderedPairs, descent: Descent, start: Doubles | None) -> DualSolution:
        return solve_gram(np.tensordot(weights, self.grams, axes=1), pairs, descent, start)

    def energies(self, coef: Doubles) -> Doubles:
        return np.asarray((self.grams @ coef) @ coef, dtype=np.float64)

    def scores(self, weights: Doubles, coef: Doubles) -> Doubles:
        return np.asarray(weights @ (self.grams @ coef), dtype=np.float64)

    def by_kernel(self, weights: Doubles, coef: Doubles) -> list[Doubles]:
        return [weight * coef for weight in weights]

    def take(self, rows: Positions, columns: Positions) -> GramStack:
        return GramStack(self.grams[:, rows[:, None], columns[None, :]])

    def only(self, kernel: int) -> GramStack:
        return GramStack(self.grams[kernel : kernel + 1])


class MapStack:
    """One map a kernel, each (n, m_k); `K_k = Φ_k Φ_kᵀ`."""

    def __init__(self, maps: Sequence[Matrix]) -> None:
        if len({len(one) for one in maps}) != 1:
            raise DataError("A stack of kernels needs maps of the same items, one a kernel.")
        self.widths = [one.shape[1] for one in maps]
        self.columns = np.concatenate(maps, axis=1)
        self.kernel_of = np.repeat(np.arange(len(maps)), self.widths)

    def __len__(self) -> int:
        return len(self.widths)

    def solve(self, weights: Doubles, pairs: OrderedPairs, descent: Descent, start: Doubles | None) -> DualSolution:
        return solve_rows(self.columns, pairs, descent, start, column_weights=weights[self.kernel_of])

    def energies(self, coef: Doubles) -> Doubles:
        return np.asarray(np.bincount(self.kernel_of, coef**2, len(self)), dtype=np.float64)

    def scores(self, weights: Doubles, coef: Doubles) -> Doubles:
        return np.asarray(self.columns @ (weights[self.kernel_of] * coef), dtype=np.float64)

    def by_kernel(self, weights: Doubles, coef: Doubles) -> list[Doubles]:
        return self._split(weights[self.kernel_of] * coef)

    def take(self, rows: Positions, columns: Positions) -> MapStack:
        """Only rows matter: columns belong to landmarks, not to items."""
        return MapStack(self._split(self.columns[rows]))

    def only(self, kernel: int) -> MapStack:
        return MapStack([self._split(self.columns)[kernel]])

    def _split(self, values: Matrix) -> list[Any]:
        """What belongs to each kernel, of something whose last axis goes over the columns."""
        return np.split(values, np.cumsum(self.widths)[:-1], axis=-1)
