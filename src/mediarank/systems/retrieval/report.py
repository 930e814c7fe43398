"""How well queries are answered, and how it is shown: `measure` and `section` of the system `retrieval`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mediarank.evaluation.measured import EvaluationConfig, Measured, measure_rankings
from mediarank.evaluation.ranking_section import Thumbnail, ranking_section
from mediarank.evaluation.report import Section
from mediarank.labels import Labels
from mediarank.types import FeatureMatrix, Judgments


def measure(scores: Mapping[str, FeatureMatrix], labels: Labels, config: EvaluationConfig) -> Measured:
    return measure_rankings(scores, _judgments(scores, labels), config)


def section(
    scores: Mapping[str, FeatureMatrix],
    measured: Measured,
    labels: Labels,
    thumbnail: Thumbnail,
    results: int,
    facts: Mapping[str, Any],
    figures: Mapping[str, Any],
) -> Section:
    return ranking_section(
        "Retrieval",
        "What looks like this one?",
        measured,
        scores,
        _judgments(scores, labels),
        thumbnail,
        groups=labels.class_of,
        depth=results,
        intro=[
            f"Each of {len(next(iter(scores.values())))} test items is a query against the whole collection; items of "
            "its own class are relevant.",
            *([f"The best single similarity, best_fea, is {facts['best_fea']}."] if "best_fea" in facts else []),
            *([facts["warning"]] if "warning" in facts else []),
        ],
    )


def _judgments(scores: Mapping[str, FeatureMatrix], labels: Labels) -> Judgments:
    """An item is relevant to a query of its own class."""
    first, classes = next(iter(scores.values())), labels.class_of
    return Judgments.from_classes({item: classes[item] for item in first.names}, first.ids.tolist())
