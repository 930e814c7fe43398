"""What a system is given, and what it gives back. A system composes features, similarities and learners; no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mediarank.labels import Labels
from mediarank.types import DataError, FeatureMatrix, Roles

if TYPE_CHECKING:  # slow to import, and evaluation does without
    from mediarank.base_models.pool import SVMPool


@dataclass(frozen=True)
class Inputs:
    """features : by name; labels : of usable items; roles : who may see what

    pools, base_scores : feature type -> its concept models, and how they score all items, for systems that build on
        them
    """

    features: Mapping[str, FeatureMatrix]
    labels: Labels
    roles: Roles
    pools: Mapping[str, SVMPool] = field(default_factory=dict)
    base_scores: Mapping[str, FeatureMatrix] = field(default_factory=dict)

    def feature(self, name: str) -> FeatureMatrix:
        if name not in self.features:
            known = ", ".join(self.features) or "none"
            raise DataError(f"The feature type {name!r} is not there ({known}); list it under features in params.yaml.")
        return self.features[name]


@dataclass(frozen=True)
class Outcome:
    """A fitted system and how it ranks.

    arrays, facts : the model, as npz and JSON; `skipped` among the facts says why there is none
    scores : method -> a matrix with a row a query and a column a candidate; higher is better
    """

    arrays: Mapping[str, np.ndarray[Any, Any]]
    facts: Mapping[str, Any]
    scores: Mapping[str, FeatureMatrix]
