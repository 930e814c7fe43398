"""Features of several types in one vector, each type scaled to [0, 1] by one factor (paper 004, section 4.2).

"Each feature set separately" is scaled: one range per type. A range per column would make the rarest bins of a sparse
histogram count as much as the fullest ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mediarank.types import DataError, Floats


@dataclass(frozen=True, eq=False)
class UnitRange:
    """low, span (d,) : per column of the joint vector, equal within a type; a type that never varies becomes 0"""

    low: Floats
    span: Floats

    @classmethod
    def fit(cls, parts: Sequence[Floats]) -> UnitRange:
        """The ranges of training items. parts : (items, d_k) per feature type"""
        widths = [part.shape[1] for part in parts]
        lows, highs = ([float(edge(part)) for part in parts] for edge in (np.min, np.max))
        spans = [high - low if high > low else np.inf for low, high in zip(lows, highs, strict=True)]
        return cls(np.repeat(lows, widths).astype(np.float32), np.repeat(spans, widths).astype(np.float32))

    def transform(self, parts: Sequence[Floats]) -> Floats:
        """Scale other items. Values outside [0, 1] are not clipped, because clipping would lose their order."""
        rows = np.concatenate(parts, axis=1)
        if rows.shape[1] != len(self.low):
            raise DataError(f"{len(self.low)} columns were scaled, but {rows.shape[1]} are given.")
        return np.asarray((rows - self.low) / self.span, dtype=rows.dtype)
