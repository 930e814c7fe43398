"""Ways to rank labelled images by nearness: by a weighted sum of distances, by a learned order, or in a space.

All turn distances (types, queries, images) into similarities (queries, images), higher is nearer. `WeightedSum` is
JEC and its variants. `BoostedOrder` is what RankBoost learned (paper 001): for each type a step function of the rank.
It scores a query by selecting the few distances at which its steps lie, without sorting the collection. The space is
in `semantic_space.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.learners.neighbours.semantic_space import SemanticSpace
from mediarank.similarity.distance_stack import weighted_similarity
from mediarank.similarity.rank_levels import Levels, Thresholds, cuts
from mediarank.similarity.row_blocks import for_blocks
from mediarank.types import DataError, Floats

BLOCK: Final = 16


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """weights (types,) : of the distances, including their scale"""

    weights: Floats

    def used(self) -> npt.NDArray[np.bool_]:
        """Which types it uses."""
        return np.asarray(self.weights != 0)

    def only(self, types: Sequence[int]) -> WeightedSum:
        """The same for a stack of some types."""
        return WeightedSum(self.weights[list(types)])

    def similarity(self, stack: Floats) -> Floats:
        return weighted_similarity(stack, self.weights)


@dataclass(frozen=True, eq=False)
class BoostedOrder:
    """tables (types, levels) : what an image's level adds; thresholds (levels − 1,) : the ranks between levels"""

    tables: Floats
    thresholds: Thresholds

    def __post_init__(self) -> None:
        if self.tables.shape[1:] != (len(self.thresholds) + 1,):
            raise DataError(f"{len(self.thresholds)} thresholds don't fit tables of shape {self.tables.shape}.")

    def used(self) -> npt.NDArray[np.bool_]:
        """Which types it uses."""
        return np.asarray(self.tables.any(axis=1))

    def only(self, types: Sequence[int]) -> BoostedOrder:
        """The same for a stack of some types."""
        return BoostedOrder(self.tables[list(types)], self.thresholds)

    def of_levels(self, levels: Levels) -> Floats:
        """From levels (types, queries, images), where these are known."""
        out = np.zeros(levels.shape[1:], dtype=np.float32)

        def add(rows: slice) -> None:
            for k, table in enumerate(self.tables):
                if table.any():
                    _look_up(table, levels[k, rows], out[rows])

        for_blocks(add, levels.shape[1], BLOCK)
        return out

    def similarity(self, stack: Floats) -> Floats:
        """Similarities of each query separately; they do not depend on the other queries."""
        out = np.zeros(stack.shape[1:], dtype=np.float32)
        # a type's steps: where its table changes, and the values on both sides
        steps = [np.flatnonzero(np.diff(table)) for table in self.tables]

        def add(rows: slice) -> None:
            for k, (table, at) in enumerate(zip(self.tables, steps, strict=True)):
                if table.any():
                    values = np.append(table[at], table[-1])
                    for query in range(rows.start, rows.stop):
                        bounds = cuts(stack[k, query], self.thresholds[at])
                        _add_steps(stack[k, query], bounds, values, out[query])

        for_blocks(add, stack.shape[1], BLOCK)
        return out


NeighbourRanker = WeightedSum | BoostedOrder | SemanticSpace


@njit(cache=True, nogil=True)
def _look_up(table: Any, levels: Any, out: Any) -> None:
    for q in range(levels.shape[0]):
        for image in range(levels.shape[1]):
            out[q, image] += table[levels[q, image]]


@njit(cache=True, nogil=True)
def _add_steps(distances: Any, bounds: Any, values: Any, out: Any) -> None:
    """Add values[b] to images whose distance is at most bounds[b] and above the bounds before it."""
    for image in range(len(distances)):
        low, high = 0, len(bounds)
        while low < high:
            middle = (low + high) // 2
            if distances[image] <= bounds[middle]:
                high = middle
            else:
                low = middle + 1
        out[image] += values[low]
