"""φ(q, p): how alike two items are, by several similarities on several feature types (paper 003, section 3.1).

A feature type gives one number a similarity, oriented so that larger is more alike: cosine, negative L2, negative L1
and negative χ² distance. One pass over a block of rows computes all of them; blocks are fixed, so the result does
not depend on the number of threads.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numba import njit

from mediarank.types import DataError, Floats

SIMILARITIES: Final = ("cosine", "l2", "l1", "chi2")
BLOCK: Final = 4096


def phi(query: Floats, rows: Floats) -> Floats:
    """Similarities of one vector to many.

    query : (d,); rows : (n, d), possibly memory-mapped; returns (n, 4), columns as in SIMILARITIES

    >>> print(phi(np.float32([3, 4]), np.float32([[3, 5], [4, 3]])).round(2))
    [[ 0.99 -1.   -1.   -0.06]
     [ 0.96 -1.41 -2.   -0.14]]
    """
    if rows.ndim != 2 or query.shape != rows.shape[1:]:
        raise DataError(f"A query of shape {query.shape} can't be compared with rows of shape {rows.shape}.")
    out = np.empty((len(rows), len(SIMILARITIES)), dtype=np.float32)
    query = np.ascontiguousarray(query, dtype=np.float32)

    def fill(start: int) -> None:
        _phi_block(query, rows[start : start + BLOCK], out[start : start + BLOCK])

    starts = range(0, len(rows), BLOCK)
    if len(starts) <= 1:
        for start in starts:
            fill(start)
    else:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(fill, starts))
    return out


# error_model="numpy" lets the division vectorise; fastmath without the nan and inf flags reorders sums only.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"})
def _phi_block(query, rows, out):  # type: ignore[no-untyped-def]
    tiny = np.float32(1e-12)
    own = np.float32(0)
    for j in range(query.shape[0]):
        own += query[j] * query[j]
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
        out[i, 0] = dot / np.sqrt(own * norm + tiny)
        out[i, 1] = -np.sqrt(square)
        out[i, 2] = -absolute
        out[i, 3] = np.float32(-0.5) * chi
