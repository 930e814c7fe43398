"""TagProp σML: weights of distances learned by how well neighbours predict keywords (Guillaumin et al. 2009).

A word's share among the neighbours of an image, each weighted by `exp(−θ·d)`, goes through the word's own sigmoid,
which lets rare words be suggested. θ ≥ 0 and the sigmoids are learned together by maximum likelihood, in which
all present words together count as much as all absent ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.optimize import minimize
from scipy.special import expit
from threadpoolctl import threadpool_limits

from mediarank.learners.neighbours.keywords import Keywords
from mediarank.similarity.row_blocks import for_blocks
from mediarank.types import DataError, Doubles, Floats

BLOCK: Final = 256


@dataclass
class TagProp:
    """TagProp σML.

    iterations : at most this many steps of L-BFGS
    start : what the weights of all distances, which should have unit spread, sum to at first
    """

    iterations: int = 100
    start: float = 4.0
    weights_: Doubles = field(init=False, repr=False)
    slopes_: Doubles = field(init=False, repr=False)
    offsets_: Doubles = field(init=False, repr=False)
    losses_: list[float] = field(init=False, repr=False)

    def fit(
        self, places: npt.NDArray[np.int64], distances: Floats, keywords: Keywords, own: Keywords | None = None
    ) -> TagProp:
        """Learn weights and sigmoids.

        places (images, k) : neighbours of each training image, without itself
        distances (images, k, types) : to these neighbours, by feature type
        keywords : of the images that `places` names
        own : keywords of the images asked about, if they are other images
        """
        asked = keywords if own is None else own
        if distances.shape[:2] != places.shape or len(asked) != len(places):
            raise DataError(
                f"Neighbours {places.shape}, distances {distances.shape} and {len(asked)} images don't fit."
            )
        types, words = distances.shape[2], len(keywords.words)
        present = asked.rows.astype(np.bool_)
        positives = max(int(present.sum()), 1)
        balance = 1 / positives, 1 / max(present.size - positives, 1)
        starts, listed = keywords.by_image

        def objective(parameters: Doubles) -> tuple[float, Doubles]:
            theta, slopes, offsets = np.split(parameters, [types, types + words])
            # one sum per block, added up in order: the result does not depend on the number of threads
            blocks = -(-len(places) // BLOCK)
            losses, gradients = np.zeros(blocks), np.zeros((blocks, len(parameters)))

            def add(rows: slice) -> None:
                block = rows.start // BLOCK
                losses[block] = _likelihood(
                    places[rows], distances[rows], present[rows], starts, listed, theta, slopes, offsets, *balance,
                    gradients[block],
                )  # fmt: skip

            for_blocks(add, len(places), BLOCK)
            self.losses_.append(float(losses.sum()))
            return float(losses.sum()), gradients.sum(axis=0)

        self.losses_ = []
        first = np.concatenate([np.full(types, self.start / types), np.full(words, 10.0), np.full(words, -2.0)])
        bounds = [(0.0, None)] * types + [(0.0, None)] * words + [(None, None)] * words
        with threadpool_limits(1):  # a few hundred numbers: more threads would only wait for each other
            found = minimize(
                objective, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": self.iterations}
            )
        self.weights_, self.slopes_, self.offsets_ = np.split(found.x, [types, types + words])
        return self

    def predict(self, places: npt.NDArray[np.int64], distances: Floats, keywords: Keywords) -> Floats:
        """(images, words): how probable each word is."""
        return propagated(places, distances, keywords, self.weights_, self.slopes_, self.offsets_)


def propagated(
    places: npt.NDArray[np.int64],
    distances: Floats,
    keywords: Keywords,
    weights: Doubles,
    slopes: Doubles,
    offsets: Doubles,
) -> Floats:
    """The model's probabilities, from the learned numbers."""
    shares = np.zeros((len(places), len(keywords.words)))
    _shares(places, distances, *keywords.by_image, weights, shares)
    return np.asarray(expit(slopes * shares + offsets), dtype=np.float32)


@njit(cache=True, nogil=True)
def _softmax(distances: Any, theta: Any, weights: Any) -> None:
    """π of one image's neighbours."""
    best = -np.inf
    for j in range(len(weights)):
        total = 0.0
        for k in range(len(theta)):
            total -= theta[k] * distances[j, k]
        weights[j] = total
        best = max(best, total)
    whole = 0.0
    for j in range(len(weights)):
        weights[j] = np.exp(weights[j] - best)
        whole += weights[j]
    for j in range(len(weights)):
        weights[j] /= whole


@njit(cache=True, nogil=True)
def _shares(places: Any, distances: Any, starts: Any, words: Any, theta: Any, shares: Any) -> None:
    weights = np.empty(places.shape[1])
    for i in range(places.shape[0]):
        _softmax(distances[i], theta, weights)
        for j in range(places.shape[1]):
            for at in range(starts[places[i, j]], starts[places[i, j] + 1]):
                shares[i, words[at]] += weights[j]


@njit(cache=True, nogil=True)
def _likelihood(
    places: Any,
    distances: Any,
    present: Any,
    starts: Any,
    words: Any,
    theta: Any,
    slopes: Any,
    offsets: Any,
    positive: float,
    negative: float,
    gradient: Any,
) -> float:
    """The negative log-likelihood of a block of images; its gradient by θ, slopes and offsets is added up."""
    types, count = len(theta), len(slopes)
    weights = np.empty(places.shape[1])
    pull = np.empty(places.shape[1])
    x = np.empty(count)
    by_share = np.empty(count)
    loss = 0.0
    for i in range(places.shape[0]):
        _softmax(distances[i], theta, weights)
        x[:] = 0.0
        for j in range(len(weights)):
            for at in range(starts[places[i, j]], starts[places[i, j] + 1]):
                x[words[at]] += weights[j]
        for w in range(count):
            z = slopes[w] * x[w] + offsets[w]
            # log(1 + e^z) without overflow
            soft = max(z, 0.0) + np.log1p(np.exp(-abs(z)))
            p = np.exp(z - soft)
            if present[i, w]:
                loss += positive * (soft - z)
                by_z = positive * (p - 1.0)
            else:
                loss += negative * soft
                by_z = negative * p
            gradient[types + w] += by_z * x[w]
            gradient[types + count + w] += by_z
            by_share[w] = by_z * slopes[w]
        mean = 0.0
        for j in range(len(weights)):
            pull[j] = 0.0
            for at in range(starts[places[i, j]], starts[places[i, j] + 1]):
                pull[j] += by_share[words[at]]
            mean += weights[j] * pull[j]
        for j in range(len(weights)):
            by_logit = weights[j] * (pull[j] - mean)
            for k in range(types):
                gradient[k] -= by_logit * distances[i, j, k]
    return loss
