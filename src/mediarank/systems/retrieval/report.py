"""How well queries are answered, and how it is shown: `measure` and `section` of the system `retrieval`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mediarank.evaluation.measured import EvaluationConfig, Measured, measure_rankings
from mediarank.evaluation.ranking_section import Thumbnail, ranking_section
from mediarank.evaluation.rankings import Rankings
from mediarank.evaluation.report import Section
from mediarank.labels import Labels


def measure(scores: Mapping[str, Rankings], labels: Labels, config: EvaluationConfig) -> Measured:
    return measure_rankings(scores, None, config)


def section(
    scores: Mapping[str, Rankings],
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
        None,
        thumbnail,
        groups=labels.class_of,
        depth=results,
        intro=[
            f"Each of {len(next(iter(scores.values()))):,} test items, drawn by lot, is a query against the whole "
            "collection; items of its own class are relevant.",
            *([f"The best single similarity, best_fea, is {facts['best_fea']}."] if "best_fea" in facts else []),
            *([facts["warning"]] if "warning" in facts else []),
        ],
    )
