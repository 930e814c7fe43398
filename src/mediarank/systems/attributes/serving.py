"""`attributes` as a served model: how much of every attribute an item shows, from its vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mediarank.learners.kernels.attribute_model import AttributesModel
from mediarank.types import FeatureMatrix, Floats, shared_items


@dataclass(frozen=True, eq=False)
class ServedAttributes:
    """The learned kernels; `names` are the attributes."""

    model: AttributesModel
    features: tuple[str, ...]
    method: str = "rankmkl"

    @property
    def names(self) -> tuple[str, ...]:
        return self.model.attributes

    def able(self, described: Mapping[str, FeatureMatrix]) -> list[str]:
        return shared_items(described, self.features)

    def rank(self, described: Mapping[str, FeatureMatrix], items: Sequence[str]) -> Floats:
        """Scores (items, attributes), higher shows more. described : by feature type"""
        return self.model.scores(described, items).values


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
