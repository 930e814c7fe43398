"""How well concepts are ranked, and how it is shown: `measure` and `section` of the system `concepts`."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from mediarank.evaluation.answers import Answer, Quality, doubts_of
from mediarank.evaluation.blocks import Block, Figure
from mediarank.evaluation.figures import Line, line_figure
from mediarank.evaluation.folded import Folded, HeatTable
from mediarank.evaluation.measured import EvaluationConfig, Measured, measure_rankings
from mediarank.evaluation.name_details import Names, name_results
from mediarank.evaluation.ranking_section import Thumbnail, ranking_section
from mediarank.evaluation.report import Section
from mediarank.evaluation.wording import plain
from mediarank.labels import Labels
from mediarank.systems.concepts.wording import METHODS
from mediarank.systems.rankings import rankings
from mediarank.systems.results import SystemResult
from mediarank.types import FeatureMatrix, Judgments


def measure(scores: Mapping[str, FeatureMatrix], labels: Labels, config: EvaluationConfig) -> Measured:
    """scores : method -> test items × concepts"""
    by_concept = rankings(scores)
    return measure_rankings(by_concept, _judgments(by_concept, labels), config)


def section(result: SystemResult, thumbnail: Thumbnail, depth: int) -> Section:
    """Concepts one by one, rankings and methods; folded, precision by work (figures 6 to 9 of the paper)."""
    by_concept, served = rankings(result.scores), result.served
    judgments = _judgments(by_concept, result.labels)
    shown = ranking_section(
        "Concepts",
        "Which items show it?",
        result.measured,
        by_concept,
        judgments,
        thumbnail,
        words=METHODS,
        served=served,
        names=Names("Concept by concept", name_results(by_concept[served], judgments, result.probabilities), thumbnail),
        depth=depth,
        intro=[
            "Every concept is a query against the test items. Methods combine the same classifiers; fast ones evaluate "
            "fewer of them on items that will rank low.",
        ],
    )
    tables = {name: pd.DataFrame(columns) for name, columns in result.figures.items()}
    drawn: list[Block] = []
    if "figure6" in tables:
        drawn += [_work(tables["figure6"], depth, served) for depth in (0, 100)]
        drawn += [_concepts(tables["figure7"]), _single(tables["figure8"])]
    if "figure9" in tables:
        drawn.append(_regularisers(tables["figure9"]))
    folded = [Folded("Figures of the paper", drawn, "How precision grows with the classifiers evaluated.")]
    return Section(shown.title, [*shown.blocks, *(folded if drawn else ())], shown.question, shown.facts)


def answer(result: SystemResult) -> Answer:
    """Which concepts are found, and which labels are doubtful."""
    by_concept = rankings(result.scores)
    judgments = _judgments(by_concept, result.labels)
    found = name_results(by_concept[result.served], judgments, result.probabilities)
    return result.answer(
        "Which items show it?",
        "mediarank find CONCEPT",
        METHODS,
        ("ap", "mAP"),
        [Quality(r.name, r.share, r.shown) for r in found],
        doubts_of(found),
        learnable=True,
    )


def _work(table: pd.DataFrame, depth: int, best: str) -> Figure:
    reached = table[table["depth"] == depth]
    lines = [
        Line(plain(METHODS, str(m)), t["evaluations"].tolist(), t["map"].tolist())
        for m, t in reached.groupby("method", sort=False)
    ]
    measure = f"mAP@{depth}" if depth else "mAP"
    svg = line_figure(lines, "SVMs evaluated per item", measure, log_x=True, highlight=plain(METHODS, best))
    where = f" of the first {depth}" if depth else ""
    alt = f"Mean average precision{where} against the number of SVMs evaluated per item, one line per method."
    return Figure(f"Precision by work{where and ','}{where}", svg, alt, "Figure 6 of the paper, by counted work.")


def _single(table: pd.DataFrame) -> Figure:
    lines = [
        Line(f"{concept}, {plain(METHODS, str(method))}", t["evaluations"].tolist(), t["ap"].tolist())
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


def _concepts(table: pd.DataFrame) -> HeatTable:
    values = table.drop(columns="budget").set_index("concept").rename(columns=lambda m: plain(METHODS, str(m)))
    budget = float(table["budget"].iloc[0])
    note = f"Figure 7 of the paper: average precision when {budget:.1f} SVMs per item have been evaluated."
    return HeatTable("Concepts at equal work", values, note, "concept", by_row=True)


def _judgments(scores: Mapping[str, FeatureMatrix], labels: Labels) -> Judgments:
    first = next(iter(scores.values()))
    queries, candidates = set(first.ids.tolist()), set(first.names)
    pairs = [(concept, item) for concept, item in labels.shown if concept in queries and item in candidates]
    found = Judgments.from_pairs(pairs, first.names)
    return Judgments(tuple(first.ids.tolist()), found.candidates, found.relevant)
