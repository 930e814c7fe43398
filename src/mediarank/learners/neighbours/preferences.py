"""Preferences from keywords: which of two labelled images is nearer to a third (paper 001, section 2.1).

`consistency` compares keyword sets (eq 1). `draw_preferences` draws ordered pairs of images for each query image and
weighs each by how far NDCG@k would fall if the two changed places (eqs 2 and 3), in closed form. Many images agree with
a query equally well, and most cuts at k fall inside such a tie, so the fall is the mean over all orders of equals:
images of equal consistency share the mean discount of their positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from mediarank.types import DataError, Doubles, Floats

Positions = npt.NDArray[np.intp]
BLOCK: Final = 256


@dataclass(frozen=True, eq=False)
class Preferences:
    """One row per pair, pairs of a query together: for image `query`, `better` is nearer than `worse`.

    weight : the mean fall of NDCG@k, or the small constant where neither can be among the first k
    """

    query: Positions
    better: Positions
    worse: Positions
    weight: Doubles

    def __len__(self) -> int:
        return len(self.query)

    def equally_weighted(self) -> Preferences:
        """NW-RNN's: the same pairs, all of one weight."""
        return Preferences(self.query, self.better, self.worse, np.ones(len(self)))


def consistency(queries: Floats, images: Floats) -> Floats:
    """(queries, images) Dice coefficients of 0/1 keyword rows: eq 1 in one fraction; two images without words have 0.

    >>> consistency(np.float32([[1, 1, 0]]), np.float32([[1, 0, 0], [0, 0, 1], [1, 1, 0]])).round(3).tolist()
    [[0.6669999957084656, 0.0, 1.0]]
    """
    common = queries @ images.T
    sizes = queries.sum(axis=1)[:, None] + images.sum(axis=1)[None, :]
    return np.asarray(np.divide(2 * common, sizes, out=np.zeros_like(common), where=sizes > 0), dtype=np.float32)


def discounts(k: int, images: int) -> Doubles:
    """D(l) = 1/log2(1 + l) of the positions l = 1 … images, 0 after k."""
    positions = np.arange(1, images + 1)
    return np.where(positions <= k, 1 / np.log2(1 + positions), 0.0)


def draw_preferences(
    labels: Floats,
    pairs: int,
    k: int,
    rng: np.random.Generator,
    queries: Positions | None = None,
    epsilon: float = 1e-4,
    by_weight: bool = False,
) -> Preferences:
    """`pairs` pairs for each query image, of all pairs whose consistencies with it differ.

    labels : (n, words) 0/1; queries : which images to ask with, by default all of them
    by_weight : draw pairs in proportion to their weight and give all equal weight, instead of drawing them uniformly
    A query that shares no word with any other image has nothing to prefer and is skipped.
    """
    n = len(labels)
    asked = np.arange(n) if queries is None else queries
    if pairs < 1 or k < 1:
        raise DataError(f"Preferences need at least one pair per query and one position, not {pairs} and {k}.")
    discount = discounts(k, n - 1)
    parts = [np.empty((0, 3), dtype=np.intp)]
    weights = [np.empty(0)]
    for start in range(0, len(asked), BLOCK):
        block = asked[start : start + BLOCK]
        for query, relevance in zip(block.tolist(), consistency(labels[block], labels).astype(np.float64), strict=True):
            relevance[query] = -1.0  # the query itself comes last, and is left out
            order = np.argsort(-relevance, kind="stable")[:-1]  # π: by falling relevance
            grades = _Grades.of(relevance[order], discount, epsilon)
            if len(grades.sizes) < 2:
                continue
            better, worse, weight = grades.draw(pairs, rng, by_weight)
            parts.append(np.stack([np.full(pairs, query), order[better], order[worse]], axis=1))
            weights.append(weight)
    joined = np.concatenate(parts)
    return Preferences(joined[:, 0], joined[:, 1], joined[:, 2], np.concatenate(weights))


@dataclass(frozen=True, eq=False)
class _Grades:
    """Images in an order by falling relevance, as runs of equals.

    starts, sizes (grades,) : where each run begins, and its length
    pairs (grades, grades) : how many pairs have their better image in the row's run and the other in the column's
    weights (grades, grades) : of each such pair
    """

    starts: Positions
    sizes: Positions
    pairs: Doubles
    weights: Doubles

    @classmethod
    def of(cls, relevance: Doubles, discount: Doubles, epsilon: float) -> _Grades:
        """discount : of the positions, 0 after k"""
        starts = np.flatnonzero(np.diff(relevance, prepend=np.inf))
        sizes = np.diff(starts, append=len(relevance))
        if not len(starts):
            return cls(starts, sizes, np.zeros((0, 0)), np.zeros((0, 0)))
        gain = np.exp2(relevance[starts])
        mean = np.add.reduceat(discount, starts) / sizes  # D over all orders of equals
        ideal = float(np.sum((gain - 1) * mean * sizes))  # N_k
        above = np.triu(np.ones((len(starts), len(starts))), k=1)
        fall = (gain[:, None] - gain[None, :]) * (mean[:, None] - mean[None, :]) / max(ideal, 1e-12)  # eqs 2, 3
        weights = np.where(mean[:, None] > 0, fall, epsilon) * above
        return cls(starts, sizes, sizes[:, None] * sizes[None, :] * above, weights)

    def draw(self, count: int, rng: np.random.Generator, by_weight: bool) -> tuple[Positions, Positions, Doubles]:
        """Positions of the better and the worse image of each pair, and its weight."""
        share = (self.pairs * self.weights if by_weight else self.pairs).ravel()
        cell = np.searchsorted(np.cumsum(share), rng.random(count) * share.sum(), side="right")
        first, second = np.unravel_index(np.minimum(cell, np.flatnonzero(share)[-1]), self.pairs.shape)
        better, worse = (self.starts[run] + rng.integers(self.sizes[run]) for run in (first, second))
        return better, worse, np.ones(count) if by_weight else self.weights[first, second]
