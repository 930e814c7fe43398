"""Summarise a feature matrix, one row per dimension, for data checks, which only read summaries."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mediarank.types import FeatureMatrix

_BLOCK = 256
"""Rows read at a time, so that a memory-mapped matrix stays on disk, and a block in the processor's cache."""


def summarise(matrix: FeatureMatrix) -> pd.DataFrame:
    """dimension, n, nan_share, inf_share, constant, minimum, maximum, mean, std; rows in the order of the matrix.

    n counts the finite values. The statistics are over those, and 0 where there are none.
    """
    width = len(matrix.names)
    count, missing, total = np.zeros(width), np.zeros(width), np.zeros(width)
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    for start in range(0, len(matrix), _BLOCK):
        block = np.asarray(matrix.values[start : start + _BLOCK], dtype=np.float64)
        finite = np.isfinite(block)
        if finite.all():
            count += len(block)
            total += block.sum(axis=0)
            low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
            continue
        count += finite.sum(axis=0)
        missing += np.isnan(block).sum(axis=0)
        total += np.where(finite, block, 0.0).sum(axis=0)
        low = np.minimum(low, np.where(finite, block, np.inf).min(axis=0))
        high = np.maximum(high, np.where(finite, block, -np.inf).max(axis=0))
    seen = np.maximum(count, 1)
    mean = total / seen
    squares = np.zeros(width)
    for start in range(0, len(matrix), _BLOCK):  # a second pass: squares of raw values would lose digits
        block = matrix.values[start : start + _BLOCK] - mean
        block[~np.isfinite(block)] = 0.0
        squares += np.square(block, out=block).sum(axis=0)
    return pd.DataFrame(
        {
            "dimension": list(matrix.names),
            "n": count.astype(np.int64),
            "nan_share": missing / max(len(matrix), 1),
            "inf_share": (len(matrix) - count - missing) / max(len(matrix), 1),
            "constant": (count > 0) & (low == high),
            "minimum": np.where(count > 0, low, 0.0),
            "maximum": np.where(count > 0, high, 0.0),
            "mean": mean,
            "std": np.sqrt(squares / seen),
        }
    )
