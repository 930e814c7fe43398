"""Preferences hidden in keywords: which of two labelled images is nearer to a third, and how much it matters
(paper 001, section 2.1).

`consistency` compares keyword sets (eq 1), `draw_preferences` draws ordered pairs of images for each query image at
random and weighs each by how far NDCG@k would fall if the two changed places (eqs 2 and 3), in closed form.
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
    """One row a pair, pairs of a query together: for image `query`, `better` is nearer than `worse`.

    weight : the fall of NDCG@k, or the small constant where neither is among the first k
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
) -> Preferences:
    """`pairs` pairs for each query image, uniformly of all pairs whose consistencies with it differ.

    labels : (n, words) 0/1; queries : which images to ask with, by default all of them
    A query that shares no word with any other image has nothing to prefer and is skipped.
    """
    n = len(labels)
    asked = np.arange(n) if queries is None else queries
    if pairs < 1 or k < 1:
        raise DataError(f"Preferences need a pair a query and a position that counts at least, not {pairs} and {k}.")
    discount = discounts(k, n - 1)
    parts = [np.empty((0, 3), dtype=np.intp)]
    weights = [np.empty(0)]
    for start in range(0, len(asked), BLOCK):
        block = asked[start : start + BLOCK]
        for query, relevance in zip(block.tolist(), consistency(labels[block], labels).astype(np.float64), strict=True):
            relevance[query] = -1.0  # the query itself comes last, and is left out
            order = np.argsort(-relevance, kind="stable")[:-1]  # π: by falling relevance
            drawn = _draw(relevance[order], pairs, rng)
            if drawn is None:
                continue
            better, worse = drawn
            parts.append(np.stack([np.full(pairs, query), order[better], order[worse]], axis=1))
            weights.append(_weights(relevance[order], better, worse, discount, epsilon, k))
    joined = np.concatenate(parts)
    return Preferences(joined[:, 0], joined[:, 1], joined[:, 2], np.concatenate(weights))


def _draw(relevance: Doubles, pairs: int, rng: np.random.Generator) -> tuple[Positions, Positions] | None:
    """Positions in an order by falling relevance, the first of a pair strictly more relevant than the second."""
    n = len(relevance)
    first_lower = n - np.searchsorted(relevance[::-1], relevance, side="left")  # where the next lower grade begins
    choices = np.cumsum(n - first_lower)  # pairs that an item, or one before it, comes first in
    if not n or choices[-1] == 0:
        return None
    number = rng.integers(choices[-1], size=pairs)
    better = np.searchsorted(choices, number, side="right")
    return better, n - (choices[better] - number)


def _weights(
    relevance: Doubles, better: Positions, worse: Positions, discount: Doubles, epsilon: float, k: int
) -> Doubles:
    """Eqs 2 and 3: what is lost when the two change places."""
    gain = np.exp2(relevance)
    ideal = np.sum((gain[:k] - 1) * discount[:k])  # N_k
    fall = (gain[better] - gain[worse]) * (discount[better] - discount[worse]) / ideal
    return np.where(better < k, fall, epsilon)
