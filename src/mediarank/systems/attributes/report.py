"""How well attributes are ordered, and how it is shown: `measure` and `section` of the system `attributes`.

A method's scores have a row an attribute and a column an item. The measure is the share of test pairs put in the right
order: of the pairs that people compared where there are any, else of all pairs of different strength. Where people
also called pairs equal, the margins are asked whether they are smaller there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mediarank.evaluation.blocks import Block, Figure, Gallery, Row, Text, Tile
from mediarank.evaluation.figures import heat_figure
from mediarank.evaluation.measured import EvaluationConfig, Measured
from mediarank.evaluation.pairs import listed_pair_accuracy, pair_accuracy
from mediarank.evaluation.protocols import flat_metrics, summarise
from mediarank.evaluation.ranking_section import Thumbnail, best_method, methods_table
from mediarank.evaluation.report import Fact, Section
from mediarank.labels import Labels
from mediarank.learners.pairwise.supervision import Supervision, supervise
from mediarank.types import Doubles, FeatureMatrix


def measure(scores: Mapping[str, FeatureMatrix], labels: Labels, config: EvaluationConfig) -> Measured:
    """Accuracy of each method and attribute; `relevant` counts the items behind it."""
    rows = []
    for method, matrix in scores.items():
        known = supervise(labels, matrix.names)
        for attribute, values in zip(matrix.ids.tolist(), matrix.values, strict=True):
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
    """How often an ordered pair has the larger margin of it and an equal pair: 1 is best, ½ is chance, NaN unknown."""
    compared, equal = supervision.compared, supervision.called_equal
    ordered = np.abs(scores[compared.stronger] - scores[compared.weaker])
    margins = np.concatenate([ordered, np.abs(scores[equal[:, 0]] - scores[equal[:, 1]])])
    return pair_accuracy(np.repeat([1.0, 0.0], [len(ordered), len(equal)]), margins)


def section(
    scores: Mapping[str, FeatureMatrix],
    measured: Measured,
    labels: Labels,
    thumbnail: Thumbnail,
    results: int,
    facts: Mapping[str, Any] | None = None,
) -> Section:
    """Methods, accuracy by attribute, kernel weights (where the model's facts are given), and the items in order."""
    best = best_method(measured.summary, "accuracy")
    ranked = scores[best]
    accuracy = measured.metrics[best]["accuracy"]
    blocks: list[Block] = [
        Text(
            ["Of two test items, which shows more of the attribute? Each item is scored once; a pair is a comparison."]
        ),
        methods_table(measured.summary, "accuracy"),
        _by_attribute(measured.per_query),
    ]
    if facts is not None:
        blocks.append(weights_figure(facts))
    blocks.append(in_order(ranked, thumbnail, results))
    return Section(
        "Attributes",
        blocks,
        "Which of two shows more of it?",
        [
            Fact("best method", best),
            Fact("pairs in order", f"{accuracy:.1%}", "mean over attributes"),
            Fact("attributes", f"{len(ranked.ids):,}"),
            Fact("test items", f"{len(ranked.names):,}"),
        ],
    )


def weights_figure(facts: Mapping[str, Any]) -> Figure:
    """Which features matter for what: each attribute's kernel weights, as shares."""
    weights = pd.DataFrame(
        {attribute: learned["weights"] for attribute, learned in facts["learned"].items()},
        index=kernel_names([(described["feature"], described["kernel"]) for described in facts["kernels"]]),
    ).T
    shares = weights.div(weights.sum(axis=1).where(lambda total: total > 0, 1.0), axis=0)
    alt = "Share of each kernel in each attribute's ranking function."
    return Figure("Kernel weights", heat_figure(shares), alt, "Which features matter for what: learned shares.")


def in_order(ranked: FeatureMatrix, thumbnail: Thumbnail, results: int) -> Gallery:
    """For each attribute some items from the weakest to the strongest, at even steps of the order."""
    rows = []
    for attribute, values in zip(ranked.ids.tolist(), ranked.values, strict=True):
        order = np.lexsort((np.array(ranked.names), values))
        steps = even_steps(len(order), results)
        tiles = [_tile(ranked.names[order[step]], step + 1, thumbnail) for step in steps]
        rows.append(Row(attribute, tiles, "weakest to strongest"))
    return Gallery("In order", rows, "Test items at even steps of each attribute's order, from least to most.")


def even_steps(items: int, count: int) -> list[int]:
    """So many positions, from the first to the last of the items, as evenly as can be.

    >>> even_steps(9, 3)
    [0, 4, 8]
    """
    return sorted({round(step) for step in np.linspace(0, items - 1, min(count, items)).tolist()})


def _tile(item: str, rank: int, thumbnail: Thumbnail) -> Tile:
    return Tile(thumbnail(item), item.rsplit("/", 1)[-1], rank, title=item)


def _by_attribute(table: pd.DataFrame) -> Figure:
    methods: Sequence[str] = list(table["method"].unique())
    values = table.pivot(index="query", columns="method", values="accuracy")[methods]
    alt = "Share of pairs in order by attribute and method."
    return Figure("By attribute", heat_figure(values, full=True), alt, "Share of test pairs put in the right order.")


def kernel_names(kernels: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """What to call each (feature type, kernel): by its type, and by its kind too where a type has several.

    >>> kernel_names([("gist", "linear"), ("hog", "linear"), ("gist", "rbf")])
    ('gist_linear', 'hog', 'gist_rbf')
    """
    counts = Counter(name for name, _ in kernels)
    return tuple(name if counts[name] == 1 else f"{name}_{kind}" for name, kind in kernels)
