"""Scale φ so that its dimensions can be added: zero mean and unit deviation over sampled training pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mediarank.similarity.phi import phi_over_types
from mediarank.types import Floats


@dataclass(frozen=True)
class PhiScaler:
    """mean, deviation : one number per dimension of φ; a constant dimension stays 0"""

    mean: Floats
    deviation: Floats

    def apply(self, values: Floats) -> Floats:
        scaled = np.asarray(values - self.mean, dtype=np.float32)
        scaled /= self.deviation
        return scaled

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
