"""A collection with a known answer, and a strict reader of pages, for the tests of tables, figures and reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser

import numpy as np
import pytest

from mediarank.types import FeatureMatrix, Judgments

VOID = {"meta", "img", "br"}
JPEG = b"\xff\xd8\xff\xe0 not a real picture"


@dataclass
class PageFacts:
    """What a page consists of."""

    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)

    def attributes(self, tag: str, name: str) -> list[str]:
        return [given.get(name, "") for found, given in self.tags if found == tag]


class _StrictReader(HTMLParser):
    """Fails on tags that are not closed, in the order they were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.facts = PageFacts()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> repeats an attribute: {names}"
        self.facts.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.facts.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.facts.text.append(data)


@pytest.fixture(scope="session")
def read_page() -> Callable[[str], PageFacts]:
    def read(page: str) -> PageFacts:
        reader = _StrictReader()
        reader.feed(page)
        reader.close()
        assert reader.open == []
        return reader.facts

    return read


@pytest.fixture(scope="session")
def hostile() -> list[str]:
    """Names that a collection may hold and a page must survive."""
    return [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "</title></style></svg></textarea><script src=//evil.example/x.js></script>",
        "' onmouseover='alert(1)",
        "javascript:alert(1)",
        "&lt;b&gt; &amp;amp; &#x3c;",
        r"$\frac{1}{0}$ $",
        "_hidden",
        "\x00\x07 bell \x1b[31m \ufffe",
        "photo\u202egpj.exe",
        "half a character \udcff",
        "漢字 العربية 😀 ñ",
        "--><!-- ]]>",
        "x" * 300,
        "",
    ]


@pytest.fixture(scope="session")
def judgments() -> Judgments:
    """Twelve items of three classes; each of the first nine is a query."""
    classes = {f"images/{'abc'[k % 3]}_{k:02d}.jpg": "abc"[k % 3] for k in range(12)}
    return Judgments.from_classes(classes, sorted(classes)[:9])


@pytest.fixture(scope="session")
def scores(judgments: Judgments) -> dict[str, FeatureMatrix]:
    """A perfect method, one that draws lots, and one that turns the perfect order around."""
    draw = np.random.default_rng(0)
    perfect = np.array([judgments.grades(q, judgments.candidates) for q in judgments.queries], dtype=np.float32)
    lots = draw.random(perfect.shape, dtype=np.float32)
    ids = np.array(judgments.queries)
    values = {"perfect": perfect, "lots": lots, "backwards": -perfect}
    return {name: FeatureMatrix(ids, judgments.candidates, v) for name, v in values.items()}


@pytest.fixture(scope="session")
def picture() -> bytes:
    return JPEG
