"""Concatenate features of several types, each value scaled to [0, 1] over the training items.

This is the baseline of paper 004, section 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mediarank.types import DataError, Floats


@dataclass(frozen=True, eq=False)
class UnitRange:
    """low, span (d,) : of each column over the training items; a column that never varies becomes 0"""

    low: Floats
    span: Floats

    @classmethod
    def fit(cls, parts: Sequence[Floats]) -> UnitRange:
        rows = np.concatenate(parts, axis=1)
        low, high = rows.min(axis=0), rows.max(axis=0)
        return cls(low, np.where(high > low, high - low, np.inf).astype(rows.dtype))

    def transform(self, parts: Sequence[Floats]) -> Floats:
        """Other items may fall outside [0, 1]; they are not clipped, since that would lose their order."""
        rows = np.concatenate(parts, axis=1)
        if rows.shape[1] != len(self.low):
            raise DataError(f"{len(self.low)} columns were scaled, but {rows.shape[1]} are given.")
        return np.asarray((rows - self.low) / self.span, dtype=rows.dtype)
