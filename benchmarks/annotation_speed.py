"""How fast pairs are boosted: ours against the same algorithm in plain numpy, on the same made-up pairs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from mediarank.learners.boosting.pair_rankboost import PairRankBoost
from mediarank.similarity.rank_levels import MOST, rank_thresholds

FEATURES, IMAGES = 29, 4500


def made_pairs(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Levels of better and worse images among 4500: ranks at random, but up to a third of the better ones are near."""
    rng = np.random.default_rng(seed)
    level_of_rank = np.searchsorted(rank_thresholds(IMAGES), np.arange(1, IMAGES + 1)).astype(np.uint8)
    better, worse = np.empty((FEATURES, count), np.uint8), np.empty((FEATURES, count), np.uint8)
    for k, near in enumerate(np.linspace(0.03, 0.3, FEATURES)):
        reach = np.where(rng.random(count, dtype=np.float32) < near, IMAGES // 10, IMAGES)
        better[k] = level_of_rank[(reach * rng.random(count, dtype=np.float32)).astype(np.int64)]
        worse[k] = level_of_rank[(IMAGES * rng.random(count, dtype=np.float32)).astype(np.int64)]
    return better, worse


def numpy_rankboost(better: np.ndarray, worse: np.ndarray, rounds: int) -> np.ndarray:
    """Algorithm 1 with numpy alone: potentials by weighted counts, all thresholds by cumulative sums; returns α."""
    d = np.full(better.shape[1], 1 / better.shape[1])
    weights = []
    for _ in range(rounds):
        potentials = [
            np.bincount(b, d, MOST + 1) - np.bincount(w, d, MOST + 1) for b, w in zip(better, worse, strict=True)
        ]
        rates = np.cumsum(potentials, axis=1)
        k, level = np.unravel_index(np.argmax(np.abs(rates)), rates.shape)
        alpha = np.arctanh(rates[k, level])
        d *= np.exp(alpha * ((worse[k] <= level).astype(float) - (better[k] <= level)))
        d /= d.sum()
        weights.append(alpha)
    return np.array(weights)


def boosting(pairs: int, rounds: int = 60, repeats: int = 2) -> dict[str, Any]:
    """Seconds per round of both; the time to count all pairs once is shared among the rounds."""
    better, worse = made_pairs(pairs)
    PairRankBoost(1).fit(better[:, :1000], worse[:, :1000], np.ones(1000))  # compiles
    ours, theirs = [], []
    for _ in range(repeats):
        started = time.perf_counter()
        model = PairRankBoost(rounds).fit(better, worse, np.ones(pairs))
        ours.append((time.perf_counter() - started) / rounds)
        started = time.perf_counter()
        weights = numpy_rankboost(better, worse, 4)
        theirs.append((time.perf_counter() - started) / len(weights))
    np.testing.assert_allclose(model.weights_[: len(weights)], weights, rtol=1e-6)
    ratio = min(theirs) / min(ours)
    print(
        f"\nboosting {pairs} pairs × {FEATURES} features: {1e3 * min(ours):.0f} ms per round, "
        f"numpy {1e3 * min(theirs):.0f} ms"
    )
    return {
        "boost_round_s": round(min(ours), 4),
        "numpy_round_s": round(min(theirs), 4),
        "boost_ratio": round(ratio, 1),
    }
