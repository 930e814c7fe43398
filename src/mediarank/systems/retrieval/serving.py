"""`retrieval` as a served model: every item of the collection, scored for a query's vectors.

The method is the linear one that ranked the validation queries best. Scores are those that the system's `run` gives
the same query, number for number, so that a model which was packed, moved and loaded can be held to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mediarank.learners.pairwise.phi_rankers import LINEAR
from mediarank.similarity.phi import phi_over_types
from mediarank.similarity.scaling import PhiScaler
from mediarank.types import ConfigError, DataError, FeatureMatrix, Floats, shared_items


@dataclass(frozen=True, eq=False)
class ServedRetrieval:
    """
    method : of the model, that is served; features : the types φ is made of, in φ's order
    names : the items that are ranked; rows : their vectors, a matrix a feature type
    """

    method: str
    features: tuple[str, ...]
    names: tuple[str, ...]
    rows: tuple[Floats, ...]
    scaler: PhiScaler
    weights: Floats

    def able(self, described: Mapping[str, FeatureMatrix]) -> list[str]:
        return shared_items(described, self.features)

    def rank(self, described: Mapping[str, FeatureMatrix], items: Sequence[str]) -> Floats:
        """Scores (items, names), higher is more alike. described : by feature type"""
        queries = [described[name].rows(items) for name in self.features]
        scores = np.empty((len(items), len(self.names)), dtype=np.float32)
        for k in range(len(items)):
            phi = phi_over_types([rows[k] for rows in queries], self.rows)
            scores[k] = self.scaler.apply(phi) @ self.weights
        return scores


def needs(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """The feature types that a query must be described by."""
    return tuple(facts["features"])


def method(arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Which of the fitted methods is served."""
    known = LINEAR & set(arrays)
    fitted: dict[str, float] = {m: found["validation_map"] for m, found in facts["methods"].items() if m in known}
    if not fitted:
        raise ConfigError(
            f"No linear method was fitted, so there is nothing to serve: add one of {', '.join(sorted(LINEAR))} to "
            "systems.retrieval.methods."
        )
    return max(sorted(fitted), key=lambda name: fitted[name])


def serve(
    arrays: Mapping[str, Any], facts: Mapping[str, Any], matrices: Mapping[str, FeatureMatrix]
) -> ServedRetrieval:
    """The model over the items that all of its feature types describe."""
    features = needs(facts)
    names = tuple(shared_items(matrices, features))
    if not names:
        raise DataError(f"No item has all of the feature types {', '.join(features)}; run dvc repro.")
    chosen = method(arrays, facts)
    rows = tuple(np.ascontiguousarray(matrices[name].rows(names)) for name in features)
    scaler = PhiScaler(arrays["mean"], arrays["deviation"])
    return ServedRetrieval(chosen, features, names, rows, scaler, arrays[chosen])
