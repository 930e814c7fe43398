"""The page: well-formed, self-contained, accessible, the same bytes, and safe for any input."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from collections.abc import Callable
from typing import Any

from mediarank.evaluation.blocks import Chip, Column, Figure, Gallery, Row, Table, Text, Tile
from mediarank.evaluation.figures import Line, line_figure
from mediarank.evaluation.report import Fact, Report, Section, render

Read = Callable[[str], Any]


STUB = '<svg viewBox="0 0 1 1"><g id="a"/></svg>'


def report(picture: bytes, names: list[str], budget: int = 10**6, *, drawn: bool = False) -> Report:
    """Every name wherever a name may stand; in figures too, which take time to draw, if `drawn`."""
    sections = []
    for name in names:
        tile = Tile(picture, name, 1, "bad", [Chip(name)])
        svg = line_figure([Line(name, [0, 1], [0, 1])], name, name) if drawn else STUB
        figure = Figure(name, svg, name)
        table = Table(name, [Column(name)], [[name]])
        gallery = Gallery(name, [Row(name, [tile], name, tile)])
        sections.append(Section(name, [Text([name], name), table, figure, figure, gallery], name, [Fact(name, name)]))
    facts = [Fact(name, name, name, "good") for name in names]
    return Report(names[0], facts, sections, names[-1], {name: name for name in names}, budget)


def test_the_page_is_whole_and_accessible(picture: bytes, read_page: Read) -> None:
    html = render(report(picture, ["Retrieval", "Annotation"], drawn=True))
    page = read_page(html)
    assert html.startswith('<!doctype html>\n<html lang="en">')
    headings = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(headings))
    assert all(page.attributes("img", "alt"))
    assert all(page.attributes("svg", "aria-label"))
    assert page.count("main") == page.count("nav") == page.count("header") == page.count("footer") == 1
    assert page.attributes("meta", "charset")[0] == "utf-8"
    ids = [given["id"] for _, given in page.tags if "id" in given]
    assert len(ids) == len(set(ids))
    targets = [
        href for tag in ("a", "use") for name in ("href", "xlink:href") for href in page.attributes(tag, name) if href
    ]
    assert {"#retrieval", "#annotation", "#results"} <= set(targets)
    assert {t.removeprefix("#") for t in targets} <= set(ids)
    labelled = [given["aria-labelledby"] for _, given in page.tags if "aria-labelledby" in given]
    assert set(labelled) <= set(ids)
    for reference in re.findall(r"url\(#([^)]+)\)", html):
        assert reference in ids


def test_the_page_runs_only_our_script_and_loads_nothing(picture: bytes, read_page: Read, hostile: list[str]) -> None:
    for names in (["Retrieval"], hostile):
        html = render(report(picture, names, drawn=True))
        page = read_page(html)
        tags = {tag for tag, _ in page.tags}
        assert not tags & {"link", "iframe", "object", "embed", "base", "form", "audio", "video", "image"}
        for tag, given in page.tags:
            assert not [name for name in given if name.startswith("on")], tag
            assert given.get("src", "data:image/jpeg").startswith("data:image/jpeg")
            for name in ("href", "xlink:href"):
                assert given.get(name, "#").startswith("#")
            assert "url(" not in given.get("style", "").replace("url(#", "")
        policy = page.attributes("meta", "content")[1]
        assert "default-src 'none'" in policy
        (script,) = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}'" in policy
        assert "http" not in policy
        assert page.count("script") == 1
        styles = re.findall(r"<style>(.*?)</style>", html, flags=re.DOTALL)
        assert len(styles) == 1
        assert "url(" not in styles[0]
        assert "@import" not in styles[0]
        if names != hostile:
            assert "http" not in html.replace("http-equiv", "")


def test_hostile_names_change_no_tag(picture: bytes, read_page: Read, hostile: list[str]) -> None:
    def tags(name: str) -> list[str]:
        return [tag for tag, _ in read_page(render(report(picture, [name]))).tags]

    harmless = tags("name")
    assert len(harmless) > 50
    for name in filter(None, hostile):
        assert tags(name) == harmless, name


def test_the_page_can_be_written_and_is_always_the_same(picture: bytes, hostile: list[str]) -> None:
    assert render(report(picture, hostile)).encode("utf-8")
    names = ["Retrieval", "$"]
    first = render(report(picture, names, drawn=True))
    assert render(report(picture, names, drawn=True)) == first


def test_titles_that_look_alike_get_their_own_anchors(read_page: Read) -> None:
    titles = ["Events", "events!", "Results", "漢字", "漢字", "versions"]
    page = read_page(render(Report("r", [], [Section(t, []) for t in titles], versions={"data": "1"})))
    anchors = page.attributes("section", "id")
    assert anchors == ["events", "events-2", "results-3", "section", "section-5", "versions-6"]
    assert page.attributes("a", "href")[1:] == [f"#{a}" for a in anchors]


def test_pictures_left_out_are_mentioned(picture: bytes, read_page: Read) -> None:
    full = "".join(read_page(render(report(picture, ["a"]))).text)
    assert "left out" not in full
    cut = read_page(render(report(picture, ["a"], budget=len(picture))))
    assert cut.count("img") == 1
    assert "1 pictures were left out" in "".join(cut.text)


def test_versions_and_facts_are_shown(read_page: Read) -> None:
    shown = read_page(render(Report("r", [Fact("images", "600", "of 605")], [], versions={"data version": "9f3c"})))
    assert {"600", "images", "of 605", "data version", "9f3c"} <= set(shown.text)


def test_the_style_has_two_themes() -> None:
    html = render(Report("r", [], []))
    assert "@media (prefers-color-scheme: dark)" in html
    used = set(re.findall(r"var\(--([a-z0-9-]+)", html)) - {"share"}  # a number that cells set themselves
    light, dark = html.split("@media (prefers-color-scheme: dark)")[:2]
    for name in used:
        assert f"--{name}:" in light
        assert f"--{name}:" in dark
