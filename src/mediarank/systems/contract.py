"""What a system gets and what it returns. A system only combines features, similarities and learners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mediarank.labels import Labels
from mediarank.types import DataError, FeatureMatrix, Roles

if TYPE_CHECKING:  # slow to import, and evaluation does not need it
    from mediarank.base_models.pool import SVMPool


@dataclass(frozen=True)
class Inputs:
    """What a system learns from.

    features : feature type -> its matrix
    labels : of usable items
    roles : which items may be used for what
    pools, base_scores : feature type -> its concept models, and their scores of all items, for systems that build on
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
            raise DataError(f"The feature type {name!r} is missing ({known}); list it under features in params.yaml.")
        return self.features[name]


@dataclass(frozen=True)
class Outcome:
    """A fitted system and how it ranks.

    arrays, facts : the model, as npz and JSON; `skipped` among the facts says why there is none
    scores : method -> a matrix with one row per query and one column per candidate; higher is better
    """

    arrays: Mapping[str, np.ndarray[Any, Any]]
    facts: Mapping[str, Any]
    scores: Mapping[str, FeatureMatrix]
