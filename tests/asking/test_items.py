"""Items are found by every usual spelling of their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from mediarank.asking.items import match_name, resolve
from mediarank.types import DataError

ITEMS = ["2019/sea/boat.jpg", "2020/sea/boat.jpg", "2020/hill.jpg", "clips/run.mp4"]


@pytest.mark.parametrize(
    "written",
    ["2020/hill.jpg", "./2020/hill.jpg", "data/raw/media/2020/hill.jpg", "./data/raw/media/2020/hill.jpg", "hill.jpg"],
)
def test_an_item_by_id_by_path_and_by_a_name_that_only_it_has(written: str) -> None:
    assert resolve(written, ITEMS).item == "2020/hill.jpg"


def test_the_whole_path_of_an_original_is_the_item(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert resolve(str(data / "raw/media/clips/run.mp4"), ITEMS, data).item == "clips/run.mp4"


def test_a_file_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.jpg").write_bytes(b"x")
    found = resolve("mine.jpg", ITEMS)
    assert (found.item, found.path) == (None, Path("mine.jpg"))


@pytest.mark.parametrize(
    ("written", "fact"),
    [
        ("boat.jpg", "2 items"),
        ("2020/hil.jpg", "2020/hill.jpg"),
        ("rum.mp4", "clips/run.mp4"),
        ("data/raw/media/2020/hll.jpg", "2020/hill.jpg"),
        ("zzz", "neither an item"),
    ],
)
def test_what_is_not_there_gets_a_hint(written: str, fact: str) -> None:
    with pytest.raises(DataError, match=fact):
        resolve(written, ITEMS)


def test_names_match_ignoring_case() -> None:
    names = ["Boat", "sea", "SEA", "landing a fish"]
    assert match_name("boat", names, "concept") == "Boat"
    assert match_name("sea", names, "concept") == "sea"
    assert match_name("Landing A Fish", names, "concept") == "landing a fish"
    with pytest.raises(DataError, match="Did you mean Boat"):
        match_name("Baot", names, "concept")
    with pytest.raises(DataError, match="sea, SEA"):
        match_name("Sea", names, "concept")
