"""A small live ranker over sixty items of two feature types."""

from __future__ import annotations

import numpy as np

from mediarank.similarity.scaling import fit_scaler
from mediarank.systems.retrieval.search import LiveRanker
from mediarank.types import FeatureMatrix


def live_ranker(twins: bool = False, weights: float = 0.1) -> LiveRanker:
    """twins : the first two items look the same"""
    rng = np.random.default_rng(0)
    ids = np.array([f"i{k:03d}" for k in range(60)])
    matrices = []
    for d in (5, 7):
        values = rng.random((60, d)).astype(np.float32)
        if twins:
            values[1] = values[0]
        matrices.append(FeatureMatrix(ids, tuple(f"x{j}" for j in range(d)), values))
    scaler = fit_scaler([matrix.values for matrix in matrices], 2000, np.random.default_rng(1))
    return LiveRanker(("colour", "shape"), tuple(matrices), scaler, np.full(8, weights, np.float32))
