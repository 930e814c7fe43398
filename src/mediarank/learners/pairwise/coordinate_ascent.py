"""Coordinate ascent on mean average precision itself (Metzler & Croft 2007).

A ranking does not change when its weights are scaled, so they live on the unit sphere of the L1 norm. One weight
after another tries steps that double, up and down, and keeps the best; it ends when a whole round gains too little.
Every try ranks all training rows, so a fit takes a few hundred queries. Restarts are fits with other seeds: seed 0
starts at equal weights on the first queries, every other seed at random weights on queries of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.learners.pairwise.triplets import Triplets
from mediarank.types import Doubles, Floats


@dataclass
class CoordinateAscent:
    """tolerance : the gain in mAP below which a round is the last; smallest : first step, in shares of the L1 norm
    doublings : how often a step grows; queries : how many training queries are ranked
    """

    tolerance: float = 1e-3
    rounds: int = 10
    smallest: float = 0.01
    doublings: int = 6
    queries: int = 200
    seed: int = 0
    weights_: Doubles = field(init=False, repr=False)
    training_map_: float = field(init=False, repr=False)

    def fit_triplets(self, data: Triplets) -> CoordinateAscent:
        data = data.first_queries(self.queries, skip=self.seed * self.queries)
        d = data.phi.shape[1]
        columns = np.ascontiguousarray(data.phi.T)
        rng = np.random.default_rng(self.seed)
        weights = np.full(d, 1.0 / d) if self.seed == 0 else rng.dirichlet(np.ones(d))
        steps = self.smallest * 2.0 ** np.arange(self.doublings)
        steps = np.concatenate([steps, -steps])
        reached = mean_average_precision(data.phi @ weights, data)
        for _ in range(self.rounds):
            before = reached
            for j in rng.permutation(d):
                scores = data.phi @ weights
                tried = [mean_average_precision(scores + step * columns[j], data) for step in steps]
                best = int(np.argmax(tried))
                if tried[best] > reached:
                    weights[j] += steps[best]
                    weights /= np.abs(weights).sum()
                    reached = tried[best]
            if reached - before < self.tolerance:
                break
        self.weights_, self.training_map_ = weights, reached
        return self

    @property
    def ranking_weights(self) -> Floats:
        return self.weights_.astype(np.float32)

    def predict(self, phi: Floats) -> Floats:
        """Scores of items by their φ, higher is better. phi : (n, d)"""
        return np.asarray(phi @ self.ranking_weights, dtype=np.float32)


def mean_average_precision(scores: npt.ArrayLike, data: Triplets) -> float:
    """Over the queries of the training rows; of equal scores the earlier row is first."""
    return float(_mean_ap(np.ascontiguousarray(scores, dtype=np.float64), data.relevant, data.offsets))


@njit(cache=True)
def _mean_ap(scores: Any, relevant: Any, offsets: Any) -> float:
    total, queries = 0.0, 0
    for q in range(len(offsets) - 1):
        start, stop = offsets[q], offsets[q + 1]
        order = np.argsort(-scores[start:stop], kind="mergesort")
        found, precision = 0, 0.0
        for rank in range(stop - start):
            if relevant[start + order[rank]]:
                found += 1
                precision += found / (rank + 1.0)
        if found:
            total += precision / found
            queries += 1
    return total / max(queries, 1)
