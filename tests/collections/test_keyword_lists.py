"""IAPR TC-12 and the ESP game: JSON lists of pictures and their keywords."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_sources import put, refused, rows, write

from mediarank.collections import espgame, iaprtc12
from mediarank.collections.keyword_lists import is_keyword_lists, read_keyword_lists
from mediarank.types import DataError


def samples(**labels: Any) -> list[dict[str, Any]]:
    return [{"image_name": f"{name}.jpg", "image_labels": words} for name, words in labels.items()]


def made(folder: Path, train: Any, test: Any, **others: str) -> Path:
    put(folder, "images/a.jpg", "images/00/b.jpg", "images/c.jpg")
    write(folder, {"train.json": json.dumps(train), "test.json": json.dumps(test)})
    return write(folder, {name.replace("_", "."): text for name, text in others.items()})


KEYWORDS = [("images/a.jpg", "sky"), ("images/a.jpg", "sea"), ("images/00/b.jpg", "sea"), ("images/c.jpg", "man")]


@pytest.mark.parametrize("wrap", [lambda found: {"samples": found}, lambda found: found], ids=["samples", "list"])
def test_words(tmp_path: Path, wrap: Any) -> None:
    made(tmp_path, wrap(samples(a=["sky", "sea"], b=["sea", "sea"])), wrap(samples(c=["man"])))
    assert is_keyword_lists(tmp_path)
    listing = read_keyword_lists(tmp_path)
    assert rows(listing, "keywords") == KEYWORDS
    assert {item: role for item, role, _ in rows(listing, "splits")} == {
        "images/a.jpg": "base",
        "images/00/b.jpg": "base",
        "images/c.jpg": "test",
    }
    assert not refused(listing)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("vocabulary", ["vocabulary_txt", "labels_json", "dictionary_txt"])
def test_numbers_into_the_vocabulary(tmp_path: Path, first: int, vocabulary: str) -> None:
    words = ["sky", "sea", "man"]
    text = json.dumps({"labels": words}) if vocabulary.endswith("json") else "\n".join(words)
    train = {"samples": samples(a=[first, first + 1], b=[first + 1, first + 2])}
    made(tmp_path, train, {"samples": samples(c=[first + 2, first])}, **{vocabulary: text})
    found = rows(read_keyword_lists(tmp_path), "keywords")
    assert found[:3] == KEYWORDS[:3]
    assert found[4:] == [("images/c.jpg", "man"), ("images/c.jpg", "sky")]


def test_one_text_of_words_and_a_list_for_validation(tmp_path: Path) -> None:
    made(tmp_path, samples(a="sky sea"), samples(c="light blue, man"))
    write(tmp_path, {"iaprtc12_val.json": json.dumps(samples(b=[]))})
    listing = read_keyword_lists(tmp_path)
    assert rows(listing, "keywords")[2:] == [("images/c.jpg", "light blue"), ("images/c.jpg", "man")]
    assert ("images/00/b.jpg", "valid", "") in rows(listing, "splits")


def test_half_a_surrogate_does_not_stop_a_run(tmp_path: Path) -> None:
    made(tmp_path, samples(a=["\ud83d"]), samples(c=["man"]))
    assert rows(read_keyword_lists(tmp_path), "keywords")[0] == ("images/a.jpg", "?")


def test_a_picture_that_is_not_there_and_one_in_no_list(tmp_path: Path) -> None:
    made(tmp_path, samples(a=["sky"], gone=["sea"]), samples(c=["man"]))
    listing = read_keyword_lists(tmp_path)
    assert refused(listing) == {"gone.jpg": "is about an item that is not in the collection"}
    assert listing.notes == ("1 pictures are in no list and are left out",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ('{"images": []}', "holds no list of samples"),
        ('[{"image_name": "a.jpg"}]', "sample 0: image_name and image_labels are expected"),
        ('[{"image_name": "a.jpg", "image_labels": [["sky"]]}]', "sample 0: image_labels must be a list of words"),
        ('[{"image_name": "a.jpg", "image_labels": [7]}]', "mentions label 7, but the vocabulary has 0 words"),
        (
            '[{"image_name": "x.jpg", "image_labels": ["sky"]}]',
            "none of the pictures that its lists name, such as x.jpg",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, message: str) -> None:
    made(tmp_path, [], [])
    with pytest.raises(DataError, match=message):
        read_keyword_lists(write(tmp_path, {"train.json": text}))


def test_a_missing_list_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no \*train\*.json"):
        read_keyword_lists(tmp_path)
    assert not is_keyword_lists(tmp_path)


def test_the_name_tells_the_two_apart(tmp_path: Path) -> None:
    esp = made(tmp_path / "ESPGame", samples(a=["sky"]), samples(c=["man"]))
    other = made(tmp_path / "photos", samples(a=["sky"]), samples(c=["man"]))
    assert espgame.recognises(esp)
    assert not espgame.recognises(other)
    assert iaprtc12.recognises(other)
    assert espgame.read(esp).labels["keywords"].equals(iaprtc12.read(other).labels["keywords"])
