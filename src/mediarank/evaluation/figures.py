"""Figures as SVG text: lines, and bars with confidence intervals.

Drawn with matplotlib's objects only, without pyplot's state. The same values give the same bytes: ids are hashed with
a fixed salt and no date is written. Text stays text. Colours of `THEME` become CSS variables with the colour as
fallback, so a figure follows the page between light and dark and can also be shown alone.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mediarank.evaluation.html import printable
from mediarank.types import DataError

if TYPE_CHECKING:  # takes half a second, which measuring alone need not pay
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SERIES: Final = ("#2563c9", "#d4591c", "#12866a", "#a8328a", "#a87d0a", "#5b6878", "#0f8aa3", "#7748c4")
"""Colours of the methods, in their order; readers who are red-green blind can distinguish them too."""

INK, FAINT, GRID, PAPER = "#1f2530", "#687182", "#e2e4e9", "#fffefc"
THEME: Final = {
    INK: "ink",
    FAINT: "faint",
    GRID: "grid",
    PAPER: "card",
    **{c: f"series-{n}" for n, c in enumerate(SERIES)},
}
DASHES: Final = ("-", (0, (5, 2)), (0, (1.5, 1.5)))
WIDTH: Final = 5.7
FULL_WIDTH: Final = 12.2
"""Width in inches of a half-page and of a full-page figure, so that text has one size."""
LABEL_LENGTH: Final = 26
MOST_TICKS: Final = 10
"""If a logarithmic axis has more values than this, only round ones are labelled."""

SETTINGS: Final[Any] = {  # matplotlib types the keys as one long literal
    "svg.hashsalt": "mediarank",
    "svg.fonttype": "none",
    "text.parse_math": False,  # a label may hold a dollar sign
    "font.family": "DejaVu Sans",  # comes with matplotlib, so text has the same size everywhere
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": FAINT,
    "axes.linewidth": 1.0,
    "axes.axisbelow": True,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "lines.solid_capstyle": "round",
}


@dataclass(frozen=True)
class Line:
    """A curve, with a band around it if `low` and `high` are given."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


@dataclass(frozen=True)
class Bar:
    """A value with its confidence interval."""

    label: str
    value: float
    low: float
    high: float


def line_figure(
    lines: Sequence[Line],
    x_label: str,
    y_label: str,
    *,
    log_x: bool = False,
    highlight: str | None = None,
    full: bool = False,
) -> str:
    """Curves of values from 0 up, the highlighted one thicker and in front. full : across the page"""
    if not lines:
        raise DataError("A figure of lines needs at least one line.")
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    with _drawing(3.7, full) as figure:
        axes = _axes(figure, x_label, y_label)
        axes.grid(visible=True, axis="y")
        if log_x:
            axes.set_xscale("log")
            places = sorted({float(x) for line in lines for x in line.x})
            named = FixedLocator(places) if len(places) <= MOST_TICKS else LogLocator(subs=(1, 2, 5))
            axes.xaxis.set_major_locator(named)
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        for number, line in enumerate(lines):
            strong = line.label == highlight
            if line.low is not None and line.high is not None:
                axes.fill_between(line.x, line.low, line.high, color=_colour(number), alpha=0.16, linewidth=0)
            axes.plot(
                line.x,
                line.y,
                color=_colour(number),
                linestyle=_dash(number),
                linewidth=2.6 if strong else 1.6,
                zorder=4 if strong else 3,
            )
        axes.set_ylim(bottom=0)
        axes.margins(x=0.01)
        _legend(figure, [line.label for line in lines])
        return _svg(figure)


def bar_figure(bars: Sequence[Bar], x_label: str, *, full: bool = False) -> str:
    """Horizontal bars, the first on top, each with its confidence interval and its value."""
    if not bars:
        raise DataError("A figure of bars needs at least one bar.")
    with _drawing(1.1 + 0.36 * len(bars), full) as figure:
        axes = _axes(figure, x_label, "")
        axes.grid(visible=True, axis="x")
        axes.spines["bottom"].set_visible(False)
        places = range(len(bars))
        axes.barh(places, [b.value for b in bars], height=0.6, color=[_colour(n) for n in places], alpha=0.88)
        reach = np.array([(b.value - b.low, b.high - b.value) for b in bars]).T
        axes.errorbar(
            [b.value for b in bars],
            places,
            xerr=np.maximum(reach, 0),
            fmt="none",
            ecolor=INK,
            elinewidth=1.4,
            capsize=3,
        )
        top = max([b.high for b in bars if np.isfinite(b.high)], default=1.0) or 1.0
        for place, bar in enumerate(bars):
            if np.isfinite(bar.value):
                axes.text(max(bar.high, bar.value) + 0.015 * top, place, f"{bar.value:.3f}", va="center", color=INK)
        axes.set_yticks(list(places), [_short(b.label) for b in bars], color=INK)
        axes.set_xlim(0, top * 1.14)
        axes.set_ylim(len(bars) - 0.5, -0.5)
        return _svg(figure)


@contextmanager
def _drawing(height: float, full: bool) -> Iterator[Figure]:
    """An empty figure; our settings hold while it is drawn."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(SETTINGS):
        yield Figure(figsize=(FULL_WIDTH if full else WIDTH, height), layout="constrained")


def _axes(figure: Figure, x_label: str, y_label: str) -> Axes:
    axes = figure.add_subplot()
    axes.patch.set_visible(False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel(printable(x_label), labelpad=8)
    axes.set_ylabel(printable(y_label), labelpad=8)
    return axes


def _legend(figure: Figure, labels: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    swatches = [Line2D([], [], color=_colour(n), linestyle=_dash(n), linewidth=2.6) for n in range(len(labels))]
    figure.legend(
        swatches,
        [_short(label) for label in labels],
        loc="outside upper left",
        ncols=min(3 if figure.get_figwidth() == WIDTH else 6, len(labels)),
        frameon=False,
        handlelength=1.6,
        columnspacing=1.6,
        borderaxespad=0,
    )


def _colour(number: int) -> str:
    return SERIES[number % len(SERIES)]


def _dash(number: int) -> Any:
    return DASHES[number // len(SERIES) % len(DASHES)]


def _short(label: object, length: int = LABEL_LENGTH) -> str:
    text = printable(label)
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.patch.set_visible(False)
    with warnings.catch_warnings():
        # The browser's fonts draw glyphs that matplotlib's font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    return re.sub(
        r"(?<=[ \"])(fill|stroke): (#[0-9a-f]{6})",
        lambda found: f"{found[1]}: var(--{THEME[found[2]]}, {found[2]})" if found[2] in THEME else found[0],
        buffer.getvalue(),
    )
