"""How well events are found, and how it is shown: `measure` and `section` of the system `events`."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from mediarank.evaluation.answers import Answer, Quality, doubts_of
from mediarank.evaluation.blocks import Block, Figure
from mediarank.evaluation.figures import Line, line_figure
from mediarank.evaluation.folded import Folded, HeatTable
from mediarank.evaluation.measured import EvaluationConfig, Measured, measure_rankings
from mediarank.evaluation.name_details import Names, name_results
from mediarank.evaluation.ranking_section import Thumbnail, by_method, ranking_section
from mediarank.evaluation.report import Section
from mediarank.evaluation.wording import plain
from mediarank.labels import Labels
from mediarank.systems.events.event_labels import shown_events
from mediarank.systems.events.wording import METHODS
from mediarank.systems.rankings import rankings
from mediarank.systems.results import SystemResult
from mediarank.types import FeatureMatrix, Judgments

METRIC_NAMES = {"ap": "mean average precision", "f1": "best F1"}


def measure(scores: Mapping[str, FeatureMatrix], labels: Labels, config: EvaluationConfig) -> Measured:
    """scores : method -> test clips × events"""
    by_event = rankings(scores)
    return measure_rankings(by_event, _judgments(by_event, labels), config)


def section(result: SystemResult, thumbnail: Thumbnail, depth: int) -> Section:
    """Events one by one, rankings and methods; folded, fusions with fewer labels (figures 4, 5 and 2 of the paper)."""
    by_event, served = rankings(result.scores), result.served
    judgments = _judgments(by_event, result.labels)
    shown = ranking_section(
        "Events",
        "In which clips does it happen?",
        result.measured,
        by_event,
        judgments,
        thumbnail,
        words=METHODS,
        served=served,
        names=Names("Event by event", name_results(by_event[served], judgments, result.probabilities), thumbnail),
        depth=depth,
        intro=[
            "Every event is a query against the test clips. Base classifiers look at motion, objects, scene and sound; "
            "fusions learn how much each counts, from clips that the classifiers have not seen and from those that "
            "they were trained on.",
        ],
    )
    drawn: list[Block] = []
    if figures := result.figures:
        by_ratio, by_iteration, scored = (pd.DataFrame(figures[name]) for name in ("figure4", "figure5", "figure2"))
        drawn += [_by_ratio(by_ratio, metric, served) for metric in METRIC_NAMES]
        drawn += [_by_event(by_ratio, ratio) for ratio in sorted({by_ratio["ratio"].min(), by_ratio["ratio"].max()})]
        drawn += [_by_iteration(by_iteration, figures["event"]), _scores(scored, figures["event"])]
    folded = [Folded("Figures of the paper", drawn, "How fusions do with fewer and fewer labels.")] if drawn else []
    return Section(shown.title, [*shown.blocks, *folded], shown.question, shown.facts)


def answer(result: SystemResult) -> Answer:
    """Which events are found, and which labels of clips are doubtful."""
    by_event = rankings(result.scores)
    judgments = _judgments(by_event, result.labels)
    found = name_results(by_event[result.served], judgments, result.probabilities)
    return result.answer(
        "In which clips does it happen?",
        "mediarank find EVENT --system events",
        METHODS,
        ("ap", "mAP"),
        [Quality(r.name, r.share, r.shown) for r in found],
        doubts_of(found),
        learnable=True,
    )


def _by_ratio(table: pd.DataFrame, metric: str, best: str) -> Figure:
    """Figure 4, as a mean over events; bands are means of the events' own."""
    means = table[table["metric"] == metric].groupby(["method", "ratio"], sort=False)[["mean", "low", "high"]].mean()
    lines = []
    for method, rows in means.reset_index().groupby("method", sort=False):
        rows = rows.sort_values("ratio")
        lines.append(
            Line(plain(METHODS, str(method)), *(rows[column].tolist() for column in ("ratio", "mean", "low", "high")))
        )
    name = METRIC_NAMES[metric]
    svg = line_figure(lines, "unseen clips per training clip, r", name, highlight=plain(METHODS, best))
    alt = f"{name.capitalize()} of each fusion against the ratio of unseen to training clips, mean over events."
    note = "Figure 4 of the paper: mean of the repeats, with 95 % bands over repeats; other clips would differ by more."
    return Figure(f"Fewer labels: {name}", svg, alt, note)


def _by_event(table: pd.DataFrame, ratio: float) -> HeatTable:
    """Figure 4 at one ratio: every event and fusion."""
    rows = table[(table["metric"] == "ap") & (table["ratio"] == ratio)]
    values = rows.pivot(index="method", columns="event", values="mean").loc[list(rows["method"].unique())]
    note = f"Average precision, mean of the repeats, with {ratio:.3g} unseen clips per training clip."
    return by_method(f"By event at r = {ratio:.3g}", values, METHODS, note)


def _by_iteration(table: pd.DataFrame, event: str) -> Figure:
    lines = [
        Line(METRIC_NAMES[str(metric)], *(rows[c].tolist() for c in ("iteration", "mean", "low", "high")))
        for metric, rows in table.groupby("metric", sort=False)
    ]
    svg = line_figure(lines, "iterations", "value")
    alt = f"Average precision and best F1 of recycling for {event}, against the iterations of TrAdaBoost."
    note = f"Figure 5 of the paper, for {event}: the first iteration only equalises. Bands are over repeats."
    return Figure("Iterations", svg, alt, note)


def _scores(table: pd.DataFrame, event: str) -> Figure:
    """Figure 2, of the first classifier."""
    first = str(table["classifier"].iloc[0])
    rows = table[table["classifier"] == first]
    lines = [
        Line(f"{part}, {'shown' if shown else 'not shown'}", curve["score"].tolist(), curve["share"].tolist())
        for (part, shown), curve in rows.groupby(["part", "shown"], sort=False)
    ]
    svg = line_figure(lines, "probability", "share of the clips")
    alt = f"How the {first} classifier's probabilities for {event} are distributed, on training and on test clips."
    return Figure("Scores of clips", svg, alt, f"Figure 2 of the paper: {first} on {event}, before equalisation.")


def _judgments(scores: Mapping[str, FeatureMatrix], labels: Labels) -> Judgments:
    first = next(iter(scores.values()))
    candidates = set(first.names)
    shown = shown_events(labels)
    relevant = {event: dict.fromkeys(sorted(shown.get(event, frozenset()) & candidates), 1.0) for event in first.ids}
    return Judgments(tuple(first.ids.tolist()), first.names, relevant)
