"""The words of a bag of words: centres of descriptors, found by mini-batch k-means (Sculley 2010).

Fitting is deterministic: the seed decides, and the thread count can't, since it is held to one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from mediarank.types import DataError, Floats


@dataclass(frozen=True, eq=False)
class Codebook:
    """
    words : (k, d) float32 centres
    spread : root mean squared distance of the fitting descriptors to their word, the scale of soft assignment
    """

    words: Floats
    spread: float

    def __post_init__(self) -> None:
        if self.words.dtype != np.float32 or self.words.ndim != 2 or not len(self.words):
            raise DataError(f"A codebook is (k, d) float32, not {self.words.dtype} {self.words.shape}.")
        if not np.isfinite(self.words).all() or not self.spread > 0:
            raise DataError("A codebook's words must be finite and its spread positive; fit it again.")

    def digest(self) -> str:
        """sha256 of the content: part of the cache's key for every vector made with it."""
        content = np.ascontiguousarray(self.words).tobytes() + np.float64(self.spread).tobytes()
        return hashlib.sha256(content).hexdigest()


def fit_codebook(descriptors: Floats, words: int, seed: int) -> Codebook:
    """(n, d) descriptors -> codebook of `words` centres."""
    from sklearn.cluster import MiniBatchKMeans  # takes most of a second, and only fitting needs it

    if len(descriptors) < words:
        raise DataError(
            f"A codebook of {words} words needs at least as many descriptors, but the items of role base gave "
            f"{len(descriptors)}: lower `words`, or raise `items` or `per_item`."
        )
    with threadpool_limits(1):
        model = MiniBatchKMeans(words, random_state=seed, batch_size=max(1024, 2 * words), n_init=1, max_iter=30)
        distances = model.fit(descriptors).transform(descriptors).min(axis=1)
    spread = float(np.sqrt(np.mean(np.square(distances, dtype=np.float64))))
    # of float32 precision, so that a codebook survives being stored as float32
    return Codebook(model.cluster_centers_.astype(np.float32), float(np.float32(max(spread, 1e-6))))
