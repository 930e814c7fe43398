"""Folded parts, lists of sentences and heat tables: what is shown, and that names stay text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mediarank.evaluation.blocks import Text
from mediarank.evaluation.folded import Folded, HeatTable, Points
from mediarank.evaluation.report import Report, Section, render
from mediarank.types import DataError

Read = Callable[[str], Any]
TABLE = pd.DataFrame([[0.1, 0.9], [0.4, np.nan]], index=["one", "two"], columns=["coast", "forest"])


def page_of(read_page: Read, *blocks: Any) -> Any:
    return read_page(render(Report("r", [], [Section("s", list(blocks))])))


def test_a_folded_part_holds_its_blocks_and_is_closed(read_page: Read) -> None:
    page = page_of(read_page, Folded("Figures of the paper", [Text(["inside"])], "a note"))
    assert {"Figures of the paper", "inside", "a note"} <= set(page.text)
    assert [given for tag, given in page.tags if tag == "details"] == [{"class": "card part"}]


def test_commands_in_sentences_are_marked(read_page: Read) -> None:
    page = page_of(read_page, Points("Next", ["Run `dvc repro`.", "A lone ` stays."]))
    assert page.count("code") == 1
    assert "dvc repro" in page.text
    assert "A lone ` stays." in page.text


def test_the_highest_of_each_column_or_row_is_bold(read_page: Read) -> None:
    by_column = page_of(read_page, HeatTable("h", TABLE))
    assert by_column.count("strong") == 2  # 0.4 below coast, 0.9 below forest
    assert "–" in by_column.text
    by_row = page_of(read_page, HeatTable("h", pd.DataFrame([[0.1, 0.9], [0.4, 0.95]]), by_row=True))
    text = render(
        Report("r", [], [Section("s", [HeatTable("h", pd.DataFrame([[0.1, 0.9], [0.4, 0.95]]), by_row=True)])])
    )
    assert by_row.count("strong") == 2
    assert "<strong>0.90</strong>" in text
    assert "<strong>0.95</strong>" in text


def test_shades_run_from_the_lowest_to_the_highest_value(read_page: Read) -> None:
    page = page_of(read_page, HeatTable("h", TABLE, hints={"one": "the first method"}))
    shades = [given["style"] for tag, given in page.tags if tag == "td" and "style" in given]
    assert shades == ["--share:0.000", "--share:1.000", "--share:0.375"]
    assert "the first method" in page.attributes("abbr", "title")


def test_undefined_and_empty_tables() -> None:
    assert "–" in render(Report("r", [], [Section("s", [HeatTable("h", pd.DataFrame([[np.nan]]))])]))
    with pytest.raises(DataError, match="at least one"):
        HeatTable("h", pd.DataFrame())


def test_names_stay_text(hostile: list[str], read_page: Read) -> None:
    names = [name for name in hostile if "\udcff" not in name]  # pandas holds whole characters only
    table = pd.DataFrame(np.eye(len(names)), index=names, columns=names)
    page = page_of(read_page, HeatTable(names[0], table, names[1], names[2], {names[3]: names[4]}))
    assert page.count("script") == 1
    assert page.count("img") == 0
