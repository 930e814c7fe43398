"""How well each name (a concept, an event) is found: a table, and for each name its curve, cut-off and worst errors.

`name_results` measures the method that answers; nothing is read here. The cut-off is chosen by the probabilities of
held-out items, as `mediarank find` does it, and then counted on test items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

import numpy as np

from mediarank.evaluation.blocks import Cell, Column, Page, Table, Tile
from mediarank.evaluation.calibration import best_cut
from mediarank.evaluation.html import Markup, element
from mediarank.evaluation.metrics import average_precision
from mediarank.evaluation.ranks import ranking
from mediarank.types import Doubles, FeatureMatrix, Judgments

FIRST: Final = 10
WELL: Final = 0.7
PARTLY: Final = 0.4
FEWEST: Final = 3
"""Test items that must show a name before it is judged."""
ERRORS: Final = 6
MOST_DETAILS: Final = 40
Thumbnail = Callable[[str], bytes | None]


@dataclass(frozen=True)
class CutOff:
    """What the cut-off does to test items.

    probability : the lowest one that counts as yes
    above, right : items that are above it, and those of them that show the name
    """

    probability: float
    above: int
    right: int


@dataclass(frozen=True)
class Placed:
    """An item, its place in a ranking from 1, and its probability (NaN if that is not known)."""

    item: str
    place: int
    probability: float = float("nan")


@dataclass(frozen=True)
class NameResult:
    """How well one name is found among the test items.

    shown : test items that show it; places : their places in the ranking, from 1
    wrong : the first items of the ranking that do not show it
    missed : the last items that do show it
    """

    name: str
    shown: int
    candidates: int
    places: Sequence[int]
    ap: float
    wrong: Sequence[Placed]
    missed: Sequence[Placed]
    cut: CutOff | None = None

    @property
    def first(self) -> int:
        """How many could be right among the first results."""
        return min(FIRST, self.shown)

    @property
    def found(self) -> int:
        return sum(place <= self.first for place in self.places)

    @property
    def share(self) -> float:
        """Of the first results, as many as could be right, the share that is."""
        return self.found / self.first if self.first else float("nan")


def level(share: float, shown: int) -> tuple[str, str]:
    """A verdict in a word, and its tone.

    >>> level(0.9, 20), level(0.5, 20), level(0.1, 20), level(1.0, 1)
    (('well', 'good'), ('partly', ''), ('poorly', 'bad'), ('too few to say', ''))
    """
    if shown < FEWEST or share != share:
        return "too few to say", ""
    return ("well", "good") if share >= WELL else ("partly", "") if share >= PARTLY else ("poorly", "bad")


def name_results(
    scores: FeatureMatrix, judgments: Judgments, probabilities: FeatureMatrix | None = None
) -> list[NameResult]:
    """The result of each name.

    scores : names × test items
    probabilities : test items × names
    """
    items = np.array(scores.names, dtype=str)
    found = []
    for name, values in zip(scores.ids.tolist(), scores.values.astype(np.float64), strict=True):
        right = judgments.grades(name, items.tolist()) > 0
        order = ranking(items, values)
        hits = right[order]
        p = np.full(len(items), np.nan)
        cut = None
        if probabilities is not None and name in probabilities.names:
            column = probabilities.values[:, probabilities.names.index(name)].astype(np.float64)
            p = column[probabilities.positions(items.tolist())]
            threshold = best_cut(p).threshold
            above = p >= threshold
            cut = CutOff(threshold, int(above.sum()), int((above & right).sum()))

        def placed(places: Iterable[int], order: Any = order, p: Doubles = p) -> list[Placed]:
            return [Placed(str(items[order[k]]), k + 1, float(p[order[k]])) for k in places]

        shown = np.flatnonzero(hits).tolist()
        found.append(
            NameResult(
                name,
                len(shown),
                len(items),
                [place + 1 for place in shown],
                float(average_precision(right.astype(np.float64), values)) if shown else float("nan"),
                placed(np.flatnonzero(~hits)[:ERRORS].tolist()),
                placed(shown[::-1][:ERRORS]),
                cut,
            )
        )
    return found


@dataclass(frozen=True)
class Names:
    """The table of all names, and below it one folded part per name."""

    heading: str
    results: Sequence[NameResult]
    thumbnail: Thumbnail

    def render(self, page: Page) -> Markup:
        worst_first = sorted(self.results, key=lambda r: (r.share != r.share, r.share, r.ap, r.name))
        detailed = {r.name: page.anchor("name") for r in worst_first[:MOST_DETAILS] if r.shown}
        columns = [
            Column("name"),
            Column("found", hint=f"well: {WELL:.0%} or more of the first results are right; partly: {PARTLY:.0%}"),
            Column("right among the first", hint=f"of the first {FIRST}, or as many as show it"),
            Column("average precision", numeric=True, hint="the precision at each item that shows it, averaged"),
            Column("cut-off", hint="the probability above which find says yes, and what it gets of the test items"),
            Column("test items", numeric=True, hint="that show it"),
        ]
        rows = [self._row(r, detailed.get(r.name, "")) for r in worst_first]
        table = Table(
            self.heading, columns, rows, "Of the method that answers, weakest first. A name leads to its pictures."
        )
        parts = [_details(r, detailed[r.name], self.thumbnail, page) for r in worst_first if r.name in detailed]
        return element("div", table.render(page), element("div", *parts, class_="card"), class_="names")

    def _row(self, r: NameResult, anchor: str) -> list[Cell | str]:
        word, tone = level(r.share, r.shown)
        cut: Cell | str = "–"
        if r.cut is not None:
            cut = Cell(f"{r.cut.probability:.2f}", f"{r.cut.right} right of {r.cut.above}")
        ap = f"{r.ap:.2f}" if r.shown else "–"
        return [Cell(r.name, link=anchor), Cell(word, tone=tone), f"{r.found} of {r.first}", ap, cut, f"{r.shown}"]


def _details(r: NameResult, anchor: str, thumbnail: Thumbnail, page: Page) -> Markup:
    word, _ = level(r.share, r.shown)
    sentence = f"{r.found} of the first {r.first} are right; {r.shown} of {r.candidates} test items show it."
    if r.cut is not None:
        sentence += (
            f" With the cut-off at {r.cut.probability:.2f}, {r.cut.above} items are called {r.name}, {r.cut.right} of "
            f"them rightly; {r.shown - r.cut.right} are missed."
        )
    wrong = [_tile(one, "bad", thumbnail) for one in r.wrong]
    missed = [_tile(one, "good", thumbnail) for one in r.missed]
    strips = []
    for title, tiles in (("Highest of what is not labelled with it", wrong), ("Lowest of what is", missed)):
        if tiles:
            strips += [element("h4", title), element("ol", *(t.render(page, "li") for t in tiles), class_="tiles")]
    body = element("div", element("p", sentence), curve(r), element("div", *strips), class_="one-name")
    summary = element("summary", f"{r.name}: {word}, average precision {r.ap:.2f}")
    return element("details", summary, body, class_="one", id=anchor)


def curve(r: NameResult) -> Markup:
    """Precision against recall, one step per item that shows the name, as a small drawing."""
    points = [(k / r.shown, k / place) for k, place in enumerate(r.places, start=1)]
    at = [(30 + 200 * recall, 120 - 110 * precision) for recall, precision in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in [(30.0, at[0][1]), *at]) if at else ""
    axis = 'stroke="var(--grid)" fill="none"'
    words = 'fill="var(--faint)" font-size="10"'
    label = element("svg", role="img", aria_label=f"Precision of {r.name} from {r.places[0] if r.places else 0} on")
    opening = label.removesuffix("</svg>").replace("<svg", '<svg viewBox="0 0 240 140"', 1)
    return Markup(
        f'{opening}<path d="M30 10V120H230" {axis}/><path d="M30 65H230" {axis} stroke-dasharray="3 3"/>'
        f'<polyline points="{path}" fill="none" stroke="var(--series-0)" stroke-width="2"/>'
        f'<text x="26" y="14" text-anchor="end" {words}>1</text><text x="26" y="123" text-anchor="end" {words}>0</text>'
        f'<text x="130" y="136" text-anchor="middle" {words}>share of them found</text>'
        f'<text x="34" y="9" {words}>share that is right</text></svg>'
    )


def _tile(one: Placed, tone: str, thumbnail: Thumbnail) -> Tile:
    return Tile(thumbnail(one.item), PurePosixPath(one.item).name, one.place, tone, title=one.item, item=one.item)
