"""`attributes` as a served model: how much of every attribute an item shows, from its vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mediarank.learners.attribute_model import AttributesModel
from mediarank.types import FeatureMatrix, Floats


@dataclass(frozen=True, eq=False)
class ServedAttributes:
    """The learned kernels; `names` are the attributes."""

    model: AttributesModel
    features: tuple[str, ...]
    method: str = "rankmkl"

    @property
    def names(self) -> tuple[str, ...]:
        return self.model.attributes

    def rank(self, queries: Mapping[str, Floats]) -> Floats:
        """Scores (queries, attributes), higher shows more. queries : feature type -> (queries, dimensions)"""
        count = len(queries[self.features[0]])
        ids = np.array([f"q{k:09d}" for k in range(count)])
        matrices = {
            name: FeatureMatrix(
                ids, tuple(map(str, range(queries[name].shape[1]))), np.asarray(queries[name], np.float32)
            )
            for name in self.features
        }
        return self.model.scores(matrices, ids.tolist()).values


def needs(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """The feature types that an item must be described by."""
    return tuple(dict.fromkeys(described["feature"] for described in facts["kernels"]))


def method(arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Which of the system's methods is served: the one that is kept, its baselines are not."""
    return ServedAttributes.method


def serve(
    arrays: Mapping[str, Any], facts: Mapping[str, Any], matrices: Mapping[str, FeatureMatrix]
) -> ServedAttributes:
    """The model; it needs no item of the collection."""
    return ServedAttributes(AttributesModel.from_arrays(arrays, facts), needs(facts))
