"""How often the stronger of two items gets the higher score: the measure of relative attributes.

`pair_accuracy` takes strengths and counts all pairs whose strengths differ, in O(n log n) without listing them;
`listed_pair_accuracy` takes the pairs themselves. Items of equal strength form no pair; equal scores are a
guess and count as half right, so that a constant scorer is at chance.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.types import DataError


def pair_accuracy(strengths: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """Share of pairs of different strength whose scores have the same order; NaN if no strengths differ.

    >>> pair_accuracy([1, 1, 2, 3], [0.1, 0.2, 0.4, 0.3])
    0.8
    """
    strength, score = _numbers(strengths, "strengths"), _numbers(scores, "scores")
    if strength.shape != score.shape:
        raise DataError(
            f"{strength.size} strengths can't be paired with {score.size} scores; give one of each per item."
        )
    levels, level = np.unique(strength, return_inverse=True)
    sizes = np.bincount(level, minlength=len(levels))
    pairs = (len(level) * len(level) - int((sizes.astype(np.int64) ** 2).sum())) // 2
    if pairs == 0:
        return float("nan")
    order = np.lexsort((level, score))
    return int(_count_twice_right(level[order].astype(np.int64), score[order], len(levels))) / (2 * pairs)


def listed_pair_accuracy(scores: npt.ArrayLike, stronger: npt.ArrayLike, weaker: npt.ArrayLike) -> float:
    """Share of the pairs (stronger[i], weaker[i]), positions in `scores`, that the scores put in that order.

    >>> listed_pair_accuracy([0.1, 0.4, 0.4], stronger=[1, 1], weaker=[0, 2])
    0.75
    """
    score = _numbers(scores, "scores")
    first, second = np.asarray(stronger, dtype=np.intp), np.asarray(weaker, dtype=np.intp)
    if first.shape != second.shape or first.ndim != 1:
        raise DataError(
            f"{first.size} stronger and {second.size} weaker items don't make pairs; give as many stronger as weaker."
        )
    if first.size == 0:
        return float("nan")
    if min(first.min(), second.min()) < 0 or max(first.max(), second.max()) >= len(score):
        raise DataError(f"Pairs must hold positions from 0 to {len(score) - 1}, those of the {len(score)} scores.")
    high, low = score[first], score[second]
    return float((2 * np.count_nonzero(high > low) + np.count_nonzero(high == low)) / (2 * first.size))


def _numbers(values: npt.ArrayLike, what: str) -> npt.NDArray[np.float64]:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or np.isnan(numbers).any():
        raise DataError(f"{what} must be one list of numbers without NaN.")
    return numbers


@njit(cache=True)
def _count_twice_right(level: npt.NDArray[np.int64], score: npt.NDArray[np.float64], levels: int) -> int:
    """Twice the number of rightly ordered pairs, half-right ones counting once.

    level, score : (items,) sorted by score, lowest first, and by level among equals
    """
    below = np.zeros(levels + 1, dtype=np.int64)  # a Fenwick tree: how many items of each level had lower scores
    twice = 0
    start = 0
    while start < len(level):
        stop = start
        while stop < len(level) and score[stop] == score[start]:
            stop += 1
        for item in range(start, stop):
            node = level[item]
            while node > 0:
                twice += 2 * below[node]
                node -= node & -node
        first = start  # the equal scores before `first` have a lower level than the current one
        for item in range(start + 1, stop):
            if level[item] != level[item - 1]:
                first = item
            twice += first - start
        for item in range(start, stop):
            node = level[item] + 1
            while node <= levels:
                below[node] += 1
                node += node & -node
        start = stop
    return twice
