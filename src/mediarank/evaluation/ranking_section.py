"""The report's section about a system that ranks: retrieval, concepts, events.

`ranking_section` puts together the methods with their intervals, the curves, the means by class, and the queries where
the best method does best, middling and worst; one function makes each block, so that systems can choose.
Pictures come from a callable, so nothing is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from mediarank.evaluation.blocks import Block, Cell, Column, Figure, Gallery, Row, Table, Text, Tile, Whisker
from mediarank.evaluation.figures import Bar, Line, bar_figure, line_figure
from mediarank.evaluation.folded import HeatTable
from mediarank.evaluation.measured import Measured
from mediarank.evaluation.protocols import mean_by_group
from mediarank.evaluation.rankings import Rankings
from mediarank.evaluation.ranks import ranking
from mediarank.evaluation.report import Fact, Section
from mediarank.evaluation.significance import Interval
from mediarank.evaluation.wording import Wording, hint, plain
from mediarank.types import DataError, FeatureMatrix, Judgments

Thumbnail = Callable[[str], bytes | None]
"""Item id -> a small JPEG (160 px are enough), or None if the item has no picture."""

METRIC_NAMES: Final = {
    "ap": ("mAP", "mean average precision: the precision at each relevant item, averaged"),
    "p": ("P", "precision: the share of the first ranks that is relevant"),
    "r": ("R", "recall: the share of the relevant items among the first ranks"),
    "ndcg": ("nDCG", "normalised discounted cumulative gain: 1 for the best possible order"),
    "ndcg_exp": ("nDCG (2^r)", "nDCG with gains of 2^r - 1"),
    "f1": ("best F1", "the highest F1 of any cut through the ranking"),
    "rr": ("MRR", "mean of one over the rank of the first relevant item"),
}
MOST_GROUPS: Final = 20
"""If there are more groups, only the highest and the lowest are shown."""
MOST_COLUMNS: Final = 12
"""If there are more groups, they are rows."""


def ranking_section(
    title: str,
    question: str,
    measured: Measured,
    scores: Mapping[str, FeatureMatrix | Rankings],
    judgments: Judgments | None,
    thumbnail: Thumbnail,
    *,
    words: Wording,
    served: str,
    names: Block | None = None,
    groups: Mapping[str, str] | None = None,
    intro: Sequence[str] = (),
    metric: str = "ap",
    depth: int = 12,
) -> Section:
    """The whole section, from what `measure_rankings` gives.

    words : the methods in a user's words; served : the one that answers
    names : what is shown of each name
    judgments : of matrices of scores; rankings hold what they need
    groups : the class of each query (and item), for the means by class
    depth : pictures in a row of ranked results
    """
    summary, table = measured.summary, measured.per_query
    best = served if served in scores else best_method(summary, metric)
    found = _intervals(summary)[best, metric]
    unanswerable = f"and {found.skipped:,} with nothing relevant" if found.skipped else ""
    facts = [
        Fact("answered by", plain(words, best), f"--method {best}"),
        Fact(metric_title(metric), f"{found.mean:.3f}", f"{found.low:.3f} to {found.high:.3f}"),
        Fact("queries", f"{found.queries:,}", unanswerable),
        Fact("candidates", f"{len(judgments.candidates if judgments else scores[best].names):,}"),
    ]
    blocks: list[Block] = [Text(intro)] if intro else []
    blocks += [names] if names is not None else []
    blocks += [
        ranked_gallery(table, scores[best], judgments, thumbnail, best, metric=metric, groups=groups, depth=depth),
        methods_table(summary, metric, words=words, served=best),
        precision_recall_figure(measured.curves, best, words),
        means_figure(summary, metric, words),
        *([groups_table(table, groups, metric, words)] if groups is not None else []),
    ]
    return Section(title, blocks, question, facts)


def metric_title(metric: str) -> str:
    base, at, depth = metric.partition("@")
    return METRIC_NAMES.get(base, (base, ""))[0] + at + depth


def best_method(summary: pd.DataFrame, metric: str = "ap") -> str:
    """The method with the highest mean; if several have it, the first."""
    rows = summary[summary["metric"] == metric]
    if not rows["mean"].notna().any():
        raise DataError(f"No method has a value of {metric!r}; at least one query must have something relevant.")
    return str(rows["method"].iloc[int(np.nanargmax(rows["mean"]))])


def methods_table(summary: pd.DataFrame, metric: str, *, words: Wording, served: str = "") -> Table:
    """Methods by metrics, the highest of each metric bold, intervals below, drawn for the main metric."""
    methods = [str(m) for m in summary["method"].unique()]
    metrics = [metric, *(str(m) for m in summary["metric"].unique() if m != metric)]
    found = _intervals(summary)
    highest = {m: max((found[method, m].mean for method in methods), key=_or_least) for m in metrics}
    top = max((found[method, metric].high for method in methods), key=_or_least)
    columns = [Column("method"), *(Column(metric_title(m), numeric=True, hint=_hint(m)) for m in metrics)]
    rows: list[list[Cell | str]] = []
    for series, method in enumerate(methods):
        row: list[Cell | str] = [method_cell(method, words, served, series)]
        for m in metrics:
            value = found[method, m]
            drawn = m == metric and np.isfinite(value.mean) and top > 0
            whisker = Whisker(value.mean / top, value.low / top, value.high / top, series) if drawn else None
            interval = f"{value.low:.3f}–{value.high:.3f}" if np.isfinite(value.mean) else ""
            row.append(Cell(_number(value.mean), interval, value.mean == highest[m], whisker=whisker))
        rows.append(row)
    note = "Means over queries with bootstrap confidence intervals. The highest of each column is bold."
    return Table("Methods", columns, rows, note)


def method_cell(method: str, words: Wording, served: str, series: int) -> Cell:
    """A method in a user's words; the hint has its name in commands and in the paper."""
    return Cell(plain(words, method), "answers" if method == served else "", series=series, hint=hint(words, method))


def precision_recall_figure(curves: pd.DataFrame, highlight: str, words: Wording) -> Figure:
    """A `precision_recall` table as lines."""
    lines = [
        Line(plain(words, str(method)), curve["recall"].tolist(), curve["precision"].tolist())
        for method, curve in curves.groupby("method", sort=False)
    ]
    svg = line_figure(lines, "recall", "precision", highlight=plain(words, highlight))
    alt = f"Precision against recall, one line per method: {', '.join(line.label for line in lines)}."
    return Figure("Precision and recall", svg, alt, "Interpolated precision, mean over queries.")


def means_figure(summary: pd.DataFrame, metric: str, words: Wording) -> Figure:
    """The methods' means of one metric with their intervals, as bars."""
    found = {method: value for (method, m), value in _intervals(summary).items() if m == metric}
    bars = [Bar(plain(words, method), value.mean, value.low, value.high) for method, value in found.items()]
    name = metric_title(metric)
    alt = f"{name}: {'; '.join(f'{bar.label} {_number(bar.value)}' for bar in bars)}."
    return Figure(f"{name} by method", bar_figure(bars, name), alt, "Whiskers are confidence intervals.")


def groups_table(table: pd.DataFrame, groups: Mapping[str, str], metric: str, words: Wording) -> HeatTable:
    """The methods' means of one metric for each group of queries."""
    means = mean_by_group(table, groups, metric)
    note = "The highest of each column is bold."
    by_level = means.mean(axis=1).sort_values(ascending=False, kind="stable")
    if len(means) > MOST_GROUPS:
        half = MOST_GROUPS // 2
        means = means.loc[[*by_level.index[:half], *by_level.index[-half:]]]
        note += f" The {half} highest and the {half} lowest of {len(by_level)} classes."
    heading = f"{metric_title(metric)} by class"
    if len(means) <= MOST_COLUMNS:
        return by_method(heading, means.T, words, note)
    named = means.rename(columns=lambda method: plain(words, str(method)))
    return HeatTable(heading, named, note.replace("column", "row"), "class", by_row=True)


def by_method(heading: str, values: pd.DataFrame, words: Wording, note: str = "") -> HeatTable:
    """A table with one row per method, in a user's words."""
    hints = {plain(words, str(method)): hint(words, str(method)) for method in values.index}
    return HeatTable(heading, values.rename(index=lambda method: plain(words, str(method))), note, hints=hints)


def telling_queries(
    table: pd.DataFrame, method: str, metric: str = "ap", each: int = 2
) -> list[tuple[str, str, float]]:
    """(word, query, value) of the best, the middle and the worst queries of a method; ties by query.

    each : how many of each; fewer where that would show the best queries among the worst
    """
    rows = table[(table["method"] == method) & table[metric].notna()]
    queries, values = rows["query"].to_numpy(dtype=str), rows[metric].to_numpy(dtype=np.float64)
    order = ranking(queries, values)
    each = max(1, min(each, len(order) // 3))
    middle = (len(order) - each) // 2
    wanted = {
        "best": range(each),
        "median": range(middle, middle + each),
        "worst": range(len(order) - each, len(order)),
    }
    words: dict[int, str] = {}
    for word, places in wanted.items():
        for place in places:
            if 0 <= place < len(order):
                words.setdefault(int(order[place]), word)
    return [(word, str(queries[at]), float(values[at])) for at, word in words.items()]


def ranked_gallery(
    table: pd.DataFrame,
    scores: FeatureMatrix | Rankings,
    judgments: Judgments | None,
    thumbnail: Thumbnail,
    method: str,
    *,
    metric: str = "ap",
    groups: Mapping[str, str] | None = None,
    each: int = 2,
    depth: int = 12,
) -> Gallery:
    """What a method ranks first for its best, middle and worst queries.

    groups : of items too, shown below the pictures instead of file names
    """
    items = set(scores.names)

    def tile(item: str, rank: int | None = None, tone: str = "") -> Tile:
        caption = (groups or {}).get(item) or item.rsplit("/", 1)[-1]
        return Tile(thumbnail(item), caption, rank, tone, title=item, item=item)

    rows = []
    for word, query, value in telling_queries(table, method, metric, each):
        first = scores.first(query, depth) if isinstance(scores, Rankings) else _first(scores, judgments, query, depth)
        tiles = [tile(item, rank, "good" if right else "bad") for rank, (item, right) in enumerate(first, start=1)]
        one = metric_title(metric).removeprefix("m")  # of one query, not a mean
        title = f"{word.capitalize()}: {one} {value:.3f}"
        lead = tile(query) if query in items else None
        rows.append(Row(title, tiles, f"{query} · {sum(right for _, right in first)} of {len(first)} relevant", lead))
    note = f"The first {depth} results, for the queries where they are best, middling and worst."
    return Gallery("Ranked results", rows, note)


def _first(scores: FeatureMatrix, judgments: Judgments | None, query: str, depth: int) -> list[tuple[str, bool]]:
    """The first items of a query among those that were judged, and whether each is relevant."""
    if judgments is None:
        raise DataError("A matrix of scores needs judgments.")
    column = {item: place for place, item in enumerate(scores.names)}
    items = sorted(set(judgments.candidates) - {query})
    line = scores.values[scores.positions([query])[0]]
    first = [items[place] for place in ranking(items, line[[column[item] for item in items]])[:depth]]
    return list(zip(first, (judgments.grades(query, first) > 0).tolist(), strict=True))


def _intervals(summary: pd.DataFrame) -> dict[tuple[str, str], Interval]:
    """(method, metric) -> mean and bounds."""
    fields = ("method", "metric", "mean", "low", "high", "queries", "skipped")
    rows = zip(*(summary[name].tolist() for name in fields), strict=True)
    return {(str(method), str(metric)): Interval(*values) for method, metric, *values in rows}


def _or_least(value: float) -> float:
    """A key that puts NaN below every number."""
    return value if np.isfinite(value) else -np.inf


def _hint(metric: str) -> str:
    base, _, depth = metric.partition("@")
    meaning = METRIC_NAMES.get(base, ("", ""))[1]
    return f"{meaning} (first {depth} ranks)" if depth and meaning else meaning


def _number(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "–"
