"""What classes are taken for: votes of the nearest, the table and the pictures behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mediarank.evaluation.confusion import NEAREST, Confusion, Taken, taken_for
from mediarank.evaluation.ranking_collector import Answers
from mediarank.evaluation.rankings import Rankings
from mediarank.evaluation.report import Report, Section, render

Read = Callable[[str], Any]


def answered(query: str, items: list[str], values: list[float]) -> Rankings:
    """One query over sorted items."""
    answers = Answers(items)
    own = items.index(query) if query in items else -1
    answers.add(query, own, np.array(values, np.float32), np.array([], np.int64))
    return answers.finish()


def test_the_majority_of_the_nearest_decides_without_the_query() -> None:
    items = sorted([f"coast/{k}" for k in range(12)] + [f"field/{k}" for k in range(12)])
    class_of = {item: item.split("/")[0] for item in items}
    order = ["coast/0", *(f"field/{k}" for k in range(8)), *(f"coast/{k}" for k in range(1, 12))]
    values = [-order.index(i) if i in order else -99.0 for i in items]
    (found,) = taken_for(answered("coast/0", items, values), class_of)
    assert found == Taken("coast/0", "coast", "field", 8)
    assert taken_for(answered("other", items, values), class_of) == []


def test_equal_votes_are_the_own_class() -> None:
    items = [*(f"a/{k}" for k in range(5)), *(f"b/{k}" for k in range(6))]
    (found,) = taken_for(answered("b/0", items, [0.0] * len(items)), {i: i[0] for i in items})
    assert (found.other, found.votes) == ("b", NEAREST // 2)


def test_a_number_leads_to_its_pictures(picture: bytes, read_page: Read) -> None:
    taken = [
        Taken("x/1.jpg", "coast", "coast", 10),
        Taken("x/2.jpg", "coast", "field", 9),
        Taken("x/3.jpg", "field", "field", 6),
    ]
    page = read_page(render(Report("r", [], [Section("s", [Confusion(taken, lambda _: picture)])])))
    anchors = [given["id"] for tag, given in page.tags if tag == "details"]
    links = [given["href"] for tag, given in page.tags if tag == "a" and "taken" in given["href"]]
    assert links == [f"#{anchor}" for anchor in anchors]
    assert len(links) == 1
    assert "1 of coast, taken for field" in page.text
    assert [given["data-item"] for _, given in page.tags if "data-item" in given] == ["x/2.jpg"]
    assert "2 of 3 test items" in "".join(page.text)
