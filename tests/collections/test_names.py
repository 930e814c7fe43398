"""The many ways in which label files write an item's name."""

from __future__ import annotations

import pytest

from mediarank.collections.names import Names

NAMES = Names(["images/train/1.jpg", "images/test/2.jpg", "a/same.png", "b/same.png", "cafe\u0301.jpg", "v1.2/x.y.jpg"])


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("images/train/1.jpg", "images/train/1.jpg"),
        ("./images/train/1.jpg", "images/train/1.jpg"),
        ("images\\train\\1.jpg", "images/train/1.jpg"),
        ("train/1.jpg", "images/train/1.jpg"),
        (" 1.jpg ", "images/train/1.jpg"),
        ("1", "images/train/1.jpg"),
        ("train/1", "images/train/1.jpg"),
        ("/images/test/2.jpg", "images/test/2.jpg"),
        ("b/same.png", "b/same.png"),
        ("b/same", "b/same.png"),
        ("caf\u00e9.jpg", "cafe\u0301.jpg"),
        ("x.y", "v1.2/x.y.jpg"),
    ],
)
def test_what_is_meant(text: str, item: str) -> None:
    assert NAMES.item(text) == item
    assert item in NAMES


@pytest.mark.parametrize(
    ("text", "kept"),
    [("same.png", "same.png"), ("gone.jpg", "gone.jpg"), ("rain/1.jpg", "rain/1.jpg"), ("c\\d.jpg", "c/d.jpg")],
)
def test_what_means_nothing_or_too_much_is_kept_as_written(text: str, kept: str) -> None:
    assert NAMES.item(text) == kept
    assert kept not in NAMES


def test_a_longer_path_that_ends_in_an_item_means_it() -> None:
    names = Names(["a.jpg", "sea/a.jpg", "sea/b.jpg"])
    assert names.item("/home/me/photos/sea/a.jpg") == "sea/a.jpg", "the longest end counts"
    assert names.item("/home/me/photos/sea/b.jpg") == "sea/b.jpg"
    assert names.item("/home/me/photos/lake/b.jpg") == "home/me/photos/lake/b.jpg"
