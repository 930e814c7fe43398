"""How well each name is found: places, verdicts, cut-offs and worst errors, by hand."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mediarank.evaluation import name_details
from mediarank.evaluation.name_details import CutOff, Names, Placed, level, name_results
from mediarank.evaluation.report import Report, Section, render
from mediarank.types import FeatureMatrix, Judgments

Read = Callable[[str], Any]
ITEMS = tuple(f"{k}.jpg" for k in range(8))
SCORES = FeatureMatrix(
    np.array(["boat", "cat", "dog"]),
    ITEMS,
    np.array([[8, 7, 6, 5, 4, 3, 2, 1], [1, 2, 3, 4, 5, 6, 7, 8], [1, 1, 1, 1, 1, 1, 1, 1]], np.float32),
)
SHOWN = [("boat", "0.jpg"), ("boat", "1.jpg"), ("boat", "3.jpg"), ("cat", "0.jpg"), ("cat", "1.jpg"), ("cat", "2.jpg")]
JUDGMENTS = Judgments.from_pairs(SHOWN, ITEMS)


def results(probabilities: FeatureMatrix | None = None) -> dict[str, name_details.NameResult]:
    judgments = Judgments(tuple(SCORES.ids.tolist()), ITEMS, JUDGMENTS.relevant)
    return {r.name: r for r in name_results(SCORES, judgments, probabilities)}


def test_places_shares_and_errors() -> None:
    found = results()
    boat = found["boat"]
    assert (boat.shown, boat.candidates, boat.places, boat.found, boat.first) == (3, 8, [1, 2, 4], 2, 3)
    assert boat.ap == pytest.approx((1 + 1 + 3 / 4) / 3)
    assert [(one.item, one.place) for one in boat.wrong][:2] == [("2.jpg", 3), ("4.jpg", 5)]
    assert [(one.item, one.place) for one in boat.missed] == [("3.jpg", 4), ("1.jpg", 2), ("0.jpg", 1)]
    assert found["cat"].share == 0
    assert np.isnan(found["dog"].share)
    assert boat.cut is None


def test_the_cut_off_is_counted_on_test_items() -> None:
    values = np.full((8, 3), 0.01, np.float32)
    values[[0, 1, 2], 0] = 0.9, 0.8, 0.7
    order = np.array(ITEMS)[::-1]  # joined by id, not by place
    given = FeatureMatrix(order, ("boat", "cat", "dog"), values[::-1].copy())
    found = results(given)["boat"]
    assert found.cut == CutOff(pytest.approx(0.7), 3, 2)
    assert found.wrong[0] == Placed("2.jpg", 3, pytest.approx(0.7))


def test_weakest_first_with_links_to_their_pictures(picture: bytes, read_page: Read) -> None:
    block = Names("Name by name", list(results().values()), lambda _: picture)
    page = read_page(render(Report("r", [], [Section("s", [block])])))
    rows = [given for tag, given in page.tags if tag == "a" and given["href"].startswith("#name")]
    assert len(rows) == 2  # nothing shows a dog, so there are no pictures of one
    anchors = [given["id"] for tag, given in page.tags if tag == "details"]
    assert [given["href"] for given in rows] == [f"#{anchor}" for anchor in anchors]
    assert page.text.index("cat") < page.text.index("boat") < page.text.index("dog")
    assert page.count("svg") == 2
    items = [given["data-item"] for _, given in page.tags if "data-item" in given]
    assert {"2.jpg", "3.jpg"} <= set(items)


def test_a_name_with_few_items_is_not_judged() -> None:
    assert level(0.0, 2) == ("too few to say", "")
    assert level(float("nan"), 9)[0] == "too few to say"


def test_examples() -> None:
    assert doctest.testmod(name_details).failed == 0
