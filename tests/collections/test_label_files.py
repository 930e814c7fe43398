"""Label files as people save them: any dialect, with a preview of how they were read."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_sources import put, rows, write

from mediarank.collections import folder
from mediarank.collections.listing import Listing
from mediarank.types import DataError


def read(place: Path, **files: str) -> Listing:
    put(place, "a.jpg", "Deep/B.JPG", "c.png")
    return folder.read(write(place, {name.replace("_", "."): text for name, text in files.items()}))


@pytest.mark.parametrize(
    "text",
    [
        "file,tags\na.jpg,sea|boat\nc.png,wood\n",
        "File;Tags\na.jpg;sea,boat\nc.png;wood\n",
        "file\tkeywords\na.jpg\tsea; boat\nc.png\twood\n",
        "file|tag\na.jpg|sea,boat\nc.png|wood\n",
        "sep=;\nfile;tags\na.jpg;sea|boat\nc.png;wood\n",
        "'file','tags'\n'a.jpg','sea,boat'\n'c.png','wood'\n",
        'file,tags\na.jpg,"sea, boat"\nc.png,wood\n',
        "file,tags\na.jpg,sea,boat\nc.png,wood\n",
        "file,tag1,tag2\na.jpg,sea,boat\nc.png,wood,\n",
        "file,sea,boat,wood\na.jpg,1,1,0\nc.png,0,0,1\n",
        "a.jpg,sea,boat\nc.png,wood,\n",
        "file,tags\na.jpg,\"['sea', 'boat']\"\nc.png,wood\n",
        "\ufefffile,tags\r\na.jpg,sea|boat\r\nc.png,wood\r\n",
    ],
)
def test_dialects(tmp_path: Path, text: str) -> None:
    assert sorted(rows(read(tmp_path, tags_csv=text), "keywords")) == [
        ("a.jpg", "boat"),
        ("a.jpg", "sea"),
        ("c.png", "wood"),
    ]


def test_a_preview_says_how_a_file_was_read(tmp_path: Path) -> None:
    notes = read(tmp_path, tags_csv="file;tags;photographer\na.jpg;sea|boat;Ann\ngone.jpg;x;\n").notes
    (preview,) = [note for note in notes if note.startswith("tags.csv")]
    for fact in ("semicolons", "'file' names the file (1 of 2 found)", "3 keywords", "not read: photographer",
                 "first row: a.jpg -> keywords: sea, boat"):  # fmt: skip
        assert fact in preview


def test_names_match_without_regard_to_case_where_that_is_unique(tmp_path: Path) -> None:
    listing = read(tmp_path, tags_csv="file,tags\nA.JPG,sea\nb.jpg,wood\ndeep/b.Jpg,dark\n")
    assert sorted(rows(listing, "keywords")) == [("Deep/B.JPG", "dark"), ("Deep/B.JPG", "wood"), ("a.jpg", "sea")]
    put(tmp_path, "b/X.jpg", "b/x.jpg")
    again = read(tmp_path, tags_csv="file,tags\nX.JPG,sea\nx.jpg,low\n")
    assert set(rows(again, "keywords")) == {("X.JPG", "sea"), ("b/x.jpg", "low")}


def test_keywords_csv_may_be_simple_and_titles_are_read(tmp_path: Path) -> None:
    listing = read(
        tmp_path, keywords_csv="file,keywords\na.jpg,sea|boat\n", metadata_csv="file_name,text\nc.png,A wood\n"
    )
    assert rows(listing, "keywords") == [("a.jpg", "sea"), ("a.jpg", "boat")]
    assert rows(listing, "titles") == [("c.png", "A wood")]


def test_a_labels_file_without_column_names(tmp_path: Path) -> None:
    assert read(tmp_path, labels_csv="a.jpg,sea\nc.png,wood\n").labels.class_of == {"a.jpg": "sea", "c.png": "wood"}


def test_an_uneven_file_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2: 3 values, but the first line names 2 columns"):
        read(tmp_path, labels_csv="file,label\na.jpg,sea,boat\n")
