"""Which classes are taken for which: by the majority among the nearest items, with the pictures behind each cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from mediarank.evaluation.blocks import Page, Tile
from mediarank.evaluation.html import Markup, element
from mediarank.evaluation.rankings import Rankings

NEAREST: Final = 10
MOST_CELLS: Final = 24
MOST_PICTURES: Final = 12
MOST_CLASSES: Final = 30
Thumbnail = Callable[[str], bytes | None]


@dataclass(frozen=True)
class Taken:
    """A test item: its class, the class of most of its nearest items, and how many of them have that class."""

    item: str
    own: str
    other: str
    votes: int


def taken_for(rankings: Rankings, class_of: Mapping[str, str]) -> list[Taken]:
    """What each query is taken for; among equal numbers of votes its own class, then the first by name."""
    found = []
    for query in rankings.ids.tolist():
        if query not in class_of:
            continue
        votes = Counter(class_of[item] for item, _ in rankings.first(query, NEAREST) if item in class_of)
        if votes:
            own = class_of[query]
            other = min(votes, key=lambda name: (-votes[name], name != own, name))
            found.append(Taken(query, own, other, votes[other]))
    return found


@dataclass(frozen=True)
class Confusion:
    """Classes in rows, what their items are taken for in columns; a number leads to its pictures."""

    taken: Sequence[Taken]
    thumbnail: Thumbnail

    def render(self, page: Page) -> Markup:
        classes = [name for name, _ in Counter(t.own for t in self.taken).most_common(MOST_CLASSES)]
        classes.sort()
        cells: dict[tuple[str, str], list[Taken]] = {}
        for one in self.taken:
            cells.setdefault((one.own, one.other), []).append(one)
        wrong = sorted((key for key in cells if key[0] != key[1]), key=lambda key: (-len(cells[key]), key))
        anchors = {key: page.anchor("taken") for key in wrong[:MOST_CELLS]}
        rows = [element("tr", element("th", own, scope="row"), *_line(own, classes, cells, anchors)) for own in classes]
        heads = (element("th", name, scope="col", class_="number") for name in classes)
        table = element(
            "table",
            element("thead", element("tr", element("th", "class", scope="col"), *heads)),
            element("tbody", *rows),
            class_="heat",
            aria_label="Classes and what their items are taken for",
        )
        right = sum(len(found) for (own, other), found in cells.items() if own == other)
        note = (
            f"{right} of {len(self.taken)} test items have most of their {NEAREST} nearest items in their own class. "
            "Rows are classes, columns what their items are taken for. A number outside the diagonal leads to its "
            "pictures: look-alikes, or labels that are wrong."
        )
        parts = [_behind(key, cells[key], anchors[key], self.thumbnail, page) for key in anchors]
        return element(
            "div",
            element("h3", "Classes that are confused"),
            element("p", note, class_="aside"),
            element("div", table, class_="scroll", tabindex=0, role="group", aria_label="Classes that are confused"),
            *parts,
            class_="card",
        )


def _line(
    own: str,
    classes: Sequence[str],
    cells: Mapping[tuple[str, str], Sequence[Taken]],
    anchors: Mapping[tuple[str, str], str],
) -> list[Markup]:
    total = sum(len(found) for (name, _), found in cells.items() if name == own) or 1
    line = []
    for other in classes:
        count = len(cells.get((own, other), ()))
        text = element("a", str(count), href=f"#{anchors[own, other]}") if (own, other) in anchors else str(count or "")
        kind = "number own" if own == other else "number"
        line.append(element("td", text, style=f"--share:{count / total:.3f}", class_=kind))
    return line


def _behind(key: tuple[str, str], found: Sequence[Taken], anchor: str, thumbnail: Thumbnail, page: Page) -> Markup:
    tiles = [
        Tile(
            thumbnail(one.item),
            f"{PurePosixPath(one.item).name}: {one.votes} of {NEAREST}",
            title=one.item,
            item=one.item,
        )
        for one in sorted(found, key=lambda one: (-one.votes, one.item))[:MOST_PICTURES]
    ]
    summary = element("summary", f"{len(found)} of {key[0]}, taken for {key[1]}")
    pictures = element("ol", *(tile.render(page, "li") for tile in tiles), class_="tiles")
    return element("details", summary, pictures, class_="one", id=anchor)
