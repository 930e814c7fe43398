"""ESC-50: classes, folds and recordings, from the dataset's own table or a simple one."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_sources import put, refused, rows, write

from mediarank.collections import esc50
from mediarank.types import DataError

NAMES = ("1-172649-A-40", "1-172649-B-40", "2-5-A-0")
OWN = "filename,fold,target,category,esc10,src_file,take\n" + "".join(
    f"{name}.wav,{name[0]},{name.rpartition('-')[2]},{label},True,1,A\n"
    for name, label in zip(NAMES, ("helicopter", "helicopter", "dog"), strict=True)
)
SIMPLE = "path,label,fold\n" + "".join(
    f"{name}.ogg,{label},{name[0]}\n" for name, label in zip(NAMES, ("helicopter", "helicopter", "dog"), strict=True)
)


@pytest.mark.parametrize(
    ("table", "text", "place", "ending"),
    [("meta/esc50.csv", OWN, "audio/", ".wav"), ("labels.csv", SIMPLE, "", ".ogg")],
)
def test_both_layouts(tmp_path: Path, table: str, text: str, place: str, ending: str) -> None:
    items = [f"{place}{name}{ending}" for name in NAMES]
    write(put(tmp_path, *items), {table: text})
    assert esc50.recognises(tmp_path)
    listing = esc50.read(tmp_path)
    assert rows(listing, "classes") == list(zip(items, ("helicopter", "helicopter", "dog"), strict=True))
    assert rows(listing, "splits") == [(item, "", fold) for item, fold in zip(items, "112", strict=True)]
    assert [group for _, group in rows(listing, "groups")] == ["recording 172649"] * 2 + ["recording 5"]
    assert not refused(listing)


def test_a_sound_that_is_not_there_and_one_that_is_not_listed(tmp_path: Path) -> None:
    put(tmp_path, f"{NAMES[0]}.ogg", f"{NAMES[2]}.ogg", "other.ogg")
    listing = esc50.read(write(tmp_path, {"labels.csv": SIMPLE}))
    assert refused(listing) == {f"{NAMES[1]}.ogg": "is about an item that is not in the collection"}
    assert listing.notes == ("1 sounds are not in labels.csv and are left out",)


@pytest.mark.parametrize("text", ["path,label\na.ogg,dog\n", "path,label,fold\nmine.ogg,dog,1\n", "path,label,fold\n"])
def test_other_label_files_are_not_taken_for_it(tmp_path: Path, text: str) -> None:
    assert not esc50.recognises(write(put(tmp_path, "a.ogg"), {"labels.csv": text}))


def test_what_is_missing_is_reported(tmp_path: Path) -> None:
    assert not esc50.recognises(tmp_path)
    with pytest.raises(DataError, match=r"neither meta/esc50.csv nor a labels.csv"):
        esc50.read(tmp_path)
    with pytest.raises(DataError, match="lacks a column fold"):
        esc50.read(write(tmp_path, {"labels.csv": "path,label\na.ogg,dog\n"}))
    with pytest.raises(DataError, match="none of the sounds"):
        esc50.read(write(tmp_path, {"labels.csv": SIMPLE}))
