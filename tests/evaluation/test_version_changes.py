"""What is new between two versions, in sentences."""

from __future__ import annotations

import copy
import doctest
from typing import Any

from mediarank.evaluation import report_summary, version_changes
from mediarank.evaluation.version_changes import changes, headline, is_new, new_items

RESULT = {
    "served": "rankboost",
    "measure": "mAP",
    "mean": 0.6,
    "low": 0.5,
    "high": 0.7,
    "names": {"boat": 0.4, "cat": 0.9},
}
BEFORE: dict[str, Any] = {
    "collection": "abc", "newest": "", "items": {"image": 2}, "prints": {"p1": "d1", "p2": "d2"},
    "labels": {"boat": 3}, "systems": {"concepts": RESULT}, "settings": {"splits.seed": "7"},
}  # fmt: skip


def after(**given: Any) -> dict[str, Any]:
    return {**copy.deepcopy(BEFORE), **given}


def test_the_same_version_has_no_news() -> None:
    assert changes(BEFORE, BEFORE) == []
    assert changes({}, BEFORE) == []
    assert new_items(BEFORE, BEFORE) == 0
    assert new_items({}, BEFORE) is None


def test_items_are_new_changed_or_gone() -> None:
    now = after(prints={"p1": "other", "p3": "d3", "p4": "d4"})
    assert changes(BEFORE, now) == ["Items: 2 new, 1 changed, 1 gone."]
    assert new_items(BEFORE, now) == 3


def test_of_large_collections_only_numbers_are_known() -> None:
    now = after(prints=None, items={"image": 30_000, "clip": 4})
    assert changes(BEFORE, now) == ["Items: clips 0 → 4, images 2 → 30,000."]
    assert new_items(BEFORE, now) is None
    assert not is_new({**BEFORE, "prints": None}, "a.jpg", "d1")


def test_labels_results_and_settings() -> None:
    result = {**RESULT, "served": "cascade", "mean": 0.8, "names": {"boat": 0.9, "cat": 0.6, "dog": 1.0}}
    now = after(labels={"boat": 5, "cat": 1}, systems={"concepts": result}, settings={"splits.seed": "8"})
    assert changes(BEFORE, now) == [
        "Labels: boat +2, cat +1.",
        "concepts: cascade answers now, instead of rankboost; mAP 0.600 → 0.800, outside the interval of before; "
        "better: boat; worse: cat.",
        "Settings: splits.seed 7 → 8.",
    ]


def test_systems_that_come_and_go() -> None:
    events = {**RESULT, "measure": "mAP", "mean": 0.5}
    assert changes(BEFORE, after(systems={"events": events})) == [
        "events: measured for the first time, mAP 0.500.",
        "concepts is not measured any more.",
    ]


def test_examples() -> None:
    for module in (report_summary, version_changes):
        assert doctest.testmod(module).failed == 0


def test_a_run_is_named_by_what_is_new() -> None:
    assert headline(BEFORE, BEFORE) == "nothing new"
    assert headline(BEFORE, after(prints={**BEFORE["prints"], "p3": "d3"})) == "1 new item"
    assert headline(BEFORE, after(prints={"p1": "d1"})) == "other items"
    assert headline(BEFORE, after(labels={"boat": 4})) == "new labels"
    assert headline(BEFORE, after(settings={})) == "new settings"
    assert headline(BEFORE, after(systems={"concepts": {**RESULT, "mean": 0.7}})) == "new results"
