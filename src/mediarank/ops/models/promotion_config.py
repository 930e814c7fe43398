"""What a candidate must achieve: section `promotion` of params.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

USUAL: Final[Mapping[str, str]] = {"annotation": "recall", "attributes": "accuracy"}
"""The metric that decides, by system; average precision for all others."""
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]


@dataclass(frozen=True)
class PromotionConfig:
    """Limits of a promotion.

    metric : system -> the column of its values by query that decides, if it is not the usual one
    significance : a loss with a lower p-value keeps the champion (paired randomisation over queries)
    min_shared : share of the champion's queries that the candidate must also have been measured on, to be compared
    rounds, seed : of the randomisation
    max_… : how far a version may be from the champion's for a scheduled promotion; a person may go further
    max_lost_share : of the champion's items
    max_label_drift, max_resolution_drift : Bray-Curtis dissimilarity of rates and shares
    max_feature_drift : share of a feature type's dimensions whose mean moved by more than `mean_shift` deviations
    max_score_drift : Kolmogorov-Smirnov distance of the scores, each scaled to median 0 and interquartile range 1
    """

    metric: Mapping[str, str] = field(default_factory=dict)
    significance: Share = 0.05
    min_shared: Share = 0.5
    rounds: Annotated[int, Field(gt=0)] = 10_000
    seed: int = 7
    max_lost_share: Share = 0.2
    max_label_drift: Share = 0.25
    max_resolution_drift: Share = 0.5
    max_feature_drift: Share = 0.25
    mean_shift: Positive = 0.5
    max_score_drift: Share = 0.2
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def metric_of(self, system: str) -> str:
        return self.metric.get(system, USUAL.get(system, "ap"))
