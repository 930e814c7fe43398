"""A system's scores against its judgments, as tables: what the evaluation stage writes.

`rank_methods` ranks every method once; from it come `per_query` (one row per method and query), `summarise` (means with
confidence intervals) and `flat_metrics` (the same for DVC and MLflow), `compare` (is the best really better?) and two
kinds of curve. Methods are score matrices: rows are queries, columns are items, higher is better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from mediarank.evaluation.metrics import mean_over_queries, measure
from mediarank.evaluation.ranking_collector import ranks_of
from mediarank.evaluation.rankings import Rankings
from mediarank.evaluation.ranks import Ranks, Relevance, rank_relevant
from mediarank.evaluation.significance import bootstrap_interval, paired_randomisation
from mediarank.types import DataError, Doubles, FeatureMatrix, Judgments, require_columns

DEFAULT_METRICS: Final = ("ap", "ap@100", "ndcg@50", "p@10", "r@100", "f1", "rr")


def rank_methods(
    scores: Mapping[str, FeatureMatrix | Rankings], judgments: Judgments | None = None
) -> dict[str, Ranks]:
    """Where each method puts the relevant items of each query, queries in the order of the judgments.

    judgments : of matrices of scores; rankings hold what they need
    """
    known = {method: ranks_of(found) for method, found in scores.items() if isinstance(found, Rankings)}
    matrices = {method: found for method, found in scores.items() if isinstance(found, FeatureMatrix)}
    if (matrices or not scores) and not (judgments and judgments.queries):
        raise DataError("There are no queries to measure; give the judgments of at least one.")
    relevance = Relevance.from_judgments(judgments) if matrices and judgments else None
    found = {method: rank_relevant(matrix, relevance) for method, matrix in matrices.items() if relevance}
    return {method: known[method] if method in known else found[method] for method in scores}


def per_query(ranked: Mapping[str, Ranks], metrics: Sequence[str] = DEFAULT_METRICS) -> pd.DataFrame:
    """One row per method and query: method, query, relevant (how many items), then one column per metric."""
    tables = [
        pd.DataFrame(
            {
                "method": method,
                "query": list(ranks.queries),
                "relevant": ranks.total,
                **{metric: measure(ranks, metric) for metric in metrics},
            }
        )
        for method, ranks in ranked.items()
    ]
    if not tables:
        raise DataError("There is no method to measure; give at least one score matrix.")
    return pd.concat(tables, ignore_index=True)


def metric_columns(table: pd.DataFrame) -> list[str]:
    return [str(c) for c in table.columns if c not in ("method", "query", "relevant")]


def summarise(table: pd.DataFrame, *, seed: int, resamples: int = 2000, confidence: float = 0.95) -> pd.DataFrame:
    """Means over queries of a per-query table: method, metric, mean, low, high, queries, skipped.

    `queries` counts those behind the mean, `skipped` those without a relevant item.
    """
    require_columns(table, ("method", "query"), "the per-query table")
    rows = []
    for method, group in table.groupby("method", sort=False):
        for metric in metric_columns(table):
            found = bootstrap_interval(group[metric], seed=seed, resamples=resamples, confidence=confidence)
            rows.append((method, metric, found.mean, found.low, found.high, found.queries, found.skipped))
    return pd.DataFrame(rows, columns=["method", "metric", "mean", "low", "high", "queries", "skipped"])


def flat_metrics(summary: pd.DataFrame) -> dict[str, dict[str, float]]:
    """`{"method": {"map": …, "ndcg_at_50": …, "queries": …, "skipped": …}}`; what is undefined is left out.

    A mean of average precisions is called map, and @ is spelled out, since MLflow allows no @ in a name.
    """
    flat: dict[str, dict[str, float]] = {}
    for method, group in summary.groupby("method", sort=False):
        means = zip(group["metric"], group["mean"], strict=True)
        values = {flat_name(metric): float(mean) for metric, mean in means if np.isfinite(mean)}
        counts = {name: int(group[name].iloc[0]) for name in ("queries", "skipped")}
        flat[str(method)] = {**values, **counts}
    return flat


def flat_name(metric: str) -> str:
    """The name of a mean: `ap@100` becomes `map_at_100`."""
    base, at, depth = metric.partition("@")
    mean = {"ap": "map", "rr": "mrr"}.get(base, base)
    return f"{mean}_at_{depth}" if at else mean


def compare(table: pd.DataFrame, against: str, *, seed: int, metric: str = "ap", rounds: int = 10_000) -> pd.DataFrame:
    """Each other method against one: method, difference of means, p (paired randomisation over queries)."""
    wide = table.pivot(index="query", columns="method", values=metric)
    if against not in wide:
        raise DataError(f"There is no method {against!r} to compare with; there are {', '.join(map(str, wide))}.")
    rows = [
        (
            method,
            mean_over_queries(wide[method] - wide[against])[0],
            paired_randomisation(wide[method], wide[against], seed=seed, rounds=rounds),
        )
        for method in table["method"].unique()
        if method != against
    ]
    return pd.DataFrame(rows, columns=["method", "difference", "p"])


def mean_by_group(table: pd.DataFrame, groups: Mapping[str, str], metric: str = "ap") -> pd.DataFrame:
    """Mean of a metric by group of queries (a class, say): rows are groups, columns are methods."""
    unknown = [q for q in table["query"].unique() if q not in groups]
    if unknown:
        raise DataError(f"{len(unknown)} queries belong to no group, such as {', '.join(unknown[:3])}.")
    methods = list(table["method"].unique())
    labelled = table.assign(group=table["query"].map(groups))
    return labelled.pivot_table(index="group", columns="method", values=metric, aggfunc="mean", dropna=False)[methods]


def precision_recall(ranked: Mapping[str, Ranks], points: int = 101) -> pd.DataFrame:
    """Mean interpolated precision at `points` levels of recall from 0 to 1: method, recall, precision."""
    if points < 2:
        raise DataError(f"A precision-recall curve needs at least 2 points (11 and 101 are usual), not {points}.")
    levels = np.linspace(0.0, 1.0, points)
    tables = [
        pd.DataFrame({"method": method, "recall": levels, "precision": _interpolated(ranks, points)})
        for method, ranks in ranked.items()
    ]
    return pd.concat(tables, ignore_index=True)


def _interpolated(ranks: Ranks, points: int) -> Doubles:
    """Mean over queries of the highest precision at each recall or beyond."""
    precision = ranks.position / ranks.ranks
    curves = []
    for start, total in zip(ranks.offsets[:-1], ranks.total, strict=True):
        if total == 0:
            continue
        ceiling = np.maximum.accumulate(precision[start : start + total][::-1])[::-1]
        # The fewest relevant items whose recall is at least level/(points - 1), in whole numbers.
        needed = -(-np.arange(points) * total // (points - 1))
        curves.append(ceiling[np.maximum(needed, 1) - 1])
    return np.mean(curves, axis=0) if curves else np.full(points, np.nan)
