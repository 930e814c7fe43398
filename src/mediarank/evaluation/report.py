"""The report: one HTML page that needs no network and no other file.

`Report` says what is on it, `render` writes it. The same report gives the same bytes: no date and no counter enters.
A content security policy lets the page run our one script (`page_script.py`) and load nothing but originals from its
own place, whatever a label may contain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mediarank.evaluation.blocks import Block, Page, Strip
from mediarank.evaluation.html import Markup, element, join
from mediarank.evaluation.page_script import SCRIPT, SCRIPT_HASH
from mediarank.evaluation.page_style import STYLE

POLICY: Final = (
    "default-src 'none'; img-src data: file: 'self'; media-src file: 'self'; style-src 'unsafe-inline'; "
    f"script-src '{SCRIPT_HASH}'"
)
PICTURE_BUDGET: Final = 6_000_000
"""Bytes of thumbnails on a page: a few hundred of them."""


@dataclass(frozen=True)
class Fact:
    """A number shown at the top."""

    label: str
    value: str
    note: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Section:
    """A titled part of the page: the question it answers, its facts, and its blocks in order."""

    title: str
    blocks: Sequence[Block]
    question: str = ""
    facts: Sequence[Fact] = ()


@dataclass(frozen=True)
class Report:
    """The whole page.

    title, lead : the subject, in a line and in a sentence or two
    facts : shown as large numbers at the top
    sections : in the order of the page
    versions : what the page was made from: data version, parameters, code …
    strip : item -> frames of it, if it is a clip
    """

    title: str
    facts: Sequence[Fact]
    sections: Sequence[Section]
    lead: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    picture_budget: int = PICTURE_BUDGET
    strip: Callable[[str], Strip | None] | None = None


def render(report: Report) -> str:
    """The page as text, to be written as UTF-8."""
    page = Page(report.picture_budget, report.strip)
    anchors = _anchors([s.title for s in report.sections])
    sections = [_section(s, anchor, page) for s, anchor in zip(report.sections, anchors, strict=True)]
    links = (
        element("li", element("a", s.title, href=f"#{anchor}"))
        for s, anchor in zip(report.sections, anchors, strict=True)
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", report.title),
        element("style", Markup(STYLE)),
    )
    body = element(
        "body",
        element("a", "Skip to the results", href="#results", class_="skip"),
        element(
            "div",
            element(
                "header",
                element("p", "mediarank report", class_="eyebrow"),
                element("h1", report.title),
                element("p", report.lead, class_="lead") if report.lead else Markup(),
                _facts(report.facts),
                class_="top",
            ),
            element("nav", element("ul", *links), class_="contents", aria_label="Contents"),
            element("main", *sections, id="results"),
            _footer(report, page),
            class_="page",
        ),
        element("script", Markup(SCRIPT)),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _section(section: Section, anchor: str, page: Page) -> Markup:
    return element(
        "section",
        element("h2", section.title, id=f"{anchor}-title"),
        element("p", section.question, class_="question") if section.question else Markup(),
        _facts(section.facts),
        element("div", *(block.render(page) for block in section.blocks), class_="blocks"),
        id=anchor,
        aria_labelledby=f"{anchor}-title",
    )


def _facts(facts: Sequence[Fact]) -> Markup:
    if not facts:
        return Markup()
    tiles = (
        element(
            "div",
            element("dt", f.label),
            element("dd", f.value, class_="value"),
            element("dd", f.note, class_="note") if f.note else Markup(),
            class_=f"fact {f.tone}".strip(),
        )
        for f in facts
    )
    return element("dl", *tiles, class_="facts")


def _footer(report: Report, page: Page) -> Markup:
    entries = [part for name, value in report.versions.items() for part in (element("dt", name), element("dd", value))]
    versions = Markup()
    if entries:
        versions = join(element("h2", "Made from", id="versions"), element("dl", *entries, class_="versions"))
    left_out = Markup()
    if page.pictures_left_out:
        limit = f"{report.picture_budget / 1e6:g} MB"
        left_out = element("p", f"{page.pictures_left_out} pictures were left out to keep this page under {limit}.")
    return element("footer", versions, left_out)


def _anchors(titles: Sequence[str]) -> list[str]:
    """Anchors within the page, made from the titles where these have letters, each used once."""
    anchors: list[str] = []
    for number, title in enumerate(titles, start=1):
        anchor = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"
        anchors.append(f"{anchor}-{number}" if anchor in (*anchors, "results", "versions") else anchor)
    return anchors
