"""φ(q, p): how similar two items are, by several similarities on several feature types (paper 003, section 3.1).

A feature type gives one number per similarity, oriented so that larger means more similar: cosine, negative L2,
negative L1 and negative χ² distance. `phi_over_types` keeps them all, to learn from, and `phi_of_queries` does so for
several queries; `weighted_phi` adds them up with given weights in the same pass and keeps one score per item, to search
with. All read every row once, a fixed block at a time on all cores, so the result does not depend on the number of
threads and memory-mapped features stay on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.fanout import jobs
from mediarank.types import DataError, Floats

SIMILARITIES: Final = ("cosine", "l2", "l1", "chi2")
BLOCK: Final = 4096
_WIDTH: Final = len(SIMILARITIES)
_TILE: Final = 32
"""Rows that are compared with all queries before the next ones; 32 of 1,280 dimensions fit into the second cache."""


def phi(query: Floats, rows: Floats) -> Floats:
    """Similarities of one vector to many.

    query : (d,); rows : (n, d), possibly memory-mapped; returns (n, 4), columns as in SIMILARITIES

    >>> print(phi(np.float32([3, 4]), np.float32([[3, 5], [4, 3]])).round(2))
    [[ 0.99 -1.   -1.   -0.06]
     [ 0.96 -1.41 -2.   -0.14]]
    """
    return phi_over_types([query], [rows])


def phi_over_types(queries: Sequence[Floats], collections: Sequence[Floats]) -> Floats:
    """φ of one query over several feature types: (n, 4 × types).

    queries[k] : (d_k,)
    collections[k] : (n, d_k)
    """
    found: Floats = phi_of_queries([query[None] for query in queries], collections)[0]
    return found


def phi_of_queries(queries: Sequence[Floats], collections: Sequence[Floats]) -> Floats:
    """φ of several queries over several feature types: (m, n, 4 × types).

    The rows are read from memory once for all queries, so this takes less time than one query after another; the
    numbers are the same, bit for bit.

    queries[k] : (m, d_k)
    collections[k] : (n, d_k)
    """
    queries, asked, count = _comparable(queries, collections)
    out = np.empty((asked, count, _WIDTH * len(queries)), dtype=np.float32)

    def fill(start: int) -> None:
        stop = start + BLOCK
        for k, (own, rows) in enumerate(zip(queries, collections, strict=True)):
            # numba adds in another order where rows are not contiguous
            block = np.ascontiguousarray(rows[start:stop])
            _phi_block(own, block, out[:, start:stop, _WIDTH * k : _WIDTH * (k + 1)])

    _for_blocks(fill, count)
    return out


def weighted_phi(
    queries: Sequence[Floats], collections: Sequence[Floats], weights: npt.ArrayLike, offset: float = 0.0
) -> Floats:
    """`weights · φ + offset` of one query and every row, (n,), without keeping φ. weights : (4 × types,)"""
    queries, _, count = _comparable([query[None] for query in queries], collections)
    given = np.ascontiguousarray(weights, dtype=np.float32)
    if given.shape != (_WIDTH * len(queries),):
        raise DataError(
            f"φ over {len(queries)} feature types has {_WIDTH * len(queries)} dimensions; weights of shape "
            f"{given.shape} don't fit."
        )
    out = np.full(count, offset, dtype=np.float32)

    def add(start: int) -> None:
        for k, (query, rows) in enumerate(zip(queries, collections, strict=True)):
            own = given[_WIDTH * k : _WIDTH * (k + 1)]
            _weighted_block(query[0], rows[start : start + BLOCK], own, out[start : start + BLOCK])

    _for_blocks(add, count)
    return out


def _comparable(queries: Sequence[Floats], collections: Sequence[Floats]) -> tuple[list[Floats], int, int]:
    """The queries as contiguous matrices, their number and the number of rows, once all shapes fit."""
    if not queries or len(queries) != len(collections):
        raise DataError(f"A query of {len(queries)} feature types can't be compared with rows of {len(collections)}.")
    for query, rows in zip(queries, collections, strict=True):
        if rows.ndim != 2 or query.ndim != 2 or query.shape[1:] != rows.shape[1:]:
            raise DataError(f"A query of shape {query.shape[1:]} can't be compared with rows of shape {rows.shape}.")
    asked, counts = ({len(matrix) for matrix in matrices} for matrices in (queries, collections))
    if len(counts) > 1:
        raise DataError(f"Feature types must describe the same items, but have {sorted(counts)} rows.")
    if len(asked) > 1:
        raise DataError(f"Feature types must describe the same queries, but have {sorted(asked)} of them.")
    return [np.ascontiguousarray(query, dtype=np.float32) for query in queries], asked.pop(), counts.pop()


def _for_blocks(function: Callable[[int], None], count: int) -> None:
    starts = range(0, count, BLOCK)
    workers = min(jobs(), len(starts))
    if workers <= 1:
        for start in starts:
            function(start)
        return
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(function, starts):
            pass  # reading the results raises what a thread raised


# error_model="numpy" lets the division vectorise; fastmath without the nan and inf flags reorders sums only.
_compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"})


@_compiled
def _squared_length(query: Any) -> Any:
    own = np.float32(0)
    for j in range(query.shape[0]):
        own += query[j] * query[j]
    return own


@_compiled
def _phi_block(queries: Any, rows: Any, out: Any) -> None:
    """Compare all queries with one tile of rows after another, so that a tile is read from the cache.

    queries : (m, d); rows : (n, d); out : (m, n, 4)
    """
    tiny = np.float32(1e-12)
    lengths = np.empty(queries.shape[0], np.float32)
    sizes = np.empty(queries.shape, np.float32)
    for k in range(queries.shape[0]):
        lengths[k] = _squared_length(queries[k])
        for j in range(queries.shape[1]):
            sizes[k, j] = abs(queries[k, j]) + tiny
    for start in range(0, rows.shape[0], _TILE):
        stop = min(start + _TILE, rows.shape[0])
        for k in range(queries.shape[0]):
            for i in range(start, stop):
                dot = np.float32(0)
                norm = np.float32(0)
                square = np.float32(0)
                absolute = np.float32(0)
                chi = np.float32(0)
                for j in range(queries.shape[1]):
                    q, p = queries[k, j], rows[i, j]
                    difference = q - p
                    squared = difference * difference  # before the sums: with it behind them LLVM's code is slower
                    dot += q * p
                    norm += p * p
                    square += squared
                    absolute += abs(difference)
                    chi += squared / (sizes[k, j] + abs(p))
                out[k, i, 0] = dot / np.sqrt(lengths[k] * norm + tiny)
                out[k, i, 1] = -np.sqrt(square)
                out[k, i, 2] = -absolute
                out[k, i, 3] = np.float32(-0.5) * chi


@_compiled
def _weighted_block(query: Any, rows: Any, weights: Any, out: Any) -> None:
    tiny = np.float32(1e-12)
    own = _squared_length(query)
    for i in range(rows.shape[0]):
        dot = np.float32(0)
        norm = np.float32(0)
        square = np.float32(0)
        absolute = np.float32(0)
        chi = np.float32(0)
        for j in range(query.shape[0]):
            q, p = query[j], rows[i, j]
            difference = q - p
            dot += q * p
            norm += p * p
            square += difference * difference
            absolute += abs(difference)
            chi += difference * difference / (abs(q) + abs(p) + tiny)
        alike = weights[0] * dot / np.sqrt(own * norm + tiny)
        out[i] += alike - weights[1] * np.sqrt(square) - weights[2] * absolute - np.float32(0.5) * weights[3] * chi
