"""Scale φ so that its dimensions can be added: zero mean and unit deviation over sampled training pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.similarity.phi import phi_over_types
from mediarank.types import DataError, Floats


@dataclass(frozen=True)
class PhiScaler:
    """mean, deviation : one number per dimension of φ; a constant dimension stays 0"""

    mean: Floats
    deviation: Floats

    def apply(self, values: Floats, out: Floats | None = None) -> Floats:
        """Scaled φ. values : (..., d); out : where to write it, possibly `values` itself; a new array by default"""
        if out is None:
            out = np.empty(values.shape, dtype=np.float32)
        if out.shape != values.shape or not out.flags.c_contiguous:
            raise DataError(
                f"Scaled φ of shape {values.shape} needs a contiguous array of this shape to be written to."
            )
        d = values.shape[-1]
        _scale(values.reshape(-1, d), self.mean, self.deviation, out.reshape(-1, d))
        return out

    def unscaled(self, weights: Floats) -> tuple[Floats, float]:
        """(v, c) such that `v · φ + c` equals `weights` times scaled φ, so that a search need not scale any row."""
        v = weights.astype(np.float64) / self.deviation
        return v.astype(np.float32), float(-(v @ self.mean.astype(np.float64)))


def fit_scaler(
    matrices: Sequence[Floats],
    pairs: int,
    rng: np.random.Generator,
    asked: Sequence[Floats] | None = None,
    training: npt.NDArray[np.intp] | None = None,
) -> PhiScaler:
    """Fit to about `pairs` random pairs of distinct training rows; each drawn query is paired with up to 200 others.

    asked : the rows as queries, where they differ
    training : the numbers of the training rows; all by default
    """
    among = np.arange(len(matrices[0])) if training is None else training
    others = min(200, len(among) - 1)
    queries = rng.choice(len(among), size=min(len(among), max(1, pairs // others)), replace=False)
    samples = [_against_others(int(q), asked or matrices, matrices, among, others, rng) for q in queries]
    values = np.concatenate(samples).astype(np.float64)
    deviation = values.std(axis=0)
    return PhiScaler(
        values.mean(axis=0).astype(np.float32), np.where(deviation > 1e-9, deviation, np.inf).astype(np.float32)
    )


def _against_others(
    query: int,
    asked: Sequence[Floats],
    matrices: Sequence[Floats],
    among: npt.NDArray[np.intp],
    others: int,
    rng: np.random.Generator,
) -> Floats:
    drawn = rng.choice(len(among) - 1, size=others, replace=False)
    rows: npt.NDArray[Any] = among[drawn + (drawn >= query)]
    return phi_over_types([m[among[query]] for m in asked], [m[rows] for m in matrices])


@njit(cache=True, nogil=True, error_model="numpy")
def _scale(values: Any, mean: Any, deviation: Any, out: Any) -> None:
    """One pass; numpy takes two, and three times as long for rows of a dozen numbers."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[i, j] = (values[i, j] - mean[j]) / deviation[j]
