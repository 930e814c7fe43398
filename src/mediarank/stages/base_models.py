"""Stage `base_models`: the concept models of one feature type, and their scores of every item that has it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy.typing as npt

from mediarank import store
from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import SVMConfig
from mediarank.base_models.training import train_pool
from mediarank.labels import Labels
from mediarank.types import FeatureMatrix, Judgments, NotApplicable, Roles


def run(name: str, config: SVMConfig, data: Path) -> str:
    """Write `base_models/<name>`."""
    matrix = store.read_features(data / "features" / name)
    labels, roles = store.read_labels(data / "manifest/labels"), store.read_roles(data / "splits/roles.parquet")
    arrays, facts, scores = fit_base_models(name, matrix, labels, roles, config)
    store.write_outcome(data / "base_models" / name, arrays, facts, {"normalised": scores})
    return f"{name}: {len(scores.names)} models"


def fit_base_models(
    name: str, matrix: FeatureMatrix, labels: Labels, roles: Roles, config: SVMConfig
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any], FeatureMatrix]:
    """The pool as arrays and facts, and its scores of all items; training examples have held-out scores.

    A collection without concepts has an empty pool.
    """
    described = [item for item in sorted(labels.looked_at) if item in matrix]
    judgments = Judgments.from_pairs(((c, item) for c, item in labels.shown if item in matrix), described)
    base = sorted(set(roles.items(*config.roles)).intersection(described))
    groups = dict(zip(roles.table["item_id"], roles.table["group_id"], strict=True))
    try:
        trained = train_pool(name, matrix, judgments, base, config, groups)
    except NotApplicable as error:
        warnings.warn(str(error), stacklevel=1)
        pool = SVMPool.empty(len(matrix.names))
        return *pool.to_arrays(), pool.score(matrix, matrix.ids.tolist())
    return *trained.pool.to_arrays(), trained.score(matrix, matrix.ids.tolist())
