"""One vector per clip, and those of several feature types side by side: what a fusion of kernels compares.

The rows of a clip are averaged; square roots keep a few large values from outweighing all others. The intersection
kernel of vectors that are put side by side, each divided by the spread of its kernel, is the sum of the kernels, each
of unit spread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mediarank.base_models.clip_rows import ClipRows
from mediarank.similarity.kernels import intersection
from mediarank.types import Doubles, FeatureMatrix


def clip_vectors(matrix: FeatureMatrix, clips: Sequence[str]) -> FeatureMatrix:
    """One row per clip that has rows; values below 0 count as 0."""
    rows = ClipRows.of(matrix, sorted(set(clips)))
    roots = np.sqrt(np.maximum(rows.mean(matrix.values[rows.rows].astype(np.float64)), 0))
    return FeatureMatrix(np.asarray(rows.clips, dtype=str), matrix.names, roots.astype(np.float32))


def kernel_spread(vectors: FeatureMatrix, clips: Sequence[str]) -> float:
    """How much the intersection kernel varies: the mean of its diagonal above that of all its entries.

    It is 1 for vectors that do not differ: they say nothing, and dividing by 0 would make them say everything.
    """
    gram = intersection(vectors.rows([clip for clip in clips if clip in vectors])).astype(np.float64)
    spread = float(np.trace(gram) / len(gram) - gram.mean()) if len(gram) else 0.0
    return spread if spread > 1e-6 * max(float(np.trace(gram)), 1e-12) else 1.0


def side_by_side(vectors: Mapping[str, FeatureMatrix], spreads: Doubles, clips: Sequence[str]) -> FeatureMatrix:
    """One row per clip that any type knows; zeros where a type does not know it."""
    known = sorted({clip for matrix in vectors.values() for clip in matrix.ids.tolist()}.intersection(clips))
    place = {clip: row for row, clip in enumerate(known)}
    blocks = []
    for matrix, spread in zip(vectors.values(), spreads, strict=True):
        block = np.zeros((len(known), len(matrix.names)), np.float32)
        of_type = [clip for clip in matrix.ids.tolist() if clip in place]
        if of_type:
            block[[place[clip] for clip in of_type]] = matrix.rows(of_type) / np.float32(spread)
        blocks.append(block)
    names = tuple(f"{kind}/{name}" for kind, matrix in vectors.items() for name in matrix.names)
    return FeatureMatrix(np.asarray(known, dtype=str), names, np.concatenate(blocks, axis=1))
