"""Caltech 101: classes are folders, clutter is never a query."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_sources import put, refused, rows, write

from mediarank.collections import caltech101
from mediarank.types import DataError

FILES = ("ant/image_0001.jpg", "ant/image_0002.jpg", "chair/image_0001.jpg", "BACKGROUND_Google/image_0001.jpg")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return put(tmp_path, *(f"101_ObjectCategories/{name}" for name in FILES))


def test_classes_and_queries(source: Path) -> None:
    assert caltech101.recognises(source)
    listing = caltech101.read(source)
    assert listing.labels.class_of == {name: name.split("/")[0] for name in FILES}
    assert listing.labels.queries_among(FILES) == list(FILES[:3])
    assert rows(listing, "splits") == []


def test_the_folder_of_classes_itself_or_one_further_down(source: Path, tmp_path: Path) -> None:
    inner = source / "101_ObjectCategories"
    assert caltech101.read(inner).labels.class_of == caltech101.read(source).labels.class_of
    (tmp_path / "caltech-101").mkdir()
    inner.rename(tmp_path / "caltech-101/101_ObjectCategories")
    assert set(caltech101.read(tmp_path).files) == set(FILES)


@pytest.mark.parametrize("prefix", ["", "101_ObjectCategories/", "/data/101_ObjectCategories/"])
def test_lists_give_the_split(source: Path, prefix: str) -> None:
    lists = {
        "train.txt": f"{prefix}ant/image_0001.jpg\n{prefix}ant/image_0009.jpg\n",
        "test.txt": f"{prefix}{FILES[2]}\n",
    }
    listing = caltech101.read(write(source, lists))
    assert rows(listing, "splits") == [
        (FILES[0], "base", ""),
        ("ant/image_0009.jpg", "base", ""),
        (FILES[2], "test", ""),
        (FILES[3], "test", ""),
    ]
    assert listing.notes == ("1 pictures are in neither list and are left out",)
    assert refused(listing) == {"ant/image_0009.jpg": "is about an item that is not in the collection"}


def test_with_one_list_the_rest_is_the_other_part(source: Path) -> None:
    listing = caltech101.read(write(source, {"train.txt": "ant/image_0001.jpg\n"}))
    assert {item: role for item, role, _ in rows(listing, "splits")} == {
        FILES[0]: "base",
        FILES[1]: "test",
        FILES[2]: "test",
        FILES[3]: "test",
    }


def test_what_is_missing_is_reported(tmp_path: Path) -> None:
    assert not caltech101.recognises(tmp_path)
    with pytest.raises(DataError, match="holds no folder 101_ObjectCategories"):
        caltech101.read(tmp_path)
    put(tmp_path, "101_ObjectCategories/loose.jpg")
    with pytest.raises(DataError, match="holds no folder with pictures"):
        caltech101.read(tmp_path)
