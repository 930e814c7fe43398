"""Whitening by what differs within classes: a linear map after which cosines look past it.

Directions in which items of one class differ much say little about classes; the map shrinks them (within-class
covariance normalisation, Hatch et al. 2006). It is fitted on classes that are known and carries over to others. The
covariance is regularised by a multiple of its mean variance, and only the strongest directions are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, eigh, solve_triangular
from threadpoolctl import threadpool_limits

from mediarank.types import DataError, Floats

RIDGE: Final = 10.0
"""Added to the covariance, in multiples of its mean variance."""
DIRECTIONS: Final = 128


@dataclass(frozen=True, eq=False)
class Whitening:
    """features : the types whose unit vectors are joined; mean (d,); map (d, directions)"""

    features: tuple[str, ...]
    mean: Floats
    map: Floats

    def apply(self, rows: Mapping[str, Floats]) -> Floats:
        """(items, directions); each item on its own, so that the digits don't depend on what else is asked."""
        centred = joined([rows[name] for name in self.features]) - self.mean
        found = np.empty((len(centred), self.map.shape[1]), np.float32)
        with threadpool_limits(1, user_api="blas"):
            for k, row in enumerate(centred):
                found[k] = row @ self.map
        return found


def fit_whitening(
    features: Sequence[str],
    rows: Sequence[Floats],
    classes: npt.ArrayLike,
    ridge: float = RIDGE,
    directions: int = DIRECTIONS,
) -> Whitening:
    """rows : (n, d_k) for each type, of items with these classes (n,)"""
    vectors = joined(rows)
    labels = np.unique(np.asarray(classes), return_inverse=True)[1]
    if len(vectors) != len(labels) or len(vectors) < 2:
        raise DataError(f"{len(vectors)} rows with {len(labels)} classes can't be whitened; give two or more of each.")
    mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    with threadpool_limits(1, user_api="blas"):  # the same digits on any number of cores
        centred = vectors - mean
        sums = np.zeros((labels.max() + 1, vectors.shape[1]))
        np.add.at(sums, labels, centred)
        within = centred - (sums / np.bincount(labels)[:, None]).astype(np.float32)[labels]
        covariance = (within.T @ within).astype(np.float64) / len(within)
        variance = float(np.trace(covariance)) / len(covariance)
        covariance[np.diag_indices_from(covariance)] += ridge * variance if variance > 0 else 1.0
        lower = cholesky(covariance, lower=True)
        spread = solve_triangular(lower, centred.T.astype(np.float64), lower=True)  # any root of the inverse will do
        count = min(directions, len(covariance))
        last = len(covariance) - 1
        _, axes = eigh(spread @ spread.T, subset_by_index=[last - count + 1, last])
        found = solve_triangular(lower, axes[:, ::-1], lower=True, trans="T")
    return Whitening(tuple(features), mean, np.ascontiguousarray(found, dtype=np.float32))


def joined(rows: Sequence[Floats]) -> Floats:
    """The types side by side, every row of each at length 1; a row of zeros stays."""
    parts: list[npt.NDArray[Any]] = []
    for matrix in rows:
        lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))[:, None]
        parts.append(np.asarray(matrix / np.maximum(lengths, 1e-12), dtype=np.float32))
    return np.concatenate(parts, axis=1)
