"""How well concepts are ranked, and how it is shown: `measure` and `section` of the system `concepts`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from mediarank.evaluation.blocks import Figure
from mediarank.evaluation.figures import Line, heat_figure, line_figure
from mediarank.evaluation.measured import EvaluationConfig, Measured, measure_rankings
from mediarank.evaluation.ranking_section import Thumbnail, best_method, ranking_section
from mediarank.evaluation.report import Section
from mediarank.labels import Labels
from mediarank.systems.rankings import rankings
from mediarank.types import FeatureMatrix, Judgments


def measure(scores: Mapping[str, FeatureMatrix], labels: Labels, config: EvaluationConfig) -> Measured:
    """scores : method -> test items × concepts"""
    by_concept = rankings(scores)
    return measure_rankings(by_concept, _judgments(by_concept, labels), config)


def section(
    scores: Mapping[str, FeatureMatrix],
    measured: Measured,
    labels: Labels,
    thumbnail: Thumbnail,
    results: int,
    facts: Mapping[str, Any],
    figures: Mapping[str, Any],
) -> Section:
    """Methods and rankings, then average precision by the work it took (figures 6 to 9 of the paper)."""
    by_concept = rankings(scores)
    shown = ranking_section(
        "Concepts",
        "Which items show it?",
        measured,
        by_concept,
        _judgments(by_concept, labels),
        thumbnail,
        depth=results,
        intro=[
            "Every concept is a query against the test items. Methods combine the same SVMs; those that skip evaluate "
            "fewer of them on items that will rank low.",
            f"The served method is {facts['served']}.",
        ],
    )
    tables = {name: pd.DataFrame(columns) for name, columns in figures.items()}
    best = best_method(measured.summary)
    drawn = []
    if "figure6" in tables:
        drawn = [_work(tables["figure6"], depth, best) for depth in (0, 100)]
        drawn += [_concepts(tables["figure7"]), _single(tables["figure8"])]
    if "figure9" in tables:
        drawn.append(_regularisers(tables["figure9"]))
    return Section(shown.title, [*shown.blocks, *drawn], shown.question, shown.facts)


def _work(table: pd.DataFrame, depth: int, best: str) -> Figure:
    reached = table[table["depth"] == depth]
    lines = [
        Line(str(m), t["evaluations"].tolist(), t["map"].tolist()) for m, t in reached.groupby("method", sort=False)
    ]
    svg = line_figure(lines, "SVMs evaluated per item", f"mAP@{depth}" if depth else "mAP", log_x=True, highlight=best)
    where = f" of the first {depth}" if depth else ""
    alt = f"Mean average precision{where} against the number of SVMs evaluated per item, one line per method."
    return Figure(f"Precision by work{where and ','}{where}", svg, alt, "Figure 6 of the paper, by counted work.")


def _single(table: pd.DataFrame) -> Figure:
    lines = [
        Line(f"{concept}, {method}", t["evaluations"].tolist(), t["ap"].tolist())
        for (concept, method), t in table.groupby(["concept", "method"], sort=False)
    ]
    svg = line_figure(lines, "SVMs evaluated per item", "average precision", log_x=True)
    alt = "Average precision against the number of SVMs evaluated, for the concepts that gain and lose most."
    return Figure("Single concepts", svg, alt, "Figure 8 of the paper: where skipping gains and loses most.")


def _regularisers(table: pd.DataFrame) -> Figure:
    lines = [
        Line(f"{name} {strength:g}", t["evaluations"].tolist(), t["map"].tolist())
        for (name, strength), t in table.groupby(["regulariser", "regularization"], sort=False)
    ]
    svg = line_figure(lines, "SVMs evaluated per item", "mAP", log_x=True)
    alt = "Mean average precision of Imbalanced RankBoost against the number of SVMs evaluated, by regulariser and λ."
    return Figure("Regularisers of Imbalanced RankBoost", svg, alt, "Figure 9 of the paper.")


def _concepts(table: pd.DataFrame) -> Figure:
    values = table.drop(columns="budget").set_index("concept")
    budget = float(table["budget"].iloc[0])
    alt = f"Average precision of every concept and method after {budget:.1f} SVMs per item."
    note = f"Figure 7 of the paper: average precision when {budget:.1f} SVMs per item have been evaluated."
    return Figure("Concepts at equal work", heat_figure(values), alt, note)


def _judgments(scores: Mapping[str, FeatureMatrix], labels: Labels) -> Judgments:
    first = next(iter(scores.values()))
    queries, candidates = set(first.ids.tolist()), set(first.names)
    pairs = [(concept, item) for concept, item in labels.shown if concept in queries and item in candidates]
    found = Judgments.from_pairs(pairs, first.names)
    return Judgments(tuple(first.ids.tolist()), found.candidates, found.relevant)
