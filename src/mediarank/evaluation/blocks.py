"""The blocks of a report section: text, tables, figures and galleries of pictures.

A block is any frozen value with `render(page) -> Markup`. These four serve all systems; add another one in a new
file. `Page` is what blocks share while a page is written: unique ids and the budget for pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from mediarank.evaluation.html import Markup, data_uri, element, inline_svg, join, prose
from mediarank.types import DataError

TONES: Final = ("", "good", "bad")
MARKS: Final = {"good": "✓", "bad": "✕"}
MEANINGS: Final = {"good": "relevant", "bad": "not relevant"}


@dataclass(frozen=True)
class Strip:
    """Frames of a clip side by side in one JPEG."""

    picture: bytes
    frames: int
    width: int
    height: int


class Page:
    """Counts what must be unique or bounded while a page is written.

    strip : item -> frames of it, if it is a clip; the page holds those of an item once
    """

    def __init__(self, picture_budget: int, strip: Callable[[str], Strip | None] | None = None) -> None:
        self.picture_bytes_left = picture_budget
        self.pictures_left_out = 0
        self.figures = 0
        self._strip = strip
        self._stripped: set[str] = set()
        self._anchors: set[str] = set()

    def anchor(self, word: str) -> str:
        """A name for a link within the page, used once."""
        name, number = f"{word}_1", 1
        while name in self._anchors:
            number += 1
            name = f"{word}_{number}"
        self._anchors.add(name)
        return name

    def item(self, item: str) -> dict[str, str]:
        """What a tile says of its item to the page's script; a clip's frames come with its first tile."""
        if not item:
            return {}
        given = {"data_item": item}
        if self._strip is not None and item not in self._stripped:
            self._stripped.add(item)
            strip = self._strip(item)
            if strip is not None and len(strip.picture) <= self.picture_bytes_left:
                self.picture_bytes_left -= len(strip.picture)
                shape = f"{strip.width} / {strip.height}"
                given |= {"data_strip": data_uri(strip.picture), "data_frames": str(strip.frames), "data_shape": shape}
        return given

    def figure_prefix(self) -> str:
        self.figures += 1
        return f"f{self.figures}_"  # section anchors have no underscore

    def picture(self, picture: bytes | None, alt: str) -> Markup:
        """The picture, or a placeholder if there is none or the page would grow too large."""
        if picture is not None and len(picture) <= self.picture_bytes_left:
            self.picture_bytes_left -= len(picture)
            return element("img", src=data_uri(picture), alt=alt, loading="lazy", decoding="async")
        self.pictures_left_out += picture is not None
        return element("span", "…", class_="missing", role="img", aria_label=alt)


class Block(Protocol):
    def render(self, page: Page) -> Markup:
        """The block as HTML; text from data goes through `html.element`, which escapes it."""


@dataclass(frozen=True)
class Text:
    """Paragraphs, under a heading if one is given."""

    paragraphs: Sequence[str]
    heading: str = ""

    def render(self, page: Page) -> Markup:
        heading = element("h3", self.heading) if self.heading else Markup()
        return element("div", heading, *(element("p", prose(p)) for p in self.paragraphs), class_="prose")


@dataclass(frozen=True)
class Column:
    """A column's title, whether it holds numbers (aligned right), and what the title means."""

    title: str
    numeric: bool = False
    hint: str = ""


@dataclass(frozen=True)
class Whisker:
    """A value and its interval as shares of the largest in the table, drawn below the number."""

    at: float
    low: float
    high: float
    series: int


@dataclass(frozen=True)
class Cell:
    """An entry of a table: text, a smaller note below it, what it means, and how it is highlighted.

    link : an anchor within the page
    """

    text: str
    note: str = ""
    strong: bool = False
    tone: str = ""
    series: int | None = None
    whisker: Whisker | None = None
    hint: str = ""
    link: str = ""
    code: bool = False

    def __post_init__(self) -> None:
        _require_tone(self.tone)

    def render(self) -> Markup:
        swatch = Markup()
        if self.series is not None:
            swatch = element("span", class_="swatch", style=f"background:var(--series-{self.series % 8})")
        text = element("strong", self.text) if self.strong else join(self.text)
        if self.hint:
            text = element("abbr", text, title=self.hint)
        if self.code:
            text = element("code", text)
        if self.link:
            text = element("a", text, href=f"#{self.link}")
        if self.tone:
            text = element("span", text, class_=f"{self.tone}-text")
        note = element("span", prose(self.note), class_="small") if self.note else Markup()
        return join(swatch, text, note, _whisker(self.whisker) if self.whisker else Markup())


@dataclass(frozen=True)
class Table:
    """Rows of cells under titled columns; the first cell of a row names it.

    folded : hidden until it is opened; half : as wide as half the page
    """

    heading: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell | str]]
    note: str = ""
    folded: bool = False
    half: bool = False

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise DataError(
                    f"Table {self.heading!r} has {len(self.columns)} columns but a row of {len(row)} cells."
                )

    def render(self, page: Page) -> Markup:
        table = element(
            "div",
            element(
                "table",
                element("thead", element("tr", *(_title(c) for c in self.columns))),
                element("tbody", *(self._row(row) for row in self.rows)),
                aria_label=self.heading,
            ),
            class_="scroll",
            tabindex=0,
            role="group",
            aria_label=self.heading,
        )
        note = element("p", prose(self.note), class_="aside") if self.note else Markup()
        kind = "card half" if self.half else "card"
        if self.folded:
            summary = element("summary", f"{self.heading} ({len(self.rows)})")
            return element("details", summary, note, table, class_=kind)
        return element("div", element("h3", self.heading), note, table, class_=kind)

    def _row(self, row: Sequence[Cell | str]) -> Markup:
        cells = []
        for number, (column, cell) in enumerate(zip(self.columns, row, strict=True)):
            content = (cell if isinstance(cell, Cell) else Cell(cell)).render()
            kind = "number" if column.numeric else "wrap"
            if number == 0:
                cells.append(element("th", content, scope="row", class_=kind))
            else:
                cells.append(element("td", content, class_=kind))
        return element("tr", *cells)


@dataclass(frozen=True)
class Figure:
    """An SVG made by `figures`; `alt` says in words what it shows.

    half : two stand side by side; otherwise draw it with `full=True`
    """

    heading: str
    svg: str
    alt: str
    note: str = ""
    half: bool = True

    def render(self, page: Page) -> Markup:
        drawing = inline_svg(self.svg, page.figure_prefix(), self.alt)
        note = element("p", prose(self.note), class_="aside") if self.note else Markup()
        caption = element("figcaption", element("h3", self.heading), note)
        return element("figure", caption, drawing, class_="card figure half" if self.half else "card figure")


@dataclass(frozen=True)
class Chip:
    """A word beside a picture: a keyword, say, that was suggested rightly (good) or wrongly (bad)."""

    text: str
    tone: str = ""

    def __post_init__(self) -> None:
        _require_tone(self.tone)


@dataclass(frozen=True)
class Tile:
    """A picture (JPEG or PNG bytes, or None), its caption and rank, and whether it is right.

    title : its full name, where the caption is short
    item : what the picture shows of; it can then be enlarged, and a clip played
    """

    picture: bytes | None
    caption: str
    rank: int | None = None
    tone: str = ""
    chips: Sequence[Chip] = ()
    title: str = ""
    item: str = ""

    def __post_init__(self) -> None:
        _require_tone(self.tone)

    def render(self, page: Page, tag: str, kind: str = "") -> Markup:
        place = f"rank {self.rank}: " if self.rank is not None else ""
        meaning = f", {MEANINGS[self.tone]}" if self.tone else ""
        name = self.title or self.caption
        inside = [page.picture(self.picture, f"{place}{name}{meaning}")]
        if self.rank is not None:
            inside.append(element("span", str(self.rank), class_="rank", aria_hidden="true"))
        if self.tone:
            inside.append(element("span", MARKS[self.tone], class_="mark", aria_hidden="true"))
        chips = Markup()
        if self.chips:
            words = (
                element("li", f"{MARKS.get(c.tone, '')} {c.text}".strip(), class_=f"chip {c.tone}".strip())
                for c in self.chips
            )
            chips = element("ul", *words, class_="chips")
        return element(
            tag,
            element("div", *inside, class_="picture"),
            element("span", self.caption, class_="caption", title=name, aria_hidden="true"),
            chips,
            class_=" ".join(c for c in ("tile", kind, self.tone) if c),
            **page.item(self.item),
        )


@dataclass(frozen=True)
class Row:
    """A strip of tiles under a title; `lead` (a query, say) stands apart at the left."""

    title: str
    tiles: Sequence[Tile]
    note: str = ""
    lead: Tile | None = None

    def render(self, page: Page) -> Markup:
        note = element("span", self.note, class_="note") if self.note else Markup()
        head = element("div", element("span", self.title, class_="title"), note, class_="row-head")
        lead = self.lead.render(page, "div", "lead-tile") if self.lead else Markup()
        tiles = element("ol", *(t.render(page, "li") for t in self.tiles), class_="tiles")
        return element("li", head, lead, tiles, class_="row" if self.lead else "row plain")


@dataclass(frozen=True)
class Gallery:
    """Rows of pictures; `large` gives each tile room for words, `captions` shows the whole caption."""

    heading: str
    rows: Sequence[Row]
    note: str = ""
    large: bool = False
    captions: bool = False

    def render(self, page: Page) -> Markup:
        used = {t.tone for row in self.rows for t in row.tiles}
        legend = [
            element("span", element("b", MARKS[tone], aria_hidden="true"), MEANINGS[tone], class_=tone)
            for tone in MARKS
            if tone in used
        ]
        return element(
            "div",
            element("h3", self.heading),
            element("p", prose(self.note), class_="aside") if self.note else Markup(),
            element("div", *legend, class_="key") if legend else Markup(),
            element("ul", *(row.render(page) for row in self.rows), class_="rows"),
            class_="card" + " wide-tiles" * self.large + " captions" * self.captions,
        )


def _require_tone(tone: str) -> None:
    if tone not in TONES:
        raise DataError(f"A tone is 'good', 'bad' or '', not {tone!r}.")


def _title(column: Column) -> Markup:
    title = element("abbr", column.title, title=column.hint) if column.hint else join(column.title)
    return element("th", title, scope="col", class_="number" if column.numeric else None)


def _whisker(whisker: Whisker) -> Markup:
    """An interval as a bar; only our own numbers reach the style attribute."""
    colour = f"background:var(--series-{whisker.series % 8})"
    low, at, high = (f"{100 * min(max(share, 0.0), 1.0):.2f}" for share in (whisker.low, whisker.at, whisker.high))
    span = element("i", style=f"left:{low}%;right:calc(100% - {high}%);{colour}")
    return element("span", span, element("b", style=f"left:{at}%;{colour}"), class_="whisker", aria_hidden="true")
