"""Coordinate ascent on mean average precision itself (Metzler & Croft 2007).

A ranking does not change when its weights are scaled, so they live on the unit sphere of the L1 norm. One weight
after another tries steps that double, up and down, and keeps the best; it ends when a whole round gains too little.
Every try ranks all training rows: a score and what it belongs to become one number, so that all lists are sorted by
numpy in one call. Restarts are fits with other seeds: seed 0 starts at equal weights, every other seed at random ones;
of more training queries than a fit takes, each seed takes others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.evaluation.ranks import sort_keys
from mediarank.learners.pairwise.triplets import Triplets
from mediarank.types import Doubles, Floats


@dataclass
class CoordinateAscent:
    """tolerance : the gain in mAP below which a round is the last; smallest : first step, in shares of the L1 norm
    doublings : how often a step grows; queries : how many training queries are ranked, at most
    """

    tolerance: float = 1e-3
    rounds: int = 10
    smallest: float = 0.01
    doublings: int = 6
    queries: int = 1000
    seed: int = 0
    weights_: Doubles = field(init=False, repr=False)
    training_map_: float = field(init=False, repr=False)

    def fit_triplets(self, data: Triplets) -> CoordinateAscent:
        data = data.first_queries(self.queries, skip=self.seed * self.queries)
        d = data.phi.shape[1]
        lists = _Lists.of(data)
        columns = np.ascontiguousarray(data.phi.T)
        rng = np.random.default_rng(self.seed)
        weights = np.full(d, 1.0 / d) if self.seed == 0 else rng.dirichlet(np.ones(d))
        steps = self.smallest * 2.0 ** np.arange(self.doublings)
        steps = np.concatenate([steps, -steps]).astype(np.float32)
        reached = lists.mean_ap(_scores(data.phi, weights))
        for _ in range(self.rounds):
            before = reached
            for j in rng.permutation(d):
                scores = _scores(data.phi, weights)
                tried = [lists.mean_ap(scores + step * columns[j]) for step in steps]
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


def _scores(phi: Floats, weights: Doubles) -> Floats:
    return np.asarray(phi @ weights.astype(np.float32), dtype=np.float32)


def mean_average_precision(scores: npt.ArrayLike, data: Triplets) -> float:
    """Over the queries of the training rows; of equal scores the earlier row is first."""
    return _Lists.of(data).mean_ap(np.ascontiguousarray(scores, dtype=np.float32))


@dataclass(frozen=True)
class _Lists:
    """The rows of all queries as lists to be sorted.

    relevant, offsets : as in `Triplets`; keys : (queries, longest list) to work on
    """

    relevant: npt.NDArray[np.bool_]
    offsets: npt.NDArray[np.int64]
    keys: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, data: Triplets) -> _Lists:
        lengths = np.diff(data.offsets)
        return cls(data.relevant, data.offsets, np.empty((len(lengths), int(lengths.max())), np.uint64))

    def mean_ap(self, scores: Floats) -> float:
        _write_keys(scores.view(np.uint32), self.relevant, self.offsets, self.keys)
        sort_keys(self.keys, in_order=True)
        return float(_mean_ap(self.keys, self.offsets))


@njit(cache=True)
def _write_keys(bits: Any, relevant: Any, offsets: Any, keys: Any) -> None:
    """A row's key ascends as its score falls, then with its place; the lowest bit says whether it is relevant.

    bits : of the float32 scores; those of positive numbers ascend with their value, those of negative ones descend
    """
    sign, behind = np.uint32(0x80000000), np.uint64(0xFFFFFFFFFFFFFFFF)
    for q in range(keys.shape[0]):
        start, stop = offsets[q], offsets[q + 1]
        for k in range(stop - start):
            score = bits[start + k]
            if score == sign:  # -0.0 is 0.0
                score = np.uint32(0)
            if score < sign:
                score = sign - np.uint32(1) - score
            place = np.uint64(2 * k + relevant[start + k])
            keys[q, k] = (np.uint64(score) << np.uint64(32)) | place
        for k in range(stop - start, keys.shape[1]):
            keys[q, k] = behind


@njit(cache=True)
def _mean_ap(keys: Any, offsets: Any) -> float:
    """From sorted keys; queries without a relevant row don't count."""
    total, queries = 0.0, 0
    for q in range(keys.shape[0]):
        found, precision = 0, 0.0
        for rank in range(offsets[q + 1] - offsets[q]):
            if keys[q, rank] & np.uint64(1):
                found += 1
                precision += found / (rank + 1.0)
        if found:
            total += precision / found
            queries += 1
    return total / max(queries, 1)
