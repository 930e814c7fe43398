"""A small live ranker over sixty items of two feature types."""

from __future__ import annotations

import numpy as np

from mediarank.learners.pairwise.phi_rankers import FixedWeights
from mediarank.similarity.scaling import fit_scaler
from mediarank.systems.retrieval.live import LiveRanker
from mediarank.systems.retrieval.model import Model


def live_ranker(twins: bool = False, weights: float = 0.1) -> LiveRanker:
    """twins : the first two items look the same"""
    rng = np.random.default_rng(0)
    rows = []
    for d in (5, 7):
        values = rng.random((60, d)).astype(np.float32)
        if twins:
            values[1] = values[0]
        rows.append(values)
    scaler = fit_scaler(rows, 2000, np.random.default_rng(1))
    rankers = {"opar2": FixedWeights("opar2", np.full(8, weights, np.float32))}
    names = tuple(f"i{k:03d}" for k in range(60))
    return LiveRanker(Model(("colour", "shape"), names, tuple(rows), scaler, rankers, {"opar2": 0.5}, "opar2", {}))
