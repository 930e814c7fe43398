"""Stage `evaluation`: how well each method of a system ranks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mediarank import store
from mediarank.evaluation.measured import NOTHING, EvaluationConfig, Measured
from mediarank.evaluation.rankings import Rankings
from mediarank.labels import Labels
from mediarank.systems.registry import reporting
from mediarank.types import FeatureMatrix


def run(name: str, config: EvaluationConfig, data: Path) -> str:
    """Write `evaluation/<name>`; returns a line that says what was measured."""
    scores = store.read_scores(data / "systems" / name)
    measured = evaluate(name, scores, store.read_labels(data / "manifest/labels"), config)
    folder = data / "evaluation" / name
    store.write_measured(folder, measured.metrics, measured.summary, measured.per_query, measured.curves)
    return f"{name}: {len(scores)} methods measured"


def evaluate(
    name: str, scores: Mapping[str, FeatureMatrix | Rankings], labels: Labels, config: EvaluationConfig
) -> Measured:
    """Metrics of each method; empty for a system that was skipped.

    scores : method -> test items × names
    """
    return reporting(name).measure(scores, labels, config) if scores else NOTHING
