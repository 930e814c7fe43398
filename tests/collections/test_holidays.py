"""Holidays: groups by number, the first of a group is the query."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_sources import put, rows

from mediarank.collections import holidays
from mediarank.types import DataError


def test_groups_and_queries(tmp_path: Path) -> None:
    put(tmp_path, "jpg/100001.jpg", "jpg/100000.jpg", "jpg/100100.jpg", "jpg/100101.jpg", "jpg/100102.jpg")
    assert holidays.recognises(tmp_path)
    listing = holidays.read(tmp_path)
    assert listing.labels.class_of == {
        "jpg/100000.jpg": "1000",
        "jpg/100001.jpg": "1000",
        "jpg/100100.jpg": "1001",
        "jpg/100101.jpg": "1001",
        "jpg/100102.jpg": "1001",
    }
    assert rows(listing, "groups") == rows(listing, "classes")
    assert rows(listing, "queries") == [("jpg/100000.jpg",), ("jpg/100100.jpg",)]


def test_other_pictures_are_left_out_and_reported(tmp_path: Path) -> None:
    put(tmp_path, "100000.jpg", "100002.jpg", "cover.jpg", "12.jpg")
    assert not holidays.recognises(tmp_path)
    listing = holidays.read(tmp_path)
    assert list(listing.files) == ["100000.jpg", "100002.jpg"]
    assert listing.notes == ("2 pictures are not named by a number of 6 digits and are left out",)


@pytest.mark.parametrize("names", [["100000.jpg"], ["100001.jpg", "100002.jpg"], []])
def test_what_is_not_recognised(tmp_path: Path, names: list[str]) -> None:
    assert not holidays.recognises(put(tmp_path, *names))


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"such as 100000.jpg"):
        holidays.read(put(tmp_path, "sea.jpg"))
