"""Relative tree and forest, after Li, Shan & Chen (ACCV 2012): a hierarchy of linear ranking functions.

The root ranks all training items and cuts their order in two; each half is ranked anew, by a function learned from the
pairs within it alone, and cut again. An item goes down by its scores, each cut halving the interval its final score
may lie in, and the function of its leaf places it there: the result is an order, piecewise linear in the features.
A forest averages trees grown on random halves of the columns and random draws of the items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.special import expit
from sklearn.base import BaseEstimator

from mediarank.learners.pairwise.ordered_pairs import OrderedPairs, Positions
from mediarank.learners.pairwise.ranksvm import Descent, solve_gram
from mediarank.types import Doubles

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Node:
    """A ranking function and, unless it is a leaf, where it cuts: scores above `cut` go to `high`, others to `low`.

    centre, spread : of the scores of its training items, to place an item within a leaf's interval
    """

    coef: Doubles
    centre: float
    spread: float
    cut: float = np.inf
    low: Node | None = None
    high: Node | None = None


class RelativeTree(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """
    smallest : items that a node must keep on either side of its cut; a node that can't is a leaf
    root_ : the tree
    """

    def __init__(self, C: float = 0.1, depth: int = 3, smallest: int = 20, seed: int = 0) -> None:
        self.C = C
        self.depth = depth
        self.smallest = smallest
        self.seed = seed

    def fit(self, X: npt.ArrayLike, pairs: OrderedPairs) -> RelativeTree:
        """Learn from features (n, d) and ordered pairs of rows."""
        rows = np.asarray(X, dtype=np.float64)
        self.root_ = self._grow(rows, rows @ rows.T, pairs, self.depth)
        return self

    def predict(self, X: npt.ArrayLike) -> Doubles:
        """Scores between 0 and 1."""
        rows = np.asarray(X, dtype=np.float64)
        scores = np.empty(len(rows))
        _place(self.root_, rows, np.arange(len(rows)), 0.0, 1.0, scores)
        return scores

    def _grow(self, rows: Matrix, K: Matrix, pairs: OrderedPairs, depth: int) -> Node:
        descent = Descent(self.C, "l2", 1e-2, 200, self.seed)
        beta = solve_gram(K, pairs, descent).coef
        scores = K @ beta
        function = rows.T @ beta, float(scores.mean()), float(scores.std()) or 1.0
        if depth == 0 or len(rows) < 2 * self.smallest:
            return Node(*function)
        cut = _best_cut(scores, pairs.stronger, pairs.weaker, self.smallest)
        sides = [np.flatnonzero(scores <= cut), np.flatnonzero(scores > cut)]
        within = [pairs.within(side) for side in sides]
        if not np.isfinite(cut) or not all(map(len, within)):
            return Node(*function)
        low, high = (
            self._grow(rows[side], K[np.ix_(side, side)], inner, depth - 1)
            for side, inner in zip(sides, within, strict=True)
        )
        return Node(*function, cut=float(cut), low=low, high=high)


class RelativeForest(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """trees_ : each with the columns it looks at."""

    def __init__(
        self, trees: int = 30, columns: float = 0.5, C: float = 0.1, depth: int = 3, smallest: int = 20, seed: int = 0
    ) -> None:
        self.trees = trees
        self.columns = columns
        self.C = C
        self.depth = depth
        self.smallest = smallest
        self.seed = seed

    def fit(self, X: npt.ArrayLike, pairs: OrderedPairs) -> RelativeForest:
        rows = np.asarray(X, dtype=np.float64)
        rng = np.random.default_rng(self.seed)
        kept = max(1, round(self.columns * rows.shape[1]))
        self.trees_: list[tuple[Positions, RelativeTree]] = []
        while len(self.trees_) < self.trees:
            columns = np.sort(rng.choice(rows.shape[1], kept, replace=False))
            items = np.unique(rng.choice(len(rows), len(rows)))
            # A draw without a pair has nothing to rank; with one pair in all, every tree takes all items.
            items = items if len(pairs.within(items)) else np.arange(len(rows))
            tree = RelativeTree(self.C, self.depth, self.smallest, self.seed)
            self.trees_.append((columns, tree.fit(rows[np.ix_(items, columns)], pairs.within(items))))
        return self

    def predict(self, X: npt.ArrayLike) -> Doubles:
        rows = np.asarray(X, dtype=np.float64)
        return np.asarray(np.mean([tree.predict(rows[:, columns]) for columns, tree in self.trees_], axis=0))


def _place(node: Node, rows: Matrix, here: Positions, low: float, high: float, scores: Doubles) -> None:
    """Write the scores of the items `here` that have come to `node`, within [low, high]."""
    values = rows[here] @ node.coef
    if node.low is None or node.high is None:
        scores[here] = low + (high - low) * expit((values - node.centre) / node.spread)
        return
    middle = (low + high) / 2
    _place(node.low, rows, here[values <= node.cut], low, middle, scores)
    _place(node.high, rows, here[values > node.cut], middle, high, scores)


@njit(cache=True)
def _best_cut(scores: Any, stronger: Any, weaker: Any, smallest: int) -> float:
    """The cut that parts the most pairs rightly rather than wrongly; infinity if none parts more of them rightly."""
    order = np.argsort(scores)
    place = np.empty(len(scores), dtype=np.intp)
    place[order] = np.arange(len(scores))
    # A pair is parted by the cuts between its two places: +1 where they begin, −1 where they end.
    change = np.zeros(len(scores) + 1)
    for p in range(len(stronger)):
        change[place[weaker[p]]] += 1.0
        change[place[stronger[p]]] -= 1.0
    best, cut, net = 0.0, np.inf, 0.0
    for k in range(len(scores) - 1):
        net += change[k]
        balanced = k + 1 >= smallest and len(scores) - k - 1 >= smallest
        if balanced and net > best and scores[order[k]] < scores[order[k + 1]]:
            best, cut = net, scores[order[k]]
    return cut
