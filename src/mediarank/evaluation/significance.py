"""How sure a mean over queries is: a bootstrap interval, and a paired randomisation test between two methods.

Both draw from a seed that the caller gives, work on blocks of fixed length, and sum without BLAS, so their results
depend neither on memory nor on threads. Queries without a value (NaN) are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from mediarank.types import DataError

BLOCK_CELLS: Final = 1 << 21
"""Random numbers held in memory at a time."""

ROUNDING: Final = 1e-9
"""Means that differ by less than this share of the largest difference count as equal: rounding."""


@dataclass(frozen=True)
class Interval:
    """A mean, the bounds of its confidence interval, and the number of queries behind it."""

    mean: float
    low: float
    high: float
    queries: int
    skipped: int


def bootstrap_interval(
    values: npt.ArrayLike, *, seed: int, resamples: int = 2000, confidence: float = 0.95
) -> Interval:
    """Percentile bootstrap of the mean over queries; the same seed resamples the same queries for every method."""
    if not 0 < confidence < 1 or resamples < 1:
        raise DataError(f"{resamples} resamples at confidence {confidence}: give at least 1 and a share inside (0, 1).")
    numbers = np.asarray(values, dtype=np.float64)
    known = numbers[~np.isnan(numbers)]
    skipped = int(numbers.size - known.size)
    if not len(known):
        nan = float("nan")
        return Interval(nan, nan, nan, 0, skipped)
    draw = np.random.default_rng(seed)
    step = max(1, BLOCK_CELLS // len(known))
    blocks = [min(step, resamples - done) for done in range(0, resamples, step)]
    means = [known[draw.integers(len(known), size=(rows, len(known)))].mean(axis=1) for rows in blocks]
    low, high = np.quantile(np.concatenate(means), [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(known.mean()), float(low), float(high), len(known), skipped)


def paired_randomisation(first: npt.ArrayLike, second: npt.ArrayLike, *, seed: int, rounds: int = 10_000) -> float:
    """Two-sided p-value of the difference of two methods' means over the same queries.

    Under the null hypothesis the two methods are interchangeable on every query, so each difference may change its
    sign. If there are no more than `rounds` patterns of signs all are tried and the p-value is exact; otherwise
    random ones are, and the observed pattern counts as one of them, so that p is never 0.
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != other.shape or one.ndim != 1:
        raise DataError(f"Values of {one.size} and {other.size} queries can't be paired; give both for each query.")
    difference = one - other
    difference = difference[~np.isnan(difference)]
    count = len(difference)
    if count == 0:
        return float("nan")
    tolerance = ROUNDING * float(np.abs(difference).max())
    observed = abs(float(difference.sum())) - tolerance * count
    if count < 63 and (1 << count) <= rounds:
        patterns = np.arange(1 << count)[:, None] >> np.arange(count) & 1
        return float(np.mean(np.abs(_signed_sums(difference, patterns)) >= observed))
    draw = np.random.default_rng(seed)
    step = max(1, BLOCK_CELLS // count)
    extreme = 1
    for done in range(0, rounds, step):
        patterns = draw.integers(2, size=(min(step, rounds - done), count), dtype=np.int8)
        extreme += int(np.count_nonzero(np.abs(_signed_sums(difference, patterns)) >= observed))
    return extreme / (rounds + 1)


def _signed_sums(difference: npt.NDArray[np.float64], patterns: npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
    """Sum of the differences with the sign of each turned where the pattern holds a 1."""
    sums: npt.NDArray[np.float64] = np.where(patterns == 1, -difference, difference).sum(axis=1)
    return sums
