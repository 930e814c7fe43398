"""The source `folder`: labels from CSV files, or from the names of folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_sources import put, refused, rows, write

from mediarank.collections import folder, label_files
from mediarank.media.sniff import MEDIA_EXTENSIONS
from mediarank.types import DataError


def test_the_class_is_the_folder_that_a_file_is_in(tmp_path: Path) -> None:
    put(tmp_path, "2019/sea/1.jpg", "2020/sea/2.jpg", "2020/wood/3.png", "loose.jpg")
    listing = folder.read(tmp_path)
    assert list(listing.files) == ["2019/sea/1.jpg", "2020/sea/2.jpg", "2020/wood/3.png", "loose.jpg"]
    assert listing.labels.class_of == {"2019/sea/1.jpg": "sea", "2020/sea/2.jpg": "sea", "2020/wood/3.png": "wood"}
    assert rows(listing, "splits") == []


@pytest.mark.parametrize("names", [["1.jpg", "2.jpg"], ["all/1.jpg", "all/2.jpg"]])
def test_one_folder_says_nothing(tmp_path: Path, names: list[str]) -> None:
    assert not folder.read(put(tmp_path, *names)).labels.class_of


def test_folders_called_train_and_test_are_the_split(tmp_path: Path) -> None:
    listing = folder.read(put(tmp_path, "train/sea/1.jpg", "train/wood/2.jpg", "Test/sea/3.jpg", "Test/4.jpg"))
    assert listing.labels.class_of == {"train/sea/1.jpg": "sea", "train/wood/2.jpg": "wood", "Test/sea/3.jpg": "sea"}
    assert {item: role for item, role, _ in rows(listing, "splits")} == {
        "train/sea/1.jpg": "base",
        "train/wood/2.jpg": "base",
        "Test/sea/3.jpg": "test",
        "Test/4.jpg": "test",
    }


def test_a_simple_labels_file(tmp_path: Path) -> None:
    put(tmp_path, "a/1.jpg", "a/2.jpg", "b/3.mp4", "b/4.mp4")
    lines = "Path;Label;Tags;Split;Fold;Video\na/1.jpg;sea;blue|wet;train;1;\na\\2.jpg;;;test;;\n"
    write(tmp_path, {"labels.csv": lines + "3.mp4;run;;;;v1\nb/4.mp4;jump;;;;v1\ngone.mp4;run;;;;v1\n"})
    listing = folder.read(tmp_path)
    assert listing.labels.class_of == {"a/1.jpg": "sea", "b/3.mp4": "run", "b/4.mp4": "jump", "gone.mp4": "run"}
    assert rows(listing, "keywords") == [("a/1.jpg", "blue"), ("a/1.jpg", "wet")]
    assert rows(listing, "splits") == [("a/1.jpg", "base", "1"), ("a/2.jpg", "test", "")]
    assert rows(listing, "groups") == [("b/3.mp4", "v1"), ("b/4.mp4", "v1"), ("gone.mp4", "v1")]
    assert rows(listing, "events")[:2] == [("b/3.mp4", "run", True), ("b/4.mp4", "jump", True)]
    assert refused(listing) == {"gone.mp4": "is about an item that is not in the collection"}


def test_canonical_files_beside_the_media_or_in_labels(tmp_path: Path) -> None:
    put(tmp_path, "media/a.jpg", "media/b.jpg")
    write(
        tmp_path,
        {
            "classes.csv": "item,class\na.jpg,sea\nb.jpg,wood\n",
            "labels/concepts.csv": "item,concept,relevant\nmedia/a.jpg,boat,yes\nb.jpg,boat,0\n",
            "labels/orderings.csv": "attribute,target,strength\nopen,sea,2\nopen,b.jpg,1.5\n",
            "labels/pairs.csv": "attribute,first,second,relation\nopen,a.jpg,b.jpg,<\nblue,a.jpg,b.jpg,=\n",
            "labels/splits.csv": "item,role\na.jpg,train\nb.jpg,test\n",
            "labels/groups.csv": "item,group\na.jpg,g\nb.jpg,g\n",
            "labels/queries.csv": "item\na.jpg\n",
        },
    )
    listing = folder.read(tmp_path)
    assert listing.labels.class_of == {"media/a.jpg": "sea", "media/b.jpg": "wood"}
    assert rows(listing, "concepts") == [("media/a.jpg", "boat", True), ("media/b.jpg", "boat", False)]
    assert rows(listing, "orderings") == [("open", "sea", 2.0), ("open", "media/b.jpg", 1.5)]
    assert rows(listing, "pairs") == [
        ("open", "media/b.jpg", "media/a.jpg", ">"),
        ("blue", "media/a.jpg", "media/b.jpg", "="),
    ]
    assert rows(listing, "splits") == [("media/a.jpg", "base", ""), ("media/b.jpg", "test", "")]
    assert rows(listing, "queries") == [("media/a.jpg",)]
    assert not refused(listing)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "classes.csv",
            "file,kind\na.jpg,sea\n",
            "names items but no label; add a column such as label",
        ),
        (
            "concepts.csv",
            "item,concept,relevant\na.jpg,boat,perhaps\n",
            "line 2: relevant must be 1 or 0, not 'perhaps'",
        ),
        ("splits.csv", "item,role\na.jpg,other\n", "line 2: role must be one of base"),
        ("pairs.csv", "attribute,first,second,relation\nopen,a,b,more\n", "a relation is >, < or =, not 'more'"),
        ("labels.csv", "label\nsea\n", "lacks a column path or item"),
        ("labels.csv", "path,seconds\na.jpg,3\n", "names items but no label; add a column such as label"),
        ("labels.csv", "path,label,split\na.jpg,sea,first\n", "line 2: split must be one of base"),
    ],
)
def test_label_files_that_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        folder.read(write(put(tmp_path, "a.jpg"), {name: text}))


def test_a_folder_without_media(tmp_path: Path) -> None:
    put(tmp_path, "notes.txt")
    assert not folder.recognises(tmp_path)
    with pytest.raises(DataError, match="holds no image, clip or sound"):
        folder.read(tmp_path)


def test_one_event_that_every_clip_shows_is_none() -> None:
    assert label_files.events_of([("a.mp4", "run"), ("b.jpg", "sea")]) == []
    assert label_files.CLIPS <= MEDIA_EXTENSIONS
