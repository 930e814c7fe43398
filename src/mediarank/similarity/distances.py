"""Distances between rows of features, by name: L1, L2, KL, χ² and cosine (paper 001 uses one per feature type).

Each is a function `(X, Z=None) -> array`, smaller is nearer, computed in tiles on all cores (see `tiles.py`);
`DISTANCES` names them. All but KL are symmetric, and then only half of a square is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.similarity.chi2 import chi2_distances
from mediarank.similarity.kernels import linear, squared_distances
from mediarank.similarity.tiles import VECTORISED, Matrix, as_rows, fill
from mediarank.types import DataError

PRIOR: Final = 1e-3
"""The share of a uniform histogram that KL mixes into both sides: an empty bin must not make a distance infinite."""


def l1_distances(X: npt.ArrayLike, Z: npt.ArrayLike | None = None) -> Matrix:
    """`Σ_d |x_d − z_d|`.

    >>> l1_distances([[1.0, 0.0], [0.5, 0.5]])
    array([[0., 1.],
           [1., 0.]])
    """
    return fill(_l1_tile, *as_rows(X, Z))


def l2_distances(X: npt.ArrayLike, Z: npt.ArrayLike | None = None) -> Matrix:
    """`√Σ_d (x_d − z_d)²`."""
    squares = squared_distances(X, Z)
    return np.sqrt(squares, out=squares)


def kl_distances(X: npt.ArrayLike, Z: npt.ArrayLike | None = None) -> Matrix:
    """`Σ_d p_d log(p_d / q_d)` of histograms p (a row of X) and q (a row of Z); the one distance with a direction.

    Rows are scaled to sum to 1 and mixed with a thousandth of a uniform histogram.
    """
    rows, columns = as_rows(X, Z)
    p = _distributions(rows)
    q = p if columns is None else _distributions(columns)
    logs = np.log(q)
    own = (p * np.log(p)).sum(axis=1, keepdims=True)
    return np.asarray(np.maximum(own - linear(p, logs), 0))  # rounding may leave a distance of 0 just below it


def cosine_distances(X: npt.ArrayLike, Z: npt.ArrayLike | None = None) -> Matrix:
    """`1 − x·z / (|x||z|)`; a row of zeros is at 1 from everything."""
    rows, columns = as_rows(X, Z)
    return np.clip(1 - linear(_directions(rows), None if columns is None else _directions(columns)), 0, 2)


DISTANCES: Final[Mapping[str, Callable[..., Matrix]]] = {
    "l1": l1_distances,
    "l2": l2_distances,
    "kl": kl_distances,
    "chi2": chi2_distances,
    "cosine": cosine_distances,
}


def _distributions(rows: Matrix) -> Matrix:
    if rows.size and not rows.min() >= 0:
        raise DataError("KL compares histograms, but negative or undefined values were found; use l1 or l2.")
    total = rows.sum(axis=1, keepdims=True)
    shares = np.divide(rows, total, out=np.zeros_like(rows), where=total > 0)
    # an empty histogram counts as uniform
    shares = np.where(total > 0, shares, 1 / rows.shape[1])
    return np.asarray((1 - PRIOR) * shares + PRIOR / rows.shape[1], dtype=rows.dtype)


def _directions(rows: Matrix) -> Matrix:
    length = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    return np.asarray(np.divide(rows, length, out=np.zeros_like(rows), where=length > 0))


@njit(cache=True, nogil=True, error_model="numpy", fastmath=VECTORISED)
def _l1_tile(X: Any, Z: Any, out: Any) -> None:
    """Two rows of X at a time against each of Z; if their number is odd, the last is computed twice."""
    for i in range(0, X.shape[0], 2):
        k = min(i + 1, X.shape[0] - 1)
        x, y = X[i], X[k]
        for j in range(Z.shape[0]):
            z = Z[j]
            first = second = X.dtype.type(0)
            for d in range(X.shape[1]):
                first += abs(x[d] - z[d])
                second += abs(y[d] - z[d])
            out[i, j], out[k, j] = first, second
