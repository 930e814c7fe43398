"""`concepts` as a served model: how well every concept fits an item, from its vectors.

The system's stage writes places among the test items; here a score is the plan's own, which puts items in the same
order, whoever else is asked about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from mediarank.base_models.pool import SVMPool
from mediarank.systems.concepts.model import ConceptsModel, concept_scores, score_items
from mediarank.types import Doubles, FeatureMatrix, shared_items

PREFERRED: Final = ("forward_cascade", "imbalanced_rankboost")
"""Ours, then the paper's; of the methods that were fitted, the first of these is served, or else the first of all."""


@dataclass(frozen=True, eq=False)
class ServedConcepts:
    """The pools with one method's plans; `names` are the concepts."""

    model: ConceptsModel
    method: str

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(self.model.pools)

    @property
    def names(self) -> tuple[str, ...]:
        return self.model.concepts

    def able(self, described: Mapping[str, FeatureMatrix]) -> list[str]:
        return shared_items(described, self.features)

    def rank(self, described: Mapping[str, FeatureMatrix], items: Sequence[str]) -> Doubles:
        """Scores (items, concepts), higher fits better. described : by feature type

        In double precision: within a layer of a cascade scores lie close together, and single precision made ties.
        """
        found = score_items(self.model.pools, described, items)
        plans = self.model.plans[self.method]
        scores = [plans[concept].score(concept_scores(self.model.pools, found, concept)) for concept in self.names]
        return np.stack(scores, axis=1).reshape(len(items), len(self.names))


def needs(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """The feature types that an item must be described by."""
    return tuple(facts["base_models"])


def base_models(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """The feature types whose concept models are packed, too."""
    return tuple(facts["base_models"])


def method(arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Which of the fitted methods is served."""
    return next((name for name in PREFERRED if name in facts["plans"]), next(iter(facts["plans"])))


def serve(
    arrays: Mapping[str, Any],
    facts: Mapping[str, Any],
    matrices: Mapping[str, FeatureMatrix],
    pools: Mapping[str, SVMPool],
) -> ServedConcepts:
    """The model; it needs no item of the collection."""
    return ServedConcepts(ConceptsModel.from_arrays(pools, arrays, facts), method(arrays, facts))
