"""How well keywords are suggested, and how it is shown: `measure` and `section` of the system `annotation`.

A method's scores have one row per test image and one column per word; the five highest are its suggestions. Precision
and recall are taken per word and averaged over the words that test images have, as in section 4 of paper 001.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from mediarank.evaluation.answers import Answer, Quality
from mediarank.evaluation.blocks import Block, Cell, Chip, Column, Figure, Gallery, Row, Table, Text, Tile, Whisker
from mediarank.evaluation.figures import Line, line_figure
from mediarank.evaluation.folded import Folded
from mediarank.evaluation.keywords import (
    IMAGE_F1,
    SUGGESTIONS,
    Words,
    image_f1,
    keyword_table,
    suggested,
    summarise_keywords,
)
from mediarank.evaluation.measured import EvaluationConfig, Measured
from mediarank.evaluation.protocols import flat_metrics
from mediarank.evaluation.ranking_section import Thumbnail, method_cell
from mediarank.evaluation.report import Fact, Section
from mediarank.evaluation.wording import plain
from mediarank.labels import Labels
from mediarank.systems.annotation.image_words import words_of
from mediarank.systems.annotation.wording import METHODS
from mediarank.systems.results import SystemResult
from mediarank.types import DataError, FeatureMatrix

TITLES: Final = {
    "precision": ("P %", "mean precision over words; a word that is never suggested has 0"),
    "recall": ("R %", "mean recall over words"),
    "f1": ("F1 %", "harmonic mean of P and R"),
    "n_plus": ("N+", "words that are suggested correctly at least once"),
    IMAGE_F1: ("F1 per image %", "mean over images of the F1 of an image's own words"),
}
MOST_SUGGESTIONS: Final = 10
A_ROW: Final = 5
"""Images with words that fit side by side."""


def measure(scores: Mapping[str, FeatureMatrix], labels: Labels, config: EvaluationConfig) -> Measured:
    """P, R, F1 and N+ of each method with five words per image; each word's figures; P and R by number of words."""
    true = words_of(labels, next(iter(scores.values())).ids.tolist())
    tables, images, rows, curves = {}, {}, [], []
    for method, matrix in scores.items():
        vocabulary = _vocabulary(matrix, true)
        tables[method] = keyword_table(true, suggested(matrix), vocabulary)
        images[method] = image_f1(true, suggested(matrix), vocabulary)
        rows.append(tables[method].rename(columns={"word": "query", "true": "relevant"}).assign(method=method))
        for count in range(1, min(MOST_SUGGESTIONS, len(matrix.names)) + 1):
            table = keyword_table(true, suggested(matrix, count), vocabulary)
            curves.append((method, count, table["precision"].mean(), table["recall"].mean()))
    per_word = pd.concat(rows, ignore_index=True)
    per_word = per_word[["method", "query", "relevant", "predicted", "correct", "precision", "recall"]]
    settings = {"resamples": config.resamples, "confidence": config.confidence}
    summary = summarise_keywords(tables, seed=config.seed, images=images, **settings)  # type: ignore[arg-type]
    by_count = pd.DataFrame(curves, columns=["method", "words", "precision", "recall"])
    return Measured(flat_metrics(summary), summary, per_word, by_count)


def section(result: SystemResult, thumbnail: Thumbnail, depth: int) -> Section:
    """Images with their words, methods, P and R by the number of words, the table of words; folded, figure 1."""
    best, measured, figures = result.served, result.measured, result.figures
    matrix, found = result.scores[best], measured.metrics[best]
    intro = (
        f"Each of {len(matrix):,} test images gets the {SUGGESTIONS} words that score highest. Precision and recall "
        "are taken per word and averaged over words, so a rare word counts as much as a frequent one."
    )
    blocks: list[Block] = [
        Text([intro]),
        images_gallery(matrix, words_of(result.labels, matrix.ids.tolist()), thumbnail, depth),
        words_table(measured.per_query, best),
        methods_table(measured.summary, best),
        by_count_figure(measured.curves, best),
    ]
    if figures.get("effect_of_k"):
        blocks.append(Folded("Figures of the paper", [effect_of_k_figure(figures["effect_of_k"])]))
    return Section(
        "Annotation",
        blocks,
        "Which keywords fit this image?",
        [
            Fact("answered by", plain(METHODS, best), f"--method {best}"),
            Fact("P / R", f"{found['precision']:.0%} / {found['recall']:.0%}", "means over words"),
            Fact("words found", f"{found['n_plus']:.0f} of {found['queries']:,}", "N+"),
            Fact("test images", f"{len(matrix):,}"),
        ],
    )


def answer(result: SystemResult) -> Answer:
    """Which words are suggested rightly: by the F1 of each word."""
    per_query = result.measured.per_query
    rows = per_query[per_query["method"] == result.served]
    p, r = rows["precision"].to_numpy(), rows["recall"].to_numpy()
    f1 = 2 * p * r / np.maximum(p + r, 1e-12)
    return result.answer(
        "Which keywords fit this picture?",
        "mediarank annotate FILE",
        METHODS,
        (IMAGE_F1, "F1 per image"),
        [Quality(str(w), float(v), int(n)) for w, v, n in zip(rows["query"], f1, rows["relevant"], strict=True)],
    )


def methods_table(summary: pd.DataFrame, served: str = "") -> Table:
    """Methods by figures with their intervals, the highest of each column bold."""
    wide = summary.set_index(["method", "metric"])
    methods = summary["method"].unique().tolist()
    highest = {metric: max(float(wide.loc[(m, metric), "mean"]) for m in methods) for metric in TITLES}
    top = max(float(wide.loc[(m, "f1"), "high"]) for m in methods)
    rows: list[list[Cell | str]] = []
    for series, method in enumerate(methods):
        row: list[Cell | str] = [method_cell(method, METHODS, served, series)]
        for metric in TITLES:
            mean, low, high = (float(wide.loc[(method, metric), name]) for name in ("mean", "low", "high"))
            scale, digits = (1, 0) if metric == "n_plus" else (100, 1)
            whisker = Whisker(mean / top, low / top, high / top, series) if metric == "f1" and top > 0 else None
            interval = f"{scale * low:.{digits}f}–{scale * high:.{digits}f}"
            row.append(Cell(f"{scale * mean:.{digits}f}", interval, mean == highest[metric], whisker=whisker))
        rows.append(row)
    columns = [Column("method"), *(Column(title, numeric=True, hint=hint) for title, hint in TITLES.values())]
    return Table("Methods", columns, rows, "Bootstrap intervals over words. The highest of each column is bold.")


def effect_of_k_figure(points: Sequence[Mapping[str, float]]) -> Figure:
    """Figure 1 of the paper: RNN with the plain count of eq 6, cross-validated on training images."""
    k = [point["k"] for point in points]
    lines = [
        Line(TITLES[metric][0].removesuffix(" %"), k, [point[metric] for point in points])
        for metric in ("precision", "recall", "f1")
    ]
    svg = line_figure(lines, "neighbours k", "mean over words", log_x=True, highlight="F1")
    alt = "Precision, recall and F1 of RNN against the number of neighbours k."
    return Figure("Effect of k", svg, alt, "RNN counting words among k neighbours, on held-out training images.")


def by_count_figure(curves: pd.DataFrame, highlight: str) -> Figure:
    lines = [
        Line(plain(METHODS, str(method)), curve["recall"].tolist(), curve["precision"].tolist())
        for method, curve in curves.groupby("method", sort=False)
    ]
    svg = line_figure(lines, "recall", "precision", highlight=plain(METHODS, highlight))
    alt = f"Precision against recall with 1 to {MOST_SUGGESTIONS} words per image, one line per method."
    return Figure("More or fewer words", svg, alt, f"From 1 to {MOST_SUGGESTIONS} words per image, from left to right.")


def images_gallery(matrix: FeatureMatrix, true: Words, thumbnail: Thumbnail, results: int) -> Gallery:
    """Images whose suggestions fit best, as usual, and worst, with the words they should have had."""
    given = suggested(matrix)
    fit = {item: _fit(set(true[item]), set(given[item])) for item in given}
    order = sorted(fit, key=lambda item: (-fit[item], item))
    shown = min(results, A_ROW, len(order))
    middle = max((len(order) - shown) // 2, 0)
    parts = {"best": order[:shown], "usual": order[middle : middle + shown], "worst": order[len(order) - shown :]}
    rows = [
        Row(title, [_tile(item, given[item], true[item], thumbnail) for item in items], "by F1 of the image's words")
        for title, items in parts.items()
    ]
    note = "Suggested words, right ✓ or wrong ✕, then true words that were not suggested."
    return Gallery("Images and their words", rows, note, large=True)


def words_table(per_word: pd.DataFrame, method: str) -> Table:
    columns = [
        Column("word"),
        Column("images", numeric=True, hint="test images that have it"),
        Column("suggested", numeric=True),
        Column("right", numeric=True),
        Column("P %", numeric=True),
        Column("R %", numeric=True),
    ]
    own = per_word[per_word["method"] == method].sort_values(["relevant", "query"], ascending=[False, True])
    rows = [
        [
            str(row["query"]),
            *(f"{int(row[c])}" for c in ("relevant", "predicted", "correct")),
            *(f"{100 * row[c]:.0f}" for c in ("precision", "recall")),
        ]
        for row in own.to_dict("records")
    ]
    return Table("Words", columns, rows, "Of the method that answers, frequent words first.", folded=True)


def _vocabulary(matrix: FeatureMatrix, true: Words) -> list[str]:
    """The words that are measured: known from training images, and true of at least one test image."""
    occurring = {word for words in true.values() for word in words}
    vocabulary = [word for word in matrix.names if word in occurring]
    if not vocabulary:
        raise DataError("No test image has a word that training images have; there is nothing to measure.")
    return vocabulary


def _fit(true: set[str], given: set[str]) -> float:
    both = len(true) + len(given)
    return 2 * len(true & given) / both if both else 0.0


def _tile(item: str, given: Sequence[str], true: Any, thumbnail: Thumbnail) -> Tile:
    chips = [Chip(word, "good" if word in true else "bad") for word in given]
    chips += [Chip(word) for word in sorted(set(true) - set(given))]
    return Tile(thumbnail(item), item.rsplit("/", 1)[-1], chips=chips, title=item, item=item)
