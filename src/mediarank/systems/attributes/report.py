"""How well attributes are ordered, and how it is shown: `measure` and `section` of the system `attributes`.

A method's scores have one row per item and one column per attribute. The measure is the share of test pairs put in the
right order: of the pairs that people compared where there are any, else of all pairs of different strength. Where
people also called pairs equal, a second figure says whether margins are smaller there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from mediarank.evaluation.answers import Answer, Quality
from mediarank.evaluation.blocks import Block, Gallery, Row, Text, Tile
from mediarank.evaluation.folded import Folded, HeatTable
from mediarank.evaluation.measured import EvaluationConfig, Measured
from mediarank.evaluation.pairs import listed_pair_accuracy, pair_accuracy
from mediarank.evaluation.protocols import flat_metrics, summarise
from mediarank.evaluation.ranking_section import Thumbnail, by_method, methods_table
from mediarank.evaluation.report import Fact, Section
from mediarank.evaluation.wording import plain
from mediarank.labels import Labels
from mediarank.learners.pairwise.supervision import Supervision, supervise
from mediarank.systems.attributes.config import kernel_names
from mediarank.systems.attributes.wording import METHODS
from mediarank.systems.results import SystemResult
from mediarank.types import Doubles, FeatureMatrix


def measure(scores: Mapping[str, FeatureMatrix], labels: Labels, config: EvaluationConfig) -> Measured:
    """Accuracy of each method and attribute; `relevant` is the number of items behind it."""
    rows = []
    for method, matrix in scores.items():
        known = supervise(labels, matrix.ids.tolist())
        for attribute, values in zip(matrix.names, matrix.values.T, strict=True):
            supervision, numbers = known[attribute], values.astype(np.float64)
            accuracy, separation = pairs_in_order(supervision, numbers), equal_separation(supervision, numbers)
            rows.append((method, attribute, len(numbers), accuracy, separation))
    table = pd.DataFrame(rows, columns=["method", "query", "relevant", "accuracy", "equal_separation"])
    if table["equal_separation"].isna().all():
        table = table.drop(columns="equal_separation")
    summary = summarise(table, seed=config.seed, resamples=config.resamples, confidence=config.confidence)
    curves = table[["method", "query", "accuracy"]].rename(columns={"query": "attribute"})
    return Measured(flat_metrics(summary), summary, table, curves)


def pairs_in_order(supervision: Supervision, scores: Doubles) -> float:
    """The share of compared pairs, or of all pairs of different strength, whose scores are in the right order."""
    if len(supervision.compared):
        return listed_pair_accuracy(scores, supervision.compared.stronger, supervision.compared.weaker)
    known = ~np.isnan(supervision.strengths)
    return pair_accuracy(supervision.strengths[known], scores[known])


def equal_separation(supervision: Supervision, scores: Doubles) -> float:
    """How often an ordered pair has a larger margin than an equal pair: 1 is best, ½ is chance, NaN is unknown."""
    compared, equal = supervision.compared, supervision.called_equal
    ordered = np.abs(scores[compared.stronger] - scores[compared.weaker])
    margins = np.concatenate([ordered, np.abs(scores[equal[:, 0]] - scores[equal[:, 1]])])
    return pair_accuracy(np.repeat([1.0, 0.0], [len(ordered), len(equal)]), margins)


def section(result: SystemResult, thumbnail: Thumbnail, depth: int) -> Section:
    """The items in order, methods, accuracy by attribute; folded, RankMKL's kernel weights."""
    best, measured, facts = result.served, result.measured, result.facts
    ranked, accuracy = result.scores[best], measured.metrics[best]["accuracy"]
    blocks: list[Block] = [
        Text(
            ["Of two test items, which shows more of the attribute? Each item is scored once; a pair is a comparison."]
        ),
        in_order(ranked, thumbnail, depth),
        methods_table(measured.summary, "accuracy", words=METHODS, served=best),
        _by_attribute(measured.per_query),
    ]
    if "rankmkl" in facts.get("learned", {}):
        blocks.append(Folded("Figures of the paper", [weights_table(facts)]))
    return Section(
        "Attributes",
        blocks,
        "Which of two shows more of it?",
        [
            Fact("answered by", plain(METHODS, best), f"--method {best}"),
            Fact("pairs in order", f"{accuracy:.1%}", "mean over attributes"),
            Fact("attributes", f"{len(ranked.names):,}"),
            Fact("test items", f"{len(ranked.ids):,}"),
        ],
    )


def answer(result: SystemResult) -> Answer:
    """Which attributes are ordered rightly. Half of the pairs are in order by chance, so shares count from there."""
    per_query = result.measured.per_query
    rows = per_query[per_query["method"] == result.served]
    fields = zip(rows["query"], rows["accuracy"], rows["relevant"], strict=True)
    return result.answer(
        "Which of two shows more of it?",
        "mediarank compare ONE OTHER --attribute NAME",
        METHODS,
        ("accuracy", "pairs in order"),
        [Quality(str(name), max(2 * float(accuracy) - 1, 0.0), int(items)) for name, accuracy, items in fields],
    )


def weights_table(facts: Mapping[str, Any]) -> HeatTable:
    """Which features matter for which attribute: RankMKL's kernel weights, as shares."""
    weights = pd.DataFrame(
        {attribute: learned["weights"] for attribute, learned in facts["learned"]["rankmkl"].items()},
        index=kernel_names([(described["feature"], described["kernel"]) for described in facts["kernels"]]),
    ).T
    shares = weights.div(weights.sum(axis=1).where(lambda total: total > 0, 1.0), axis=0)
    note = "Which features matter for which attribute: learned shares."
    return HeatTable("Kernel weights", shares, note, "attribute", by_row=True)


def in_order(ranked: FeatureMatrix, thumbnail: Thumbnail, results: int) -> Gallery:
    """For each attribute some items from the weakest to the strongest, at even steps of the order."""
    rows = []
    for attribute, values in zip(ranked.names, ranked.values.T, strict=True):
        order = np.lexsort((ranked.ids, values))
        steps = even_steps(len(order), results)
        tiles = [_tile(str(ranked.ids[order[step]]), step + 1, thumbnail) for step in steps]
        rows.append(Row(attribute, tiles, "weakest to strongest"))
    return Gallery("In order", rows, "Test items at even steps of each attribute's order, from least to most.")


def even_steps(items: int, count: int) -> list[int]:
    """Positions from the first item to the last, as evenly spaced as possible.

    >>> even_steps(9, 3)
    [0, 4, 8]
    """
    return sorted({round(step) for step in np.linspace(0, items - 1, min(count, items)).tolist()})


def _tile(item: str, rank: int, thumbnail: Thumbnail) -> Tile:
    return Tile(thumbnail(item), item.rsplit("/", 1)[-1], rank, title=item, item=item)


def _by_attribute(table: pd.DataFrame) -> HeatTable:
    methods = [str(method) for method in table["method"].unique()]
    values = table.pivot(index="method", columns="query", values="accuracy").loc[methods]
    return by_method("By attribute", values, METHODS, "Share of test pairs put in the right order.")
