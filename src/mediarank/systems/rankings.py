"""Scores of items for names as rankings, one per name: the form that metrics and the report take."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mediarank.types import FeatureMatrix


def rankings(scores: Mapping[str, FeatureMatrix]) -> dict[str, FeatureMatrix]:
    """Method -> names × items, from items × names."""
    return {method: _transposed(matrix) for method, matrix in scores.items()}


def _transposed(matrix: FeatureMatrix) -> FeatureMatrix:
    ids, names = np.array(matrix.names, dtype=str), tuple(matrix.ids.tolist())
    return FeatureMatrix(ids, names, np.ascontiguousarray(matrix.values.T))
