"""LocalPair and FG-LocalPair (Yu & Grauman, CVPR 2014): for every pair that is asked about, learn a linear ranking
function from the training pairs that are most like it.

A training pair is like the pair asked about if its two items are like its two items: the product of their distances,
in the order that makes it smaller. LocalPair measures them by Euclid, FG-LocalPair by a metric that ITML learns for
the attribute. Each answer costs a model, which is what figure 3b of paper 004 is about; nothing can be sorted by it,
since the answers need not form an order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numba import njit
from rivals_itml import ITML
from sklearn.base import BaseEstimator

from mediarank.fanout import on_threads
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs, Positions
from mediarank.learners.pairwise.ranksvm import projected
from mediarank.similarity.kernels import linear, squared_distances
from mediarank.types import DataError, Doubles

_BLOCK = 256
"""Pairs a thread takes at a time."""


class LocalPair(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """
    neighbours : training pairs that a local model learns from
    metric : "euclidean" (LocalPair) or "itml" (FG-LocalPair)
    constraints : the most pairs of each kind that ITML learns from
    """

    def __init__(
        self,
        neighbours: int = 100,
        C: float = 1.0,
        metric: Literal["euclidean", "itml"] = "euclidean",
        constraints: int = 500,
        max_sweeps: int = 50,
        seed: int = 0,
    ) -> None:
        self.neighbours = neighbours
        self.C = C
        self.metric = metric
        self.constraints = constraints
        self.max_sweeps = max_sweeps
        self.seed = seed

    def fit(self, X: npt.ArrayLike, pairs: OrderedPairs, equal: Positions | None = None) -> LocalPair:
        """Keep features (n, d) and pairs; learn the metric, for which pairs of equal strength (m, 2) are similar."""
        if not len(pairs):
            raise DataError("There is no ordered pair to learn from; leave this attribute out.")
        self.rows_ = np.asarray(X, dtype=np.float64)
        self.pairs_ = pairs
        self.itml_ = self._learned(equal) if self.metric == "itml" else None
        self.gram_ = linear(self.rows_)
        return self

    def margins(self, Z: npt.ArrayLike, first: Positions, second: Positions) -> Doubles:
        """For each pair of rows of Z, by how much the first shows more than the second, by one model per pair."""
        return np.ascontiguousarray(self.margins_by_cost(Z, first, second, [self.C])[:, 0])

    def margins_by_cost(self, Z: npt.ArrayLike, first: Positions, second: Positions, costs: Sequence[float]) -> Doubles:
        """(pairs, costs): the margins with each of several C, for which a pair has the same neighbours."""
        rows = np.asarray(Z, dtype=np.float64)
        if self.itml_ is None:
            distances = squared_distances(rows, self.rows_)
        else:
            distances = squared_distances(self.itml_.transform(rows), self.itml_.transform(self.rows_))
        similarities = linear(rows, self.rows_)
        count = min(self.neighbours, len(self.pairs_))
        margins = np.empty((len(first), len(costs)))

        def answer(start: int) -> None:
            block = slice(start, start + _BLOCK)
            _answer(
                first[block],
                second[block],
                distances,
                similarities,
                self.gram_,
                self.pairs_.stronger,
                self.pairs_.weaker,
                count,
                np.array(costs, dtype=np.float64),
                self.max_sweeps,
                margins[block],
            )

        on_threads(answer, list(range(0, len(first), _BLOCK)))
        return margins

    def _learned(self, equal: Positions | None) -> ITML:
        rng = np.random.default_rng(self.seed)
        ordered = np.stack([self.pairs_.stronger, self.pairs_.weaker], axis=1)
        similar = np.empty((0, 2), dtype=np.intp) if equal is None else equal
        chosen = [kind[rng.permutation(len(kind))[: self.constraints]] for kind in (similar, ordered)]
        return ITML(seed=self.seed).fit(self.rows_, *chosen)


@njit(cache=True, nogil=True, error_model="numpy")
def _answer(
    first: Any,
    second: Any,
    distances: Any,
    similarities: Any,
    gram: Any,
    stronger: Any,
    weaker: Any,
    count: int,
    costs: Any,
    max_sweeps: int,
    margins: Any,
) -> None:
    likeness = np.empty(len(stronger))
    Q = np.empty((count, count))
    for question in range(len(first)):
        a, b = first[question], second[question]
        to_a, to_b = distances[a], distances[b]
        for p in range(len(stronger)):
            i, j = stronger[p], weaker[p]
            likeness[p] = min(to_a[i] * to_b[j], to_a[j] * to_b[i])
        chosen = _smallest(likeness, count)
        high, low = stronger[chosen], weaker[chosen]
        for p in range(count):
            toward, away = gram[high[p]], gram[low[p]]
            for q in range(p + 1):
                Q[p, q] = toward[high[q]] + away[low[q]] - toward[low[q]] - away[high[q]]
                Q[q, p] = Q[p, q]
        for place in range(len(costs)):
            alpha = _small_dual(Q, costs[place], max_sweeps)
            margin = 0.0
            for p in range(count):
                i, j = high[p], low[p]
                margin += alpha[p] * (similarities[a, i] - similarities[a, j] - similarities[b, i] + similarities[b, j])
            margins[question, place] = margin


@njit(cache=True, nogil=True)
def _smallest(values: Any, count: int) -> Any:
    """Positions of the `count` smallest values, the first of equals, in order of position."""
    limit = np.partition(values, count - 1)[count - 1]
    chosen = np.empty(count, dtype=np.intp)
    below = np.count_nonzero(values < limit)
    taken, equals = 0, 0
    for p in range(len(values)):
        if values[p] < limit or (values[p] == limit and equals < count - below):
            equals += values[p] == limit
            chosen[taken] = p
            taken += 1
    return chosen


@njit(cache=True, nogil=True, error_model="numpy")
def _small_dual(Q: Any, C: float, max_sweeps: int, tol: float = 1e-2) -> Any:
    """Eq. 4 of paper 004 for few pairs, where Q may be formed: coordinate descent on it."""
    alpha = np.zeros(len(Q))
    gradient = np.full(len(Q), -1.0)
    for _ in range(max_sweeps):
        gap = 0.0
        for p in range(len(Q)):
            violation = abs(projected(gradient[p], alpha[p], C))
            gap = max(gap, violation)
            if violation == 0.0:
                continue
            if Q[p, p] > 0.0:
                target = min(max(alpha[p] - gradient[p] / Q[p, p], 0.0), C)
            else:
                target = C if gradient[p] < 0.0 else 0.0
            step = target - alpha[p]
            alpha[p] = target
            for q in range(len(Q)):
                gradient[q] += step * Q[p, q]
        if gap <= tol:
            break
    return alpha
