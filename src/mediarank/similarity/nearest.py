"""The best items of a collection: `top` of any scores, `nearest` by one exact pass of weighted φ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mediarank.similarity.phi import weighted_phi
from mediarank.types import DataError, Floats

Positions = npt.NDArray[np.intp]


def top(scores: npt.ArrayLike, count: int) -> Positions:
    """Positions of the `count` highest scores, highest first; among equals the earlier is first.

    >>> top([0.1, 0.5, 0.5, 0.9], 3).tolist()
    [3, 1, 2]
    """
    values = np.asarray(scores)
    if count < 1:
        raise DataError(f"A search must show at least one item, not {count}.")
    if count >= len(values):
        return np.argsort(-values, kind="stable")
    bound = np.partition(values, len(values) - count)[len(values) - count]
    better = np.flatnonzero(values > bound)
    equal = np.flatnonzero(values == bound)[: count - len(better)]
    found = np.sort(np.concatenate([better, equal]))
    return found[np.argsort(-values[found], kind="stable")]


def nearest(
    queries: Sequence[Floats],
    collections: Sequence[Floats],
    weights: npt.ArrayLike,
    count: int,
    among: Positions | None = None,
) -> tuple[Positions, Floats]:
    """Positions and `weights · φ` of the best rows, by one exact pass.

    queries[k] : (d_k,); collections[k] : (n, d_k), possibly memory-mapped; weights : (4 × types,)
    among : use these rows only, such as those of a shortlist
    """
    if among is not None:
        chosen = np.sort(among)
        positions, scores = nearest(queries, [rows[chosen] for rows in collections], weights, count)
        return chosen[positions], scores
    scores = weighted_phi(queries, collections, weights)
    positions = top(scores, count)
    return positions, scores[positions]
