"""Two more blocks of the report: a part that is hidden until it is opened, and a table shaded by value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from mediarank.evaluation.blocks import Block, Page
from mediarank.evaluation.html import Markup, element, prose
from mediarank.types import DataError


@dataclass(frozen=True)
class Folded:
    """Blocks that most readers skip, such as the figures of a paper."""

    heading: str
    blocks: Sequence[Block]
    note: str = ""

    def render(self, page: Page) -> Markup:
        note = element("p", prose(self.note), class_="aside") if self.note else Markup()
        inside = element("div", *(block.render(page) for block in self.blocks), class_="blocks")
        return element("details", element("summary", self.heading), note, inside, class_="card part")


@dataclass(frozen=True)
class Points:
    """Sentences in a list, under a heading."""

    heading: str
    sentences: Sequence[str]
    note: str = ""
    half: bool = False

    def render(self, page: Page) -> Markup:
        note = element("p", prose(self.note), class_="aside") if self.note else Markup()
        points = element("ul", *(element("li", prose(sentence)) for sentence in self.sentences), class_="list")
        return element("div", element("h3", self.heading), note, points, class_="card half" if self.half else "card")


@dataclass(frozen=True)
class HeatTable:
    """Numbers shaded by value; the highest of each column is bold.

    hints : row -> what its name means; by_row : the highest of each row is bold instead
    """

    heading: str
    values: pd.DataFrame
    note: str = ""
    corner: str = "method"
    hints: Mapping[str, str] = field(default_factory=dict)
    by_row: bool = False

    def __post_init__(self) -> None:
        if self.values.empty:
            raise DataError("A heat table needs at least one row and one column.")

    def render(self, page: Page) -> Markup:
        numbers = self.values.to_numpy(dtype=np.float64)
        known = np.isfinite(numbers)
        low, high = (float(numbers[known].min()), float(numbers[known].max())) if known.any() else (0.0, 1.0)
        best = numbers == np.where(known, numbers, -np.inf).max(axis=int(self.by_row), keepdims=True)
        rows = []
        for name, line, bold in zip(self.values.index, numbers.tolist(), best.tolist(), strict=True):
            title = element("abbr", str(name), title=self.hints[name]) if name in self.hints else str(name)
            cells = [_cell(value, low, high, strong) for value, strong in zip(line, bold, strict=True)]
            rows.append(element("tr", element("th", title, scope="row", class_="wrap"), *cells))
        heads = [element("th", self.corner, scope="col")]
        heads += [element("th", str(name), scope="col", class_="number") for name in self.values.columns]
        table = element(
            "table",
            element("thead", element("tr", *heads)),
            element("tbody", *rows),
            class_="heat",
            aria_label=self.heading,
        )
        return element(
            "div",
            element("h3", self.heading),
            element("p", prose(self.note), class_="aside") if self.note else Markup(),
            element("div", table, class_="scroll", tabindex=0, role="group", aria_label=self.heading),
            class_="card",
        )


def _cell(value: float, low: float, high: float, strong: bool) -> Markup:
    if not np.isfinite(value):
        return element("td", "–")
    share = (value - low) / (high - low) if high > low else 1.0
    text = element("strong", f"{value:.2f}") if strong else f"{value:.2f}"
    return element("td", text, style=f"--share:{share:.3f}", class_="number")
