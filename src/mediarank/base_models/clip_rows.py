"""The rows of clips in a feature matrix: one per clip, or one per frame (`clip#003`) where the family keeps frames."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mediarank.types import FeatureMatrix, Floats

Integers = npt.NDArray[np.intp]


@dataclass(frozen=True)
class ClipRows:
    """Rows of clips, clip after clip.

    clips : the given clips that have a row, in the given order
    rows : positions in the matrix
    clip : (rows,) which of `clips` each row belongs to
    """

    clips: tuple[str, ...]
    rows: Integers
    clip: Integers

    @classmethod
    def of(cls, matrix: FeatureMatrix, clips: Iterable[str]) -> ClipRows:
        rows_of: dict[str, list[int]] = {clip: [] for clip in clips}
        for row, name in enumerate(matrix.ids.tolist()):
            owner, _, frame = name.rpartition("#")
            if name in rows_of:
                rows_of[name].append(row)
            elif frame.isdecimal() and owner in rows_of:
                rows_of[owner].append(row)
        found = {clip: rows for clip, rows in rows_of.items() if rows}
        return cls(
            tuple(found),
            np.array([row for rows in found.values() for row in rows], dtype=np.intp),
            np.repeat(np.arange(len(found)), [len(rows) for rows in found.values()]),
        )

    def few(self, most: int, seed: int) -> ClipRows:
        """At most `most` rows of each clip, drawn at random with a seed made from the clip's name."""
        kept = []
        for clip, rows in zip(self.clips, self.split(), strict=True):
            if len(rows) > most:
                rng = np.random.default_rng([seed, zlib.crc32(clip.encode())])
                rows = np.sort(rng.choice(rows, most, replace=False))
            kept.append(rows)
        chosen = np.concatenate(kept) if kept else np.zeros(0, dtype=np.intp)
        return ClipRows(self.clips, self.rows[chosen], self.clip[chosen])

    def split(self) -> Sequence[Integers]:
        """Positions in `rows` of each clip."""
        return np.split(np.arange(len(self.rows)), np.flatnonzero(np.diff(self.clip)) + 1) if len(self.rows) else []

    def mean(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """(clips, columns) means over the rows of each clip of values (rows, columns)."""
        totals = np.add.reduceat(values, self._starts(), axis=0) if len(self.clips) else values[:0]
        return np.asarray(totals / np.bincount(self.clip, minlength=len(self.clips))[:, None])

    def maximum(self, values: Floats) -> Floats:
        """(clips, columns) maxima over the rows of each clip."""
        return np.asarray(np.maximum.reduceat(values, self._starts(), axis=0) if len(self.clips) else values[:0])

    def _starts(self) -> Integers:
        return np.searchsorted(self.clip, np.arange(len(self.clips)))
