"""χ² distances between histograms: `Σ_d (x_d − z_d)² / (x_d + z_d)`, where bins that are empty in both count 0.

Division takes most of the time, so the innermost loop shares one between two bins, `a/b + c/d = (ad + cb)/(bd)`.
Nothing in it prevents vectorisation: empty bins are raised to a tiny value beforehand instead of being tested for, and
an odd bin gets an empty partner.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.similarity.tiles import VECTORISED, Matrix, as_rows, fill
from mediarank.types import DataError

TINY: Final = 1e-18
"""Stands for an empty bin: smaller than any value of a histogram, and the product of two is still a float32."""
LARGEST: Final = 1e12
"""Beyond this the product of three values would overflow float32."""


def chi2_distances(X: npt.ArrayLike, Z: npt.ArrayLike | None = None) -> Matrix:
    """χ² distances between the rows of `X` (n, d) and of `Z` (m, d), or among those of `X`; no value may be negative.

    >>> chi2_distances([[1.0, 0.0], [0.5, 0.5]])
    array([[0.        , 0.66666667],
           [0.66666667, 0.        ]])
    """
    rows, columns = as_rows(X, Z)
    return fill(_chi2_tile, _histograms(rows), None if columns is None else _histograms(columns))


def _histograms(rows: Matrix) -> Matrix:
    """A copy without zeros and with an even number of bins."""
    if rows.size and not (rows.min() >= 0 and rows.max() <= LARGEST):  # also catches NaN
        raise DataError(
            f"χ² distances are between histograms, but negative values, undefined ones or some above {LARGEST:g} were "
            "found; use a linear or an RBF kernel for such features."
        )
    bins = rows.shape[1]
    lifted = np.full((len(rows), bins + bins % 2), TINY, dtype=rows.dtype)
    np.maximum(rows, rows.dtype.type(TINY), out=lifted[:, :bins])
    return lifted


@njit(cache=True, nogil=True, error_model="numpy", fastmath=VECTORISED)
def _chi2_tile(X: Any, Z: Any, out: Any) -> None:
    """Two rows of X at a time against each of Z; if their number is odd, the last is computed twice."""
    half = X.shape[1] // 2
    for i in range(0, X.shape[0], 2):
        k = min(i + 1, X.shape[0] - 1)
        a, b, c, d = X[i, :half], X[i, half:], X[k, :half], X[k, half:]
        for j in range(Z.shape[0]):
            e, f = Z[j, :half], Z[j, half:]
            first = second = X.dtype.type(0)
            for n in range(half):
                s, t, u, v = a[n] + e[n], b[n] + f[n], a[n] - e[n], b[n] - f[n]
                first += (u * u * t + v * v * s) / (s * t)
                s, t, u, v = c[n] + e[n], d[n] + f[n], c[n] - e[n], d[n] - f[n]
                second += (u * u * t + v * v * s) / (s * t)
            out[i, j], out[k, j] = first, second
