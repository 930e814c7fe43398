"""Markup: escaped by default, and nothing embedded that could load or run."""

from __future__ import annotations

import base64
import doctest
from collections.abc import Callable
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.evaluation import html as module
from mediarank.evaluation.figures import Bar, bar_figure
from mediarank.evaluation.html import Markup, data_uri, element, inline_svg, join, printable
from mediarank.types import DataError

SVG = '<svg viewBox="0 0 9 9"><defs><clipPath id="c"/></defs><g id="g" clip-path="url(#c)"><use href="#g"/></g></svg>'


@settings(max_examples=40, deadline=None)
@given(st.text())
def test_any_text_is_read_back_as_it_was(text: str) -> None:
    child = element("p", text)
    assert unescape(child[len("<p>") : -len("</p>")]) == printable(text)
    assert child.count("<") == 2
    attribute = element("p", title=text)
    inside = attribute[len('<p title="') : -len('"></p>')]
    assert unescape(inside) == printable(text)
    assert not set('<>"') & set(inside)


def test_markup_is_kept_and_text_is_not() -> None:
    assert join("<b>", Markup("<b>")) == "&lt;b&gt;<b>"
    assert isinstance(element("p", "x"), Markup)


def test_attributes_and_void_tags() -> None:
    assert element("img", alt="", src="data:") == '<img alt="" src="data:">'
    assert element("details", open=True, hidden=False, id=None) == "<details open></details>"
    assert element("p", class_="a", aria_label="b", tabindex=0) == '<p class="a" aria-label="b" tabindex="0"></p>'


def test_printable_replaces_what_deceives_or_breaks() -> None:
    assert printable("a\u202eb\x00c\udcffd\n") == "a\ufffdb\ufffdc\ufffdd\n"
    assert printable("漢字 ñ 😀") == "漢字 ñ 😀"


def test_pictures_become_addresses_of_themselves() -> None:
    jpeg = b"\xff\xd8\xff\xe0 and so on"
    head, _, body = data_uri(jpeg).partition(",")
    assert head == "data:image/jpeg;base64"
    assert base64.b64decode(body) == jpeg
    assert data_uri(b"\x89PNG\r\n\x1a\n").startswith("data:image/png;")
    for other in (b"", b"<svg onload=alert(1)>", b"GIF89a"):
        with pytest.raises(DataError, match="JPEG or PNG"):
            data_uri(other)


def test_ids_of_a_figure_are_made_its_own() -> None:
    inline = inline_svg(SVG, "f7-", 'a "label"')
    assert 'id="f7-c"' in inline
    assert 'id="f7-g" clip-path="url(#f7-c)"' in inline
    assert '<use href="#f7-g"/>' in inline
    assert inline.startswith('<svg viewBox="0 0 9 9" role="img" aria-label="a &quot;label&quot;">')


def test_a_drawn_figure_loses_what_belongs_to_a_file(read_page: Callable[[str], object]) -> None:
    inline = inline_svg(bar_figure([Bar("<b>", 0.5, 0.4, 0.6)], "x"), "f1-", "bars")
    assert "<?xml" not in inline
    assert "http" not in inline
    assert "<style" not in inline
    assert "&lt;b&gt;" in inline
    read_page(inline)


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        '<g onload="alert(1)"/>',
        '<use href="https://evil.example/x.svg#y"/>',
        '<use xlink:href="data:image/svg+xml,x"/>',
        '<image href="#a"/>',
        "<foreignObject><p/></foreignObject>",
        '<g style="fill: url(https://evil.example/)"/>',
        "<g style=\"fill: url( 'x.svg#a')\"/>",
        '<a href="#x"/>',
    ],
)
def test_a_figure_that_could_load_or_run_is_refused(inside: str) -> None:
    with pytest.raises(DataError, match="loads and runs nothing"):
        inline_svg(f'<svg viewBox="0 0 1 1">{inside}</svg>', "f1-", "x")


def test_what_is_no_figure_is_refused() -> None:
    with pytest.raises(DataError, match="must be an SVG"):
        inline_svg("a picture", "f1-", "x")
    with pytest.raises(DataError, match="viewBox"):
        inline_svg("<svg></svg>", "f1-", "x")


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
