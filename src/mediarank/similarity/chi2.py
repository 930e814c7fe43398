"""χ² distances between histograms: `Σ_d (x_d − z_d)² / (x_d + z_d)`, bins that are empty in both counting 0.

The innermost loop is one division an element and nothing else that could stop it from being vectorised: empty bins
are lifted to a tiny value beforehand instead of being tested for.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.similarity.tiles import VECTORISED, Matrix, as_rows, fill
from mediarank.types import DataError

TINY: Final = 1e-30
"""Stands in for an empty bin: so small that a bin's share of the distance changes by less than it."""


def chi2_distances(X: npt.ArrayLike, Z: npt.ArrayLike | None = None) -> Matrix:
    """χ² distances between the rows of `X` (n, d) and of `Z` (m, d), or among those of `X`; no value may be negative.

    >>> chi2_distances([[1.0, 0.0], [0.5, 0.5]])
    array([[0.        , 0.66666667],
           [0.66666667, 0.        ]])
    """
    rows, columns = as_rows(X, Z)
    return fill(_chi2_tile, _histograms(rows), None if columns is None else _histograms(columns))


def _histograms(rows: Matrix) -> Matrix:
    if rows.size and not rows.min() >= 0:  # also catches NaN
        raise DataError(
            "χ² distances are between histograms, but negative or undefined values were found; use a linear or an "
            "RBF kernel for signed features."
        )
    return np.maximum(rows, rows.dtype.type(TINY))


@njit(cache=True, nogil=True, error_model="numpy", fastmath=VECTORISED)
def _chi2_tile(X: Any, Z: Any, out: Any) -> None:
    for i in range(X.shape[0]):
        for j in range(Z.shape[0]):
            total = X.dtype.type(0)
            for d in range(X.shape[1]):
                gap = X[i, d] - Z[j, d]
                total += gap * gap / (X[i, d] + Z[j, d])
            out[i, j] = total
