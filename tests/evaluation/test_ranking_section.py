"""The section of a ranking system: the right method, the right numbers, the right pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mediarank.evaluation.blocks import Cell, Figure
from mediarank.evaluation.folded import HeatTable
from mediarank.evaluation.measured import Measured
from mediarank.evaluation.protocols import per_query, precision_recall, rank_methods, summarise
from mediarank.evaluation.ranking_section import (
    MOST_GROUPS,
    best_method,
    groups_table,
    means_figure,
    methods_table,
    metric_title,
    ranked_gallery,
    ranking_section,
    telling_queries,
)
from mediarank.evaluation.report import Report, Section, render
from mediarank.evaluation.wording import Words
from mediarank.types import DataError, FeatureMatrix, Judgments

Read = Callable[[str], Any]
Scores = dict[str, FeatureMatrix]
WORDS = {"perfect": Words("always right", "the Perfect method"), "lots": Words("by lot")}


@pytest.fixture(scope="module")
def table(scores: Scores, judgments: Judgments) -> pd.DataFrame:
    return per_query(rank_methods(scores, judgments))


@pytest.fixture(scope="module")
def summary(table: pd.DataFrame) -> pd.DataFrame:
    return summarise(table, seed=1, resamples=100)


@pytest.fixture(scope="module")
def groups(judgments: Judgments) -> dict[str, str]:
    return {item: f"class {item.split('/')[1][0]}" for item in judgments.candidates}


@pytest.fixture(scope="module")
def section(
    scores: Scores,
    judgments: Judgments,
    table: pd.DataFrame,
    summary: pd.DataFrame,
    groups: dict[str, str],
    picture: bytes,
) -> Section:
    curves = precision_recall(rank_methods(scores, judgments), 11)
    measured = Measured({}, summary, table, curves)
    return ranking_section(
        "Retrieval", "What looks like this one?", measured, scores, judgments, lambda _: picture,
        words=WORDS, served="perfect", groups=groups, intro=["An item is relevant to a query of its class."],
    )  # fmt: skip


def test_the_section_has_what_a_reader_asks_for(section: Section, read_page: Read) -> None:
    page = read_page(render(Report("r", [], [section])))
    text = set(page.text)
    assert {"What looks like this one?", "always right", "answered by", "mAP", "1.000", "nDCG@50", "class a"} <= text
    assert page.count("svg") == 2
    kinds = [type(block).__name__ for block in section.blocks]
    assert kinds == ["Text", "Gallery", "Table", "Figure", "Figure", "HeatTable"]
    assert "--method perfect: the Perfect method" in page.attributes("abbr", "title")
    facts = {fact.label: fact.value for fact in section.facts}
    assert facts == {"answered by": "always right", "mAP": "1.000", "queries": "9", "candidates": "12"}


def test_the_best_of_each_metric_is_bold_and_intervals_are_shown(summary: pd.DataFrame) -> None:
    found = methods_table(summary, "ap", words=WORDS, served="lots")
    assert [column.title for column in found.columns][:3] == ["method", "mAP", "mAP@100"]
    perfect, lots, backwards = found.rows
    assert all(cell.strong for cell in perfect[1:] if isinstance(cell, Cell))
    assert (lots[0].text, lots[0].note, lots[0].hint) == ("by lot", "answers", "--method lots")
    assert (backwards[0].text, backwards[0].note) == ("backwards", "")  # a method without words keeps its name
    assert not lots[1].strong
    low, high = summary.set_index(["method", "metric"]).loc[("lots", "ap"), ["low", "high"]]
    assert lots[1].note == f"{low:.3f}–{high:.3f}"
    assert lots[1].whisker is not None
    assert lots[2].whisker is None


def test_results_follow_the_ranking_and_leave_the_query_out(
    table: pd.DataFrame, scores: Scores, judgments: Judgments, groups: dict[str, str], picture: bytes
) -> None:
    asked: list[str] = []

    def thumbnail(item: str) -> bytes:
        asked.append(item)
        return picture

    gallery = ranked_gallery(table, scores["lots"], judgments, thumbnail, "lots", groups=groups, each=1, depth=4)
    assert [row.title.split(":")[0] for row in gallery.rows] == ["Best", "Median", "Worst"]
    for row in gallery.rows:
        query = row.lead.title
        line = dict(zip(judgments.candidates, scores["lots"].rows([query])[0], strict=True))
        expected = sorted(set(judgments.candidates) - {query}, key=lambda item: (-line[item], item))[:4]
        assert [tile.title for tile in row.tiles] == expected
        assert [tile.rank for tile in row.tiles] == [1, 2, 3, 4]
        assert [tile.tone == "good" for tile in row.tiles] == [groups[item] == groups[query] for item in expected]
        value = table[(table["method"] == "lots") & (table["query"] == query)]["ap"].item()
        assert row.title.endswith(f"AP {value:.3f}")
        assert {tile.caption for tile in row.tiles} <= {"class a", "class b", "class c"}
    assert len(asked) == 3 * 5  # no picture is made that is not shown


def test_concepts_have_no_picture_of_the_query(picture: bytes) -> None:
    judgments = Judgments.from_pairs([("boat", "a.jpg"), ("car", "b.jpg")], ["a.jpg", "b.jpg"])
    matrix = FeatureMatrix(np.array(["boat", "car"]), ("a.jpg", "b.jpg"), np.array([[2, 1], [2, 1]], np.float32))
    table = per_query(rank_methods({"m": matrix}, judgments))
    gallery = ranked_gallery(table, matrix, judgments, lambda _: picture, "m")
    assert [row.lead for row in gallery.rows] == [None, None]
    assert [[tile.caption for tile in row.tiles] for row in gallery.rows] == [["a.jpg", "b.jpg"]] * 2
    assert [row.title for row in gallery.rows] == ["Best: AP 1.000", "Worst: AP 0.500"]


def test_telling_queries_are_reported_once_each() -> None:
    table = pd.DataFrame({"method": "m", "query": list("abcdefg"), "ap": [0.5, 0.9, 0.1, np.nan, 0.7, 0.9, 0.3]})
    assert telling_queries(table, "m", each=1) == [("best", "b", 0.9), ("median", "e", 0.7), ("worst", "c", 0.1)]
    assert [q for _, q, _ in telling_queries(table, "m", each=2)] == ["b", "f", "e", "a", "g", "c"]
    everything = telling_queries(table, "m", each=5)
    assert sorted(q for _, q, _ in everything) == list("abcefg")
    assert telling_queries(table[table["query"] == "d"], "m") == []


def test_best_method_skips_what_has_no_value() -> None:
    summary = pd.DataFrame({"method": ["a", "b", "c"], "metric": "ap", "mean": [np.nan, 0.5, 0.5]})
    assert best_method(summary) == "b"
    with pytest.raises(DataError, match="No method has a value"):
        best_method(summary.iloc[:1])


def test_figures_and_tables_name_methods_in_words(
    summary: pd.DataFrame, table: pd.DataFrame, groups: dict[str, str], read_page: Read
) -> None:
    bars = means_figure(summary, "ap", WORDS)
    assert "always right 1.000" in bars.alt
    assert isinstance(bars, Figure)
    heat = groups_table(table, groups, "ap", WORDS)
    assert list(heat.values.index) == ["always right", "by lot", "backwards"]
    assert list(heat.values.columns) == ["class a", "class b", "class c"]
    page = read_page(render(Report("r", [], [Section("s", [heat])])))
    assert "--method perfect: the Perfect method" in page.attributes("abbr", "title")


def test_of_many_groups_the_extremes_are_shown() -> None:
    queries = [f"q{k:02d}" for k in range(50)]
    table = pd.DataFrame({"method": "m", "query": queries, "ap": np.arange(50) / 50})
    shown = groups_table(table, {q: f"<{q}>" for q in queries}, "ap", {})
    assert isinstance(shown, HeatTable)
    half = MOST_GROUPS // 2
    kept = [*range(half), *range(50 - half, 50)]
    assert sorted(shown.values.index) == [f"<q{k:02d}>" for k in kept]
    assert shown.by_row
    assert "of 50 classes" in shown.note


def test_without_groups_there_is_no_table_by_class(
    scores: Scores, judgments: Judgments, table: pd.DataFrame, summary: pd.DataFrame
) -> None:
    curves = precision_recall(rank_methods(scores, judgments), 11)
    measured = Measured({}, summary, table, curves)
    made = ranking_section("t", "q", measured, scores, judgments, lambda _: None, words=WORDS, served="lots")
    assert [type(block).__name__ for block in made.blocks] == ["Gallery", "Table", "Figure", "Figure"]
    assert made.facts[0].value == "by lot"  # the method that answers, not the one that is best on test items


def test_metric_titles() -> None:
    assert [metric_title(m) for m in ("ap@100", "rr", "p@10", "odd")] == ["mAP@100", "MRR", "P@10", "odd"]
