"""Codebooks: the words of a bag of words are centres of descriptors, found by mini-batch k-means (Sculley 2010).

Fitting is deterministic: it depends on the seed only, and uses one thread.
"""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from mediarank.types import DataError, Floats


@dataclass(frozen=True, eq=False)
class Codebook:
    """The words of a bag of words.

    words : (k, d) float32 centres of scaled descriptors
    scale : (d,) float32, by which descriptors are divided first; ones where their dimensions have equal units
    spread : root mean squared distance of the fitting descriptors to their word, the scale of soft assignment
    """

    words: Floats
    scale: Floats
    spread: float

    def __post_init__(self) -> None:
        if self.words.dtype != np.float32 or self.words.ndim != 2 or self.scale.shape != self.words.shape[1:]:
            raise DataError(
                f"A codebook is (k, d) float32 with a scale of (d,), not {self.words.dtype} {self.words.shape} with "
                f"{self.scale.shape}."
            )
        if not (np.isfinite(self.words).all() and (self.scale > 0).all() and self.spread > 0):
            raise DataError(
                "A codebook's words must be finite, its scale and spread positive. Fit it again: run dvc repro."
            )

    def digest(self) -> str:
        """sha256 of the content, which is part of the cache key of every vector made with it."""
        return hashlib.sha256(self.flat().tobytes()).hexdigest()

    def flat(self) -> Floats:
        """Everything as one float32 array, for the cache."""
        return np.concatenate([self.words.ravel(), self.scale, np.array([self.spread])], dtype=np.float32)

    @classmethod
    def of_flat(cls, values: Floats, words: int, width: int) -> Codebook:
        parts = np.split(values, [words * width, (words + 1) * width])
        return cls(parts[0].reshape(words, width), parts[1], float(parts[2][0]))


def fit_codebook(descriptors: Floats, words: int, seed: int, standardise: bool = False) -> Codebook:
    """(n, d) descriptors -> codebook of `words` centres; `standardise` where dimensions have different units."""
    from sklearn.cluster import MiniBatchKMeans  # importing takes most of a second; only fitting needs it

    if len(descriptors) < words:
        raise DataError(
            f"A codebook of {words} words needs at least as many descriptors, but the items of role base gave "
            f"{len(descriptors)}: lower `words`, or raise `items` or `descriptors`."
        )
    scale = np.ones(descriptors.shape[1], dtype=np.float32)
    if standardise:
        deviation = descriptors.std(axis=0, dtype=np.float64).astype(np.float32)
        scale = np.where(deviation > 1e-6, deviation, np.float32(1))
    scaled = descriptors / scale
    with threadpool_limits(1), warnings.catch_warnings():
        # if descriptors repeat, there are fewer distinct words than requested; the surplus words stay empty
        warnings.filterwarnings("ignore", message="Number of distinct clusters")
        model = MiniBatchKMeans(words, random_state=seed, batch_size=max(1024, 2 * words), n_init=1, max_iter=30)
        distances = model.fit(scaled).transform(scaled).min(axis=1)
    spread = float(np.sqrt(np.mean(np.square(distances, dtype=np.float64))))
    # rounded to float32, so that a stored codebook equals the fitted one
    return Codebook(model.cluster_centers_.astype(np.float32), scale, float(np.float32(max(spread, 1e-6))))
