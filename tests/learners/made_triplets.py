"""Triplets whose answer is known by construction."""

from __future__ import annotations

import numpy as np

from mediarank.learners.pairwise.triplets import Triplets


def made_triplets(
    seed: int = 0, queries: int = 40, items: int = 20, noise: float = 0.5, bent: bool = False
) -> Triplets:
    """Relevance follows 2·φ₀ − φ₁ (or |φ₀|, if bent) and noise; φ₂ says nothing."""
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(queries, items, 3)).astype(np.float32)
    truth = np.abs(phi[..., 0]) if bent else 2 * phi[..., 0] - phi[..., 1]
    relevant = (truth + noise * rng.normal(size=truth.shape) > np.quantile(truth, 0.7)).astype(bool)
    better, worse = [], []
    for q in range(queries):
        good, bad = np.flatnonzero(relevant[q]), np.flatnonzero(~relevant[q])
        for item in good:
            better += [q * items + item] * min(3, len(bad))
            worse += (q * items + rng.choice(bad, min(3, len(bad)), replace=False)).tolist()
    return Triplets(
        phi.reshape(-1, 3),
        np.repeat(np.arange(queries), items),
        relevant.ravel(),
        np.array(better, dtype=np.intp),
        np.array(worse, dtype=np.intp),
    )
