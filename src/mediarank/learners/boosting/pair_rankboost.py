"""RankBoost over weighted pairs with threshold rankers (paper 001, algorithm 1; Freund et al. 2003).

A weak ranker gives 1 if an image is among the θ nearest by one feature type and 0 otherwise. Its rate is the sum of
potentials up to its threshold; one cumulative sum gives all thresholds of a feature. After a round only pairs for which
the chosen ranker gives different values change their weight, so only these are added to the potentials again.
Line 5 of the algorithm lacks the weak ranker's coefficient α; with it, the loss of the result is Z_0 Π Z_t.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.fanout import jobs
from mediarank.learners.boosting.rankboost import RATE_LIMIT, Step
from mediarank.similarity.rank_levels import Levels
from mediarank.types import DataError, Doubles, Floats

Positions = npt.NDArray[np.intp]
BLOCK: Final = 1 << 16
"""Pairs that a thread processes at a time; their positions fit 16 bits."""
SMALL: Final = 1e-6
"""Added to both sides of an exact step, because a ranker that is never wrong would get an infinite weight."""


@dataclass
class PairRankBoost:
    """RankBoost over weighted pairs.

    rounds : weak rankers at most; T in the paper
    step : `bound` is line 4 of algorithm 1, `exact` minimises Z_t itself, which rankers of 0 and 1 allow in closed form
    """

    rounds: int = 200
    step: Step = "bound"
    features_: Positions = field(init=False, repr=False)
    levels_: Positions = field(init=False, repr=False)
    weights_: Doubles = field(init=False, repr=False)
    losses_: Doubles = field(init=False, repr=False)

    def fit(self, better: Levels, worse: Levels, weight: npt.ArrayLike) -> PairRankBoost:
        """Learn from pairs.

        better, worse (features, pairs) : levels of the image that belongs first and of the other, as `levels_of`
        weight (pairs,) : how much each pair matters, W in the paper
        """
        w = np.array(weight, dtype=np.float64)
        if better.shape != worse.shape or w.shape != better.shape[1:] or not w.size:
            raise DataError(f"Pairs of levels {better.shape} and {worse.shape} with weights {w.shape} don't fit.")
        if not (np.isfinite(w).all() and (w >= 0).all() and w.sum() > 0):
            raise DataError("Weights of pairs must be finite and not negative, and at least one above 0.")
        w /= w.sum()  # D, line 1
        chosen: list[tuple[int, int, float]] = []
        losses = [1.0]
        with ThreadPoolExecutor(jobs()) as pool:
            state = _Potentials(better, worse, w, pool)
            for _ in range(self.rounds):
                rates = np.cumsum(state.potential(), axis=1) / state.total
                k, level = map(int, np.unravel_index(np.argmax(np.abs(rates)), rates.shape))  # line 3
                alpha = self._alpha(float(rates[k, level]), state, k, level)
                if abs(alpha) < 1e-9:
                    break
                state.reweigh(k, level, alpha)  # line 5
                chosen.append((k, level, alpha))
                losses.append(state.total)
        self.features_ = np.array([k for k, _, _ in chosen], dtype=np.intp)
        self.levels_ = np.array([level for _, level, _ in chosen], dtype=np.intp)
        self.weights_ = np.array([alpha for _, _, alpha in chosen])
        self.losses_ = np.array(losses)
        return self

    def _alpha(self, rate: float, state: _Potentials, k: int, level: int) -> float:
        if self.step == "bound":
            return float(np.arctanh(np.clip(rate, -RATE_LIMIT, RATE_LIMIT)))  # line 4: ½ ln((1 + r)/(1 − r))
        right, wrong = state.separated(k, level)
        return 0.5 * float(np.log((right + SMALL) / (wrong + SMALL)))

    def tables(self, features: int, levels: int, rounds: int | None = None) -> Floats:
        """(features, levels): what an image's level adds to H; the ranking function as one table per feature type.

        rounds : use only this many of the first weak rankers; by default all
        """
        table = np.zeros((features, levels))
        chosen = slice(None, rounds)
        for k, level, alpha in zip(self.features_[chosen], self.levels_[chosen], self.weights_[chosen], strict=True):
            table[k, : level + 1] += alpha
        return table.astype(np.float32)


class _Potentials:
    """The pairs' weights and the sums derived from them, kept up to date in blocks of pairs.

    Sums are kept per block and added in order, so that they do not depend on the number of threads.
    """

    def __init__(self, better: Levels, worse: Levels, w: Doubles, pool: ThreadPoolExecutor) -> None:
        better, worse = np.ascontiguousarray(better), np.ascontiguousarray(worse)
        self.better, self.worse, self.w, self.pool = better, worse, w, pool
        self.blocks = [slice(start, start + BLOCK) for start in range(0, len(w), BLOCK)]
        levels = int(max(better.max(), worse.max())) + 1
        self.potentials = np.zeros((len(self.blocks), len(better), levels))
        self.total = float(w.sum())

        def add(number: int) -> None:
            block = self.blocks[number]
            all_pairs = np.arange(len(w[block]), dtype=np.uint16)
            _add_potentials(better, worse, block.start, all_pairs, w[block], self.potentials[number])

        list(pool.map(add, range(len(self.blocks))))

    def potential(self) -> Doubles:
        """(features, levels): weights of pairs whose better image has this level, less those whose worse one has."""
        return np.asarray(self.potentials.sum(axis=0))

    def separated(self, k: int, level: int) -> tuple[float, float]:
        """Shares of the weight that a ranker puts in the right order and in the wrong one."""
        near, far = self.better[k] <= level, self.worse[k] <= level
        return float(self.w[near & ~far].sum() / self.total), float(self.w[~near & far].sum() / self.total)

    def reweigh(self, k: int, level: int, alpha: float) -> None:
        fall, rise = float(np.exp(-alpha)), float(np.exp(alpha))

        def change(number: int) -> float:
            block = self.blocks[number]
            ranker = k, level, fall, rise
            return float(
                _reweigh(self.better, self.worse, block.start, *ranker, self.w[block], self.potentials[number])
            )

        self.total += sum(self.pool.map(change, range(len(self.blocks))))


@njit(cache=True, nogil=True)
def _add_potentials(better: Any, worse: Any, start: int, chosen: Any, amounts: Any, potential: Any) -> None:
    """Add an amount for each of the chosen pairs of the block that begins at `start`.

    One feature after another, so that its tables stay in the nearest cache; two pairs at a time, each with its own
    tables, so that neither waits for the other.
    """
    levels, even = potential.shape[1], len(chosen) // 2 * 2
    gains, losses, gains_too, losses_too = np.empty(levels), np.empty(levels), np.empty(levels), np.empty(levels)
    for k in range(better.shape[0]):
        first, second = better[k, start:], worse[k, start:]
        gains[:], losses[:], gains_too[:], losses_too[:] = 0.0, 0.0, 0.0, 0.0
        for q in range(0, even, 2):
            one, other = chosen[q], chosen[q + 1]
            gains[first[one]] += amounts[q]
            losses[second[one]] += amounts[q]
            gains_too[first[other]] += amounts[q + 1]
            losses_too[second[other]] += amounts[q + 1]
        for q in range(even, len(chosen)):
            gains[first[chosen[q]]] += amounts[q]
            losses[second[chosen[q]]] += amounts[q]
        for level in range(levels):
            potential[k, level] += (gains[level] + gains_too[level]) - (losses[level] + losses_too[level])


@njit(cache=True, nogil=True)
def _reweigh(
    better: Any, worse: Any, start: int, k: int, level: int, fall: float, rise: float, w: Any, potential: Any
) -> float:
    """Line 5 with α, before the division by Z; returns by how much the sum of the weights has changed.

    w : of the pairs of the block that begins at `start`
    """
    first, second = better[k, start:], worse[k, start:]
    places = np.empty(len(w) + 1, np.uint16)
    count = 0
    for p in range(len(w)):  # branch-free, because the branch could not be predicted
        places[count] = p
        count += (first[p] <= level) != (second[p] <= level)
    chosen, amounts = places[:count], np.empty(count)
    change = 0.0
    for q in range(count):
        p = chosen[q]
        amounts[q] = w[p] * ((fall if first[p] <= level else rise) - 1.0)
        w[p] += amounts[q]
        change += amounts[q]
    _add_potentials(better, worse, start, chosen, amounts, potential)
    return change
