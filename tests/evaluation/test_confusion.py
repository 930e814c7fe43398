"""What classes are taken for: votes of the nearest, the table and the pictures behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mediarank.evaluation.confusion import NEAREST, Confusion, Taken, taken_for
from mediarank.evaluation.report import Report, Section, render
from mediarank.types import FeatureMatrix

Read = Callable[[str], Any]


def test_the_majority_of_the_nearest_decides_without_the_query() -> None:
    items = [f"coast/{k}" for k in range(12)] + [f"field/{k}" for k in range(12)]
    class_of = {item: item.split("/")[0] for item in items}
    order = ["coast/0", *(f"field/{k}" for k in range(8)), *(f"coast/{k}" for k in range(1, 12))]
    values = np.array([[-order.index(i) if i in order else -99 for i in items]], np.float32)
    (found,) = taken_for(FeatureMatrix(np.array(["coast/0"]), tuple(items), values), class_of)
    assert found == Taken("coast/0", "coast", "field", 8)
    assert taken_for(FeatureMatrix(np.array(["other"]), tuple(items), values), class_of) == []


def test_equal_votes_are_the_own_class() -> None:
    items = [*(f"b/{k}" for k in range(6)), *(f"a/{k}" for k in range(5))]
    values = np.zeros((1, len(items)), np.float32)
    values[0, 0] = 9  # the query itself
    (found,) = taken_for(FeatureMatrix(np.array(["b/0"]), tuple(items), values), {i: i[0] for i in items})
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
