"""Weights of distances by a large margin, as 2PKNN's metric learning (Verma & Jawahar 2012), for whole feature types.

For each training image, the nearest image of each of its words shall be nearer, by a margin of 1, than the nearest
images of other words that share none with it. The squared hinge loss over these triples is minimised with weights of
0 and above, near those that it starts from. The authors also weight single dimensions; here a type has one weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.optimize import minimize

from mediarank.learners.neighbours.keywords import Keywords
from mediarank.types import Doubles, Floats

Places = npt.NDArray[np.int64]
IMPOSTORS: Final = 10
"""Of each image: the nearest of those that other words put forward."""


@dataclass(frozen=True, eq=False)
class Triples:
    """query, target, impostor (triples,) : places of images"""

    query: Places
    target: Places
    impostor: Places


def draw_triples(similarity: Floats, asked: npt.NDArray[np.intp], keywords: Keywords) -> Triples:
    """The triples of each query. similarity (queries, images); asked : positions of the queries among the images"""
    own = keywords.rows[asked]
    shares = own @ keywords.rows.T > 0
    found = []
    starts, images = keywords.by_word
    for place, row in enumerate(similarity):
        nearest = _nearest_by_word(row, starts, images)
        targets = np.unique(nearest[(own[place] > 0) & (nearest >= 0)])
        others = np.unique(nearest[(own[place] == 0) & (nearest >= 0)])
        others = others[~shares[place, others]]
        others = others[np.argsort(-row[others], kind="stable")][:IMPOSTORS]
        found.append(np.stack(np.meshgrid([place], targets, others, indexing="ij"), axis=-1).reshape(-1, 3))
    query, target, impostor = np.concatenate(found).astype(np.int64).T
    return Triples(query, target, impostor)


def fit_margin(targets: Floats, impostors: Floats, start: Doubles, penalty: float = 1.0) -> Doubles:
    """Weights (types,) of 0 and above.

    targets, impostors (triples, types) : distances, which should have unit spread
    start (types,) : the weights that a penalty pulls towards
    """
    gaps = (targets - impostors).astype(np.float64)

    def objective(weights: Doubles) -> tuple[float, Doubles]:
        slack = np.maximum(1.0 + gaps @ weights, 0.0)
        away = weights - start
        loss = float(np.square(slack).mean() + penalty * np.square(away).sum())
        return loss, 2 * (gaps.T @ slack) / len(gaps) + 2 * penalty * away

    if not len(gaps):
        return start
    bounds = [(0.0, None)] * len(start)
    return np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


@njit(cache=True, nogil=True)
def _nearest_by_word(similarity: Any, starts: Any, images: Any) -> Any:
    """The nearest image of each word, the first of equals; −1 where a word has none."""
    nearest = np.full(len(starts) - 1, -1, dtype=np.int64)
    for word in range(len(nearest)):
        best = -np.inf
        for at in range(starts[word], starts[word + 1]):
            if similarity[images[at]] > best:
                best = similarity[images[at]]
                nearest[word] = images[at]
    return nearest
