"""Blocks: their content, and that no name can break out of the markup."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mediarank.evaluation.blocks import (
    Block,
    Cell,
    Chip,
    Column,
    Figure,
    Gallery,
    Page,
    Row,
    Table,
    Text,
    Tile,
    Whisker,
)
from mediarank.evaluation.html import printable
from mediarank.types import DataError

Read = Callable[[str], Any]
SVG = '<svg viewBox="0 0 1 1"><g id="a"/></svg>'


def every_block(name: str, picture: bytes | None) -> list[Block]:
    """Each kind of block with `name` wherever a name may stand."""
    tile = Tile(picture, name, 1, "good", [Chip(name, "bad"), Chip(name)], title=name)
    return [
        Text([name, name], name),
        Table(name, [Column(name, hint=name or "h"), Column(name, numeric=True)], [[name, Cell(name, name)]], name),
        Table(name, [Column(name)], [[Cell(name, strong=True, tone="bad", series=9)]], folded=True, half=True),
        Figure(name, SVG, name, name),
        Gallery(name, [Row(name, [tile, tile], name, lead=tile), Row(name, [tile])], name, large=True),
    ]


def test_names_stay_text(hostile: list[str], picture: bytes, read_page: Read) -> None:
    harmless = [read_page(b.render(Page(10**6))).tags for b in every_block("name", picture)]
    for name in hostile:
        for block, expected in zip(every_block(name, picture), harmless, strict=True):
            page = read_page(block.render(Page(10**6)))
            if name:  # an empty note or heading is left out
                assert [tag for tag, _ in page.tags] == [tag for tag, _ in expected]
                assert [sorted(given) for _, given in page.tags] == [sorted(given) for _, given in expected]
                assert printable(name) in "".join(page.text)


def test_table_marks_rows_numbers_and_the_best(read_page: Read) -> None:
    rows = [["uniform", Cell("0.5", "0.4–0.6", strong=True, whisker=Whisker(0.5, -1, 2, 9))], ["hog", "0.3"]]
    html = Table("Methods", [Column("method"), Column("mAP", True, "a mean")], rows).render(Page(0))
    page = read_page(html)
    assert page.attributes("th", "scope") == ["col", "col", "row", "row"]
    assert page.attributes("abbr", "title") == ["a mean"]
    assert "<strong>0.5</strong>" in html
    assert "left:0.00%;right:calc(100% - 100.00%);background:var(--series-1)" in html  # inside the cell whatever comes
    with pytest.raises(DataError, match="2 columns but a row of 1 cells"):
        Table("Methods", [Column("a"), Column("b")], [["x"]])


def test_long_tables_can_be_folded(read_page: Read) -> None:
    page = read_page(Table("Quarantine", [Column("item")], [["a"], ["b"]], folded=True).render(Page(0)))
    assert page.count("details") == 1
    assert "Quarantine (2)" in page.text


def test_tiles_tell_right_from_wrong_without_colour(picture: bytes, read_page: Read) -> None:
    tiles = [Tile(picture, "a.jpg", 1, "good", title="images/a.jpg"), Tile(picture, "b.jpg", 2, "bad")]
    page = read_page(Gallery("Results", [Row("Best", tiles, lead=Tile(picture, "q.jpg"))]).render(Page(10**6)))
    assert page.attributes("img", "alt") == ["q.jpg", "rank 1: images/a.jpg, relevant", "rank 2: b.jpg, not relevant"]
    assert {"✓", "✕", "relevant", "not relevant"} <= set(page.text)
    words = read_page(
        Tile(picture, "a", chips=[Chip("sea", "good"), Chip("boat", "bad"), Chip("sand")]).render(Page(0), "li")
    )
    assert {"✓ sea", "✕ boat", "sand"} <= set(words.text)


def test_pictures_stop_at_the_budget(picture: bytes) -> None:
    page = Page(2 * len(picture))
    row = Row("row", [Tile(picture, "a"), Tile(None, "b"), Tile(picture, "c"), Tile(picture, "d")])
    html = row.render(page)
    assert html.count("<img") == 2
    assert html.count('class="missing" role="img"') == 2
    assert page.pictures_left_out == 1  # the tile without a picture does not count
    assert page.picture_bytes_left == 0


def test_figures_on_a_page_share_no_id(read_page: Read) -> None:
    page = Page(0)
    figure = Figure("a figure", SVG, "what it shows")
    found = read_page(figure.render(page) + figure.render(page))
    assert found.attributes("g", "id") == ["f1_a", "f2_a"]
    assert found.attributes("svg", "aria-label") == ["what it shows"] * 2


def test_an_unknown_tone_is_refused() -> None:
    for make in (lambda: Cell("x", tone="odd"), lambda: Chip("x", "odd"), lambda: Tile(None, "x", tone="odd")):
        with pytest.raises(DataError, match="tone"):
            make()
