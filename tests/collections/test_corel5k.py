"""Corel 5K: words by number, classes by the picture's number."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_sources import put, refused, rows, write

from mediarank.collections import corel5k
from mediarank.types import DataError


@pytest.fixture
def source(tmp_path: Path) -> Path:
    put(tmp_path, "images/train/1000.jpeg", "images/train/12001.jpeg", "images/test/1002.jpeg", "images/test/9.jpeg")
    return write(
        tmp_path,
        {
            "words": "city\r\nmountain\r\nsky\r\n",
            "training_label": "1000 1 3  \r\n12001 2\r\n",
            "test_label": "1002 3 3\r\n",
        },
    )


def test_what_is_read(source: Path) -> None:
    assert corel5k.recognises(source)
    listing = corel5k.read(source)
    assert listing.labels.class_of == {
        "images/train/1000.jpeg": "1",
        "images/train/12001.jpeg": "12",
        "images/test/1002.jpeg": "1",
    }
    assert rows(listing, "keywords") == [
        ("images/train/1000.jpeg", "city"),
        ("images/train/1000.jpeg", "sky"),
        ("images/train/12001.jpeg", "mountain"),
        ("images/test/1002.jpeg", "sky"),
    ]
    assert rows(listing, "concepts") == [
        ("images/train/1000.jpeg", "sky", True),
        ("images/test/1002.jpeg", "sky", True),
    ]
    assert [role for _, role, _ in rows(listing, "splits")] == ["base", "base", "test"]
    assert listing.notes == (
        "1 of 3 words occur in both parts; 1 of them are concepts",
        "1 pictures have no line in a label file and are left out",
    )
    assert not refused(listing)


def test_the_vocabulary_file_decides_over_the_parts(source: Path) -> None:
    listing = corel5k.read(write(source, {"vocabulary_260.txt": "city\nmountain\n"}))
    assert {word for _, word, _ in rows(listing, "concepts")} == {"city", "mountain"}


def test_a_word_on_less_than_one_picture_in_400_is_no_concept(source: Path) -> None:
    count = corel5k.RAREST_CONCEPT + 1
    put(source, *(f"images/train/{20000 + k}.jpeg" for k in range(count)))
    write(source, {"training_label": "1000 1 3\n" + "".join(f"{20000 + k} 3\n" for k in range(count))})
    write(source, {"test_label": "1002 1\n9 3\n", "vocabulary_260.txt": "city\nmountain\nsky\n"})
    assert {word for _, word, _ in rows(corel5k.read(source), "concepts")} == {"city", "sky"}
    write(source, {"test_label": "1002 3\n"})
    assert {word for _, word, _ in rows(corel5k.read(source), "concepts")} == {"sky"}


def test_a_picture_that_is_not_there_ends_in_quarantine(source: Path) -> None:
    (source / "images/test/1002.jpeg").unlink()
    assert refused(corel5k.read(source)) == {"1002": "is about an item that is not in the collection"}


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("test_label", "1002 4\n", "test_label, line 1: there is no word 4; `words` lists 3"),
        ("test_label", "1002 0\n", "there is no word 0"),
        ("training_label", "1000 1\n12001 sky\n", "training_label, line 2: expected numbers"),
    ],
)
def test_what_is_refused(source: Path, file: str, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        corel5k.read(write(source, {file: text}))


def test_a_missing_file_and_missing_pictures_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="words is missing"):
        corel5k.read(tmp_path)
    write(tmp_path, {"words": "city\n", "training_label": "1000 1\n", "test_label": "1001 1\n"})
    with pytest.raises(DataError, match="none of the pictures"):
        corel5k.read(tmp_path)
