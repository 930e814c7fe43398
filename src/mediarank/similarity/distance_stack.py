"""Distances of some items to a collection by several feature types at once, and their scaling.

`stack_distances` computes them type by type into one array. `spreads` gives the divisor of each type, so that all types
have equal weight when they are added: the deviation of its distances. A constant feature type has no influence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mediarank.similarity.distances import DISTANCES
from mediarank.types import ConfigError, DataError, Floats


def stack_distances(queries: Sequence[Floats], collection: Sequence[Floats], measures: Sequence[str]) -> Floats:
    """(types, queries, items) float32.

    queries[k] : (q, d_k)
    collection[k] : (n, d_k)
    measures[k] : in DISTANCES
    """
    unknown = [name for name in measures if name not in DISTANCES]
    if unknown:
        raise ConfigError(f"There is no distance {', '.join(unknown)}; choose one of {', '.join(DISTANCES)}.")
    if not queries or not len(queries) == len(collection) == len(measures):
        raise DataError(
            f"{len(queries)} and {len(collection)} feature types with {len(measures)} distances don't fit together."
        )
    counts = {(len(asked), len(rows)) for asked, rows in zip(queries, collection, strict=True)}
    if len(counts) > 1:
        raise DataError(f"Feature types must describe the same items, but have {sorted(counts)} rows.")
    [shape] = counts
    out = np.empty((len(queries), *shape), dtype=np.float32)
    for k, (asked, rows, measure) in enumerate(zip(queries, collection, measures, strict=True)):
        # within one set, half of the pairs are enough for all distances but KL
        out[k] = DISTANCES[measure](asked, None if asked is rows else rows)
    return out


def spreads(stack: Floats) -> Floats:
    """The deviation of each type's distances over the pairs of a training stack; infinite for a constant type."""
    found = np.array([_deviation(values) for values in stack])
    return np.where(found > 1e-9, found, np.inf).astype(np.float32)


def _deviation(values: Floats, block: int = 256) -> float:
    """The deviation in double precision, a few rows at a time, since there may be gigabytes of them."""
    mean = values.mean(dtype=np.float64)
    parts = (values[start : start + block] - mean for start in range(0, len(values), block))
    return float(np.sqrt(sum(float(np.square(part).sum()) for part in parts) / values.size))


def weighted_similarity(stack: Floats, weights: Floats, block: int = 256) -> Floats:
    """(queries, items): `−Σ_k weights_k d_k`, types added in their order."""
    out = np.zeros(stack.shape[1:], dtype=np.float32)
    for start in range(0, stack.shape[1], block):
        rows = slice(start, start + block)
        for k in np.flatnonzero(weights).tolist():
            out[rows] -= weights[k] * stack[k, rows]
    return out
