"""The results of evaluating a system, and how they are made for systems that rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

import pandas as pd
from pydantic import Field

from mediarank.evaluation.protocols import flat_metrics, per_query, precision_recall, rank_methods, summarise
from mediarank.evaluation.rankings import Rankings
from mediarank.types import FeatureMatrix, Judgments


@dataclass(frozen=True)
class EvaluationConfig:
    """Settings of the evaluation.

    resamples : of the bootstrap over queries
    confidence : of its intervals
    """

    resamples: Annotated[int, Field(ge=1)] = 2000
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    seed: int = 7
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


@dataclass(frozen=True)
class Measured:
    """How well each method of a system does.

    metrics : method -> metric -> value
    summary : method, metric, mean, low, high, queries, skipped
    per_query : one row per method and query
    curves : one row per point of a curve
    """

    metrics: Mapping[str, Mapping[str, float]]
    summary: pd.DataFrame
    per_query: pd.DataFrame
    curves: pd.DataFrame


NOTHING: Final = Measured(
    {},
    pd.DataFrame(columns=["method", "metric", "mean", "low", "high", "queries", "skipped"]),
    pd.DataFrame(columns=["method", "query"]),
    pd.DataFrame(columns=["method"]),
)
"""The evaluation of a system that was skipped."""


def measure_rankings(
    scores: Mapping[str, FeatureMatrix | Rankings], judgments: Judgments | None, config: EvaluationConfig
) -> Measured:
    """Rank every method's scores once; from that, means with intervals, values by query and precision by recall."""
    ranked = rank_methods(scores, judgments)
    table = per_query(ranked)
    summary = summarise(table, seed=config.seed, resamples=config.resamples, confidence=config.confidence)
    return Measured(flat_metrics(summary), summary, table, precision_recall(ranked, points=21))
