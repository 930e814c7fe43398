"""Kernels between rows of features: linear, RBF, intersection and exponential χ².

Each is a function `(X, Z=None, **params) -> array` as in scikit-learn, float32 for float32 input, computed in tiles
(see `tiles.py`); `KERNELS` names them. The two that decay with a distance are made by `decay(distances, gamma)`, so
that a search over γ computes the distances once; `DISTANCES` names the distance of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.fanout import on_threads
from mediarank.similarity.chi2 import chi2_distances
from mediarank.similarity.tiles import VECTORISED, Matrix, as_rows, fill
from mediarank.types import ConfigError, DataError


def linear(X: npt.ArrayLike, Z: npt.ArrayLike | None = None) -> Matrix:
    """Dot products `x·z`."""
    return fill(_dot_tile, *as_rows(X, Z))


def intersection(X: npt.ArrayLike, Z: npt.ArrayLike | None = None) -> Matrix:
    """What two histograms share, `Σ_d min(x_d, z_d)`; it is a kernel for values of 0 and above.

    >>> intersection([[1.0, 0.0], [0.5, 0.5]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    rows, columns = as_rows(X, Z)
    if any(m is not None and m.size and not m.min() >= 0 for m in (rows, columns)):
        raise DataError("The intersection kernel is for histograms, but negative or undefined values were found.")
    return fill(_intersection_tile, _padded(rows), None if columns is None else _padded(columns))


def rbf(X: npt.ArrayLike, Z: npt.ArrayLike | None = None, *, gamma: float) -> Matrix:
    """`exp(−γ ‖x − z‖²)`."""
    return decay(squared_distances(X, Z), gamma)


def exponential_chi2(X: npt.ArrayLike, Z: npt.ArrayLike | None = None, *, gamma: float) -> Matrix:
    """`exp(−γ Σ_d (x_d − z_d)²/(x_d + z_d))`, the kernel of Zhang et al. (2007) for histograms."""
    return decay(chi2_distances(X, Z), gamma)


KERNELS: Final[Mapping[str, Callable[..., Matrix]]] = {
    "linear": linear,
    "rbf": rbf,
    "intersection": intersection,
    "exponential_chi2": exponential_chi2,
}


def squared_distances(X: npt.ArrayLike, Z: npt.ArrayLike | None = None) -> Matrix:
    """Squared Euclidean distances; between equal rows they are exactly 0."""
    return fill(_square_tile, *as_rows(X, Z))


DISTANCES: Final[Mapping[str, Callable[..., Matrix]]] = {"rbf": squared_distances, "exponential_chi2": chi2_distances}


def decay(distances: Matrix, gamma: float) -> Matrix:
    """`exp(−γ D)`, as a new matrix."""
    if not (np.isfinite(gamma) and gamma > 0):
        raise ConfigError(f"gamma must be finite and positive, not {gamma}; gamma_of_mean(distances) is a good start.")
    rows = 256
    values = np.empty_like(distances)

    def compute(start: int) -> None:
        block = slice(start, start + rows)
        np.multiply(distances[block], -gamma, out=values[block])
        np.exp(values[block], out=values[block])

    on_threads(compute, list(range(0, len(distances), rows)))
    return values


def gamma_of_mean(distances: Matrix) -> float:
    """1 / the mean distance between different training items: kernel values then centre on 1/e whatever the feature.

    Where all items coincide any γ gives a kernel of ones; 1 is returned.
    """
    n = len(distances)
    mean = float(np.sum(distances, dtype=np.float64)) / max(n * (n - 1), 1)
    return 1.0 / mean if mean > 0 else 1.0


def _dot_tile(X: Matrix, Z: Matrix, out: Matrix) -> None:
    np.matmul(X, Z.T, out=out)


def _padded(rows: Matrix, multiple: int = 32) -> Matrix:
    """Append columns of zeros, which add nothing, so that the kernel's loop has no remainder."""
    return np.pad(rows, ((0, 0), (0, -rows.shape[1] % multiple)))


@njit(cache=True, nogil=True, error_model="numpy", fastmath=VECTORISED)
def _intersection_tile(X: Any, Z: Any, out: Any) -> None:
    """Four rows of Z at a time, so that a row of X is read once for all four."""
    last = Z.shape[0] - 1
    for i in range(X.shape[0]):
        x = X[i]
        for j in range(0, Z.shape[0], 4):
            # the last four may overlap those before: computed twice, to the same value
            k = max(min(j, last - 3), 0)
            z0, z1, z2, z3 = Z[k], Z[min(k + 1, last)], Z[min(k + 2, last)], Z[min(k + 3, last)]
            s0 = s1 = s2 = s3 = X.dtype.type(0)
            for d in range(X.shape[1]):
                s0 += min(x[d], z0[d])
                s1 += min(x[d], z1[d])
                s2 += min(x[d], z2[d])
                s3 += min(x[d], z3[d])
            sums = (s0, s1, s2, s3)
            for place in range(min(4, Z.shape[0])):
                out[i, k + place] = sums[place]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=VECTORISED)
def _square_tile(X: Any, Z: Any, out: Any) -> None:
    for i in range(X.shape[0]):
        for j in range(Z.shape[0]):
            total = X.dtype.type(0)
            for d in range(X.shape[1]):
                gap = X[i, d] - Z[j, d]
                total += gap * gap
            out[i, j] = total
