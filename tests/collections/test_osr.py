"""OSR: classes from names, strengths from the table, the split from the list."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_sources import put, refused, rows, write

from mediarank.collections import osr
from mediarank.types import DataError


@pytest.fixture
def source(tmp_path: Path) -> Path:
    put(tmp_path, "images/coast_a1.jpg", "images/coast_b2.jpg", "images/forest_c3.jpg")
    return write(
        tmp_path,
        {
            "relative_ordering.csv": "attribute,coast,forest\nopen,2,1\nnatural,3,3\n",
            "train_images.txt": "coast_a1.jpg\nforest_c3.jpg\n",
        },
    )


def test_what_is_read(source: Path) -> None:
    assert osr.recognises(source)
    listing = osr.read(source)
    assert listing.labels.class_of == {
        "images/coast_a1.jpg": "coast",
        "images/coast_b2.jpg": "coast",
        "images/forest_c3.jpg": "forest",
    }
    assert rows(listing, "orderings") == [
        ("open", "coast", 2.0),
        ("open", "forest", 1.0),
        ("natural", "coast", 3.0),
        ("natural", "forest", 3.0),
    ]
    assert rows(listing, "splits") == [
        ("images/coast_a1.jpg", "base", ""),
        ("images/forest_c3.jpg", "base", ""),
        ("images/coast_b2.jpg", "test", ""),
    ]
    assert not refused(listing)


def test_a_listed_picture_that_is_not_there_ends_in_quarantine(source: Path) -> None:
    (source / "images/forest_c3.jpg").unlink()
    assert refused(osr.read(source)) == {
        "forest_c3.jpg": "is about an item that is not in the collection",
        "forest": "is about an item that is not in the collection",
    }


def test_without_a_list_there_is_no_split(source: Path) -> None:
    (source / "train_images.txt").unlink()
    assert rows(osr.read(source), "splits") == []


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("name,coast\nopen,1\n", "lacks a column attribute"),
        ("attribute,coast\nopen,high\n", "line 2: coast must be a number, not 'high'"),
        ("attribute,desert\nopen,1\n", r"after a class of relative_ordering.csv \(desert\)"),
    ],
)
def test_what_is_refused(source: Path, table: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        osr.read(write(source, {"relative_ordering.csv": table}))
