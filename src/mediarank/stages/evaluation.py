"""Stage `evaluation`: how well each method of a system ranks."""

from __future__ import annotations

from collections.abc import Mapping

from mediarank.evaluation.measured import NOTHING, EvaluationConfig, Measured
from mediarank.labels import Labels
from mediarank.systems.registry import reporting
from mediarank.types import FeatureMatrix


def evaluate(name: str, scores: Mapping[str, FeatureMatrix], labels: Labels, config: EvaluationConfig) -> Measured:
    return reporting(name).measure(scores, labels, config) if scores else NOTHING
