"""Nyström's approximation: a kernel as dot products of a few columns (Williams & Seeger, 2001).

With landmarks L drawn from the training items, `φ(x) = k(x, L) K_LL^(−½)` gives `φ(x)·φ(z) ≈ k(x, z)`, exactly so for
landmarks themselves and for any kernel of rank at most their number. Training then needs n × m numbers instead of n².
scikit-learn has it too, but calls a kernel that is a function once for every pair of rows.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from mediarank.similarity.tiles import Matrix
from mediarank.types import ConfigError

SMALLEST: Final = 1e-6
"""Directions of the landmarks' kernel with less than this share of its largest eigenvalue are noise, and left out."""


def draw_landmarks(items: int, landmarks: int, seed: int) -> npt.NDArray[np.intp]:
    """Positions of this many items, ascending; all of them if there are fewer."""
    if landmarks < 1:
        raise ConfigError(f"Nyström's approximation needs at least one landmark, not {landmarks}.")
    drawn = np.random.default_rng(seed).choice(items, min(landmarks, items), replace=False)
    return np.sort(drawn).astype(np.intp)


def inverse_root(gram: Matrix) -> Matrix:
    """R (l, r) with R Rᵀ the pseudo-inverse of the landmarks' kernel (l, l): `k(x, L) R` are the columns of x."""
    values, vectors = np.linalg.eigh(gram.astype(np.float64))
    kept = values > SMALLEST * max(float(values[-1]), 0.0)
    return np.ascontiguousarray((vectors[:, kept] / np.sqrt(values[kept])).astype(gram.dtype))
