"""Keywords from neighbours: scores of words from the nearest labelled images (paper 001, section 3).

First the neighbours, found by selection from similarities of any ranking function; then three ways to score words,
each from neighbours and keywords to (queries, words) scores, higher is better: `count_relevance` is eq 6,
`voted` lets near neighbours count more, `transferred` is JEC's rule (Makadia et al. 2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.learners.neighbours.keywords import Keywords
from mediarank.similarity.nearest import top
from mediarank.similarity.row_blocks import for_blocks
from mediarank.types import DataError, Doubles, Floats

BLOCK: Final = 64


@dataclass(frozen=True, eq=False)
class Neighbours:
    """places (queries, k) : labelled images, nearest first; scores : their similarities"""

    places: npt.NDArray[np.int64]
    scores: Floats

    @property
    def k(self) -> int:
        return int(self.places.shape[1])


def find_neighbours(similarity: Floats, k: int) -> Neighbours:
    """The k most similar of each row, all if there are fewer; among equals the earlier is first."""
    if k < 1:
        raise DataError(f"An image needs at least one neighbour, not {k}.")
    count = min(k, similarity.shape[1])
    places = np.empty((len(similarity), count), dtype=np.int64)

    def find(rows: slice) -> None:
        for q in range(rows.start, rows.stop):
            places[q] = top(similarity[q], count)

    for_blocks(find, len(similarity), BLOCK)
    return Neighbours(places, np.take_along_axis(similarity, places, axis=1))


def count_relevance(neighbours: Neighbours, keywords: Keywords, k: int) -> Floats:
    """Eq 6 with the prior on the neighbours' scale: how much more often a word occurs among k than by chance."""
    places = neighbours.places[:, :k]
    prior = places.shape[1] * keywords.frequencies / max(len(keywords), 1)
    return np.asarray(_counted(places, np.ones(places.shape), keywords) - prior, dtype=np.float32)


def voted(neighbours: Neighbours, keywords: Keywords, k: int, sharpness: float) -> Floats:
    """A word's share of the votes of the k nearest, which fall off as `exp(sharpness · (s − s₁))`."""
    places, scores = neighbours.places[:, :k], neighbours.scores[:, :k].astype(np.float64)
    weights = np.exp(sharpness * (scores - scores[:, :1]))
    weights /= weights.sum(axis=1, keepdims=True)
    return _counted(places, weights, keywords).astype(np.float32)


def transferred(neighbours: Neighbours, keywords: Keywords, k: int) -> Floats:
    """JEC's rule: words of the nearest image first, then those of the other neighbours.

    Frequent words of the nearest image come before others; the words of neighbours 2 … k are ordered by how often they
    occur there, times how often they occur in training images together with the first ones.

    The nearest image's words score above 1, the others up to 1.
    """
    frequencies = keywords.frequencies
    together = (keywords.rows.T @ keywords.rows).astype(np.float64)
    first = keywords.rows[neighbours.places[:, 0]].astype(np.float64)
    others = neighbours.places[:, 1:k]
    local = _counted(others, np.ones(others.shape), keywords)
    rest = local * (first @ together)
    # where the nearest image has no words, only the counts among the others are left
    rest = np.where(first.any(axis=1, keepdims=True), rest, local) * (first == 0)
    rest /= np.maximum(rest.max(axis=1, keepdims=True), 1e-12)
    return np.asarray(np.where(first > 0, 1 + frequencies / max(frequencies.max(), 1), rest), dtype=np.float32)


def _counted(places: npt.NDArray[np.int64], weights: Doubles, keywords: Keywords) -> Doubles:
    votes = np.zeros((len(places), len(keywords.words)))
    _vote(places, weights, *keywords.by_image, votes)
    return votes


@njit(cache=True, nogil=True)
def _vote(places: Any, weights: Any, starts: Any, words: Any, votes: Any) -> None:
    for q in range(places.shape[0]):
        for n in range(places.shape[1]):
            image = places[q, n]
            for j in range(starts[image], starts[image + 1]):
                votes[q, words[j]] += weights[q, n]
