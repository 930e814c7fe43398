"""Figures: the same bytes, labels as they are, nothing left behind in matplotlib's settings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pytest

from mediarank.evaluation.figures import SERIES, THEME, Bar, Line, bar_figure, line_figure
from mediarank.evaluation.html import printable
from mediarank.evaluation.page_style import STYLE
from mediarank.types import DataError

LINES = [Line("one", [0, 0.5, 1], [0.9, 0.5, 0.1]), Line("two", [0, 0.5, 1], [0.5, 0.4, 0.3], [0.4] * 3, [0.6] * 3)]
BARS = [Bar("one", 0.5, 0.4, 0.6), Bar("two", 0.2, 0.1, 0.3)]

FIGURES: dict[str, Callable[[], str]] = {
    "lines": lambda: line_figure(LINES, "recall", "precision", highlight="one"),
    "depths": lambda: line_figure([Line("one", [1, 10, 100], [1, 2, 3])], "k", "value", log_x=True, full=True),
    "bars": lambda: bar_figure(BARS, "mAP"),
}


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.inside = False
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = tag == "text"
        if self.inside:
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.found[-1] += data


def texts(svg: str) -> list[str]:
    reader = _Texts()
    reader.feed(svg)
    reader.close()
    return reader.found


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_values_give_the_same_bytes(name: str) -> None:
    before = dict(mpl.rcParams)
    first = FIGURES[name]()
    for other in FIGURES.values():
        other()
    assert FIGURES[name]() == first
    assert dict(mpl.rcParams) == before
    assert "<dc:date>" not in first
    assert "Matplotlib v" not in first


def test_figures_say_what_they_show() -> None:
    assert {"one", "two", "recall", "precision"} <= set(texts(FIGURES["lines"]()))
    assert {"1", "10", "100"} <= set(texts(FIGURES["depths"]()))
    assert {"one", "two", "0.500", "0.200", "mAP"} <= set(texts(FIGURES["bars"]()))


def test_any_label_can_be_drawn(hostile: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lines = line_figure([Line(name, [0, 1], [0, 1]) for name in hostile], hostile[0], hostile[6])
        bars = bar_figure([Bar(name, 0.5, 0.4, 0.6) for name in hostile], hostile[1])
    for svg in (lines, bars):
        svg.encode("utf-8")
        assert "<script" not in svg
        assert "<img" not in svg
    for name in hostile:
        if 0 < len(name) <= 26:
            assert printable(name) in texts(lines)
            assert printable(name) in texts(bars)


def test_undefined_values_leave_a_gap_and_no_error() -> None:
    assert "0.300" in texts(bar_figure([Bar("none", np.nan, np.nan, np.nan), Bar("some", 0.3, 0.2, 0.4)], "mAP"))
    assert bar_figure([Bar("none", np.nan, np.nan, np.nan)], "mAP").startswith("<?xml")
    assert line_figure([Line("none", [0, 1], [np.nan, np.nan])], "x", "y").startswith("<?xml")


def test_more_methods_than_colours_differ_by_dashes() -> None:
    svg = line_figure([Line(str(k), [0, 1], [0, k]) for k in range(len(SERIES) + 1)], "x", "y")
    first_colour = [part for part in svg.split("<path") if "var(--series-0" in part]
    assert {"stroke-dasharray" in part for part in first_colour} == {True, False}


def test_every_themed_colour_is_known_to_the_page() -> None:
    for colour, name in THEME.items():
        assert f"--{name}: {colour};" in STYLE, name  # in the light theme the page and a lone figure look alike
        assert STYLE.count(f"--{name}:") == 2, f"{name} must have a light and a dark value"


def test_empty_figures_are_refused() -> None:
    for draw in (lambda: line_figure([], "x", "y"), lambda: bar_figure([], "x")):
        with pytest.raises(DataError, match="at least one"):
            draw()
