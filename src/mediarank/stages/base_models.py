"""Stage `base_models`: the concept models of one feature type, and how they score every item that has it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy.typing as npt

from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import SVMConfig
from mediarank.base_models.training import fit_pool
from mediarank.labels import Labels
from mediarank.types import FeatureMatrix, Judgments, NotApplicable, Roles


def fit_base_models(
    name: str, matrix: FeatureMatrix, labels: Labels, roles: Roles, config: SVMConfig
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any], FeatureMatrix]:
    """The pool as arrays and facts, and its scores of all items. A collection without concepts has an empty pool."""
    described = [item for item in sorted(labels.looked_at) if item in matrix]
    judgments = Judgments.from_pairs(((c, item) for c, item in labels.shown if item in matrix), described)
    base = sorted(set(roles.items("base")).intersection(described))
    try:
        pool = fit_pool(name, matrix, judgments, base, config)
    except NotApplicable as error:
        warnings.warn(str(error), stacklevel=1)
        pool = SVMPool.empty(len(matrix.names))
    arrays, facts = pool.to_arrays()
    return arrays, facts, pool.score(matrix, matrix.ids.tolist())
