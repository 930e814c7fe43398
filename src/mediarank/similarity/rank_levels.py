"""Ranking features: the order of a collection by distance to a query, at a few hundred ranks (paper 001, 2.2).

An item's rank is 1 more than the number of items that are strictly nearer, so equals share a rank and a feature that
is constant ranks everything first. A threshold ranker only asks whether a rank is at most θ, and that is the same as
asking whether the distance is at most the θ-th smallest: `levels_of` answers for all thresholds of a set of queries
by sorting, to learn from; `cuts` finds the distances to compare with by selection, to score with.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.similarity.row_blocks import for_blocks
from mediarank.types import DataError, Floats

Levels = npt.NDArray[np.uint8]
Thresholds = npt.NDArray[np.int64]

MOST: Final = 127
"""Thresholds per feature: the potentials of thirty features then stay in the first-level cache while boosting."""
BLOCK: Final = 64


def rank_thresholds(items: int, most: int = MOST) -> Thresholds:
    """The ranks θ that threshold rankers may ask for, ascending: all of 1 … items − 1, or as many in equal ratios.

    Whether a rank is at most the number of items is always true, so that threshold is left out.

    >>> rank_thresholds(5).tolist(), rank_thresholds(1000, 6).tolist()
    ([1, 2, 3, 4], [1, 4, 16, 63, 251, 999])
    """
    if not 1 <= most <= MOST:
        raise DataError(f"A feature has from 1 to {MOST} thresholds, not {most}.")
    last = max(items - 1, 1)
    if last <= most:
        return np.arange(1, last + 1)
    low, count = 1, most
    thresholds = np.unique(np.round(np.geomspace(low, last, count)).astype(np.int64))
    while len(thresholds) < most:  # the first ranks coincide after rounding: ask for more until enough differ
        count += most - len(thresholds)
        thresholds = np.unique(np.round(np.geomspace(low, last, count)).astype(np.int64))
    return thresholds[:most] if len(thresholds) == most else _thinned(thresholds, most)


def levels_of(distances: Floats, thresholds: Thresholds) -> Levels:
    """(queries, n) distances -> how many thresholds each item's rank exceeds: its rank is at most θ_b if that is ≤ b.

    Infinite distances (such as the query's to itself) come last.
    """
    n = distances.shape[1]
    level_of_rank = np.searchsorted(thresholds, np.arange(1, n + 1)).astype(np.uint8)
    out = np.empty(distances.shape, dtype=np.uint8)

    def fill(rows: slice) -> None:
        _assign(distances[rows], np.argsort(distances[rows], axis=1), level_of_rank, out[rows])

    for_blocks(fill, len(distances), BLOCK)
    return out


def cuts(distances: Floats, thresholds: Thresholds) -> Floats:
    """The distance of one query's θ-th nearest item, for each θ: a selection, in time linear in the items.

    distances : (n,); thresholds ascending; beyond the last item it is infinite, where every item is near enough
    """
    found = np.full(len(thresholds), np.inf, dtype=distances.dtype)
    inside = thresholds <= len(distances)
    if inside.any():
        places = thresholds[inside] - 1
        found[inside] = np.partition(distances, places)[places]
    return found


def _thinned(thresholds: Thresholds, most: int) -> Thresholds:
    """Both ends and evenly spaced ones between."""
    places = np.round(np.linspace(0, len(thresholds) - 1, most)).astype(np.int64)
    return thresholds[places]


@njit(cache=True, nogil=True)
def _assign(distances: Any, order: Any, level_of_rank: Any, out: Any) -> None:
    """Each item's level, from the rank of the first item at its distance."""
    for q in range(distances.shape[0]):
        rank = 0
        for place in range(distances.shape[1]):
            item = order[q, place]
            if place == 0 or distances[q, item] > distances[q, order[q, place - 1]]:
                rank = place
            out[q, item] = level_of_rank[rank]
