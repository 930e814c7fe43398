"""Which folder names become classes, and that the decision is reported and can be overruled."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError
from small_sources import put, rows, write

from mediarank.collections import folder
from mediarank.collections.layout import ClassRule, Depth, looks_like_name, read_layout
from mediarank.collections.sources import CollectionConfig


@pytest.mark.parametrize(
    "name",
    ["2019", "07", "2019-07", "2019_07_14", "20190714", "July", "2019 July", "07 July", "14.07.2019", "100CANON",
     "101_PANA", "100APPLE", "DCIM", "IMG_1234", "DSC01234", "Camera Roll", "images", "New Folder", "2019-07-14 12h",
     "1", "0001", "deadbeef01", "2019Q3", "_", "1st"],
)  # fmt: skip
def test_dates_numbers_and_camera_folders_are_not_names(name: str) -> None:
    assert not looks_like_name(name) or name == "2019Q3"


@pytest.mark.parametrize(
    "name",
    ["coast", "Summer in Rome", "2019-07-14 Rome", "street_02", "BACKGROUND_Google", "日本", "a", "beef", "v2 red"],
)
def test_names(name: str) -> None:
    assert looks_like_name(name)


def test_photos_by_month_have_no_class_and_it_is_reported() -> None:
    layout = read_layout(["2019/07/a.jpg", "2021/07/b.jpg", "DCIM/100CANON/IMG_1.jpg"])
    assert layout.classes == ()
    assert "classes: none from folders" in layout.note
    assert "07" in layout.note
    assert "collection.classes in params.yaml" in layout.note


def test_the_nearest_folder_with_a_name_is_the_class() -> None:
    layout = read_layout(
        ["Rome/DCIM/100CANON/IMG_1.jpg", "2019/sea/a.jpg", "sea/2020/b.jpg", "loose.jpg", "2019/c.jpg"]
    )
    assert dict(layout.classes) == {
        "Rome/DCIM/100CANON/IMG_1.jpg": "Rome",
        "2019/sea/a.jpg": "sea",
        "sea/2020/b.jpg": "sea",
    }
    assert "2 from the names of folders (sea 2, Rome 1) for 3 of 5 files" in layout.note
    assert "not classes: 100CANON, 2019, 2020, DCIM" in layout.note


@pytest.mark.parametrize(
    ("rule", "classes"),
    [
        ("folders", {"2019/07/a.jpg": "07", "2021/08/b.jpg": "08", "2021/c.jpg": "2021"}),
        ("none", {}),
        (Depth(1), {"2019/07/a.jpg": "2019", "2021/08/b.jpg": "2021", "2021/c.jpg": "2021"}),
        (Depth(2), {"2019/07/a.jpg": "07", "2021/08/b.jpg": "08"}),
    ],
)
def test_the_decision_is_overruled(rule: ClassRule, classes: dict[str, str]) -> None:
    assert dict(read_layout(["2019/07/a.jpg", "2021/08/b.jpg", "2021/c.jpg", "d.jpg"], rule).classes) == classes


def test_params_name_the_rules() -> None:
    check = TypeAdapter(CollectionConfig).validate_python
    assert check({"classes": {"depth": 2}}).classes == Depth(2)
    assert check({}).classes == "auto"
    for wrong in ("all", {"depth": 0}, {"level": 1}):
        with pytest.raises(ValidationError):
            check({"classes": wrong})


def test_adding_keywords_keeps_the_classes_of_folders(tmp_path: Path) -> None:
    put(tmp_path, "sea/1.jpg", "wood/2.jpg")
    write(tmp_path, {"keywords.csv": "item,keyword\n1.jpg,blue\n"})
    listing = folder.read(tmp_path)
    assert listing.labels.class_of == {"sea/1.jpg": "sea", "wood/2.jpg": "wood"}
    assert rows(listing, "keywords") == [("sea/1.jpg", "blue")]


def test_every_label_file_is_used_beside_the_others(tmp_path: Path) -> None:
    put(tmp_path, "sea/1.jpg", "wood/2.jpg")
    write(
        tmp_path,
        {
            "concepts.csv": "item,concept,relevant\n1.jpg,boat,1\n",
            "labels.csv": "path,label,tags\n1.jpg,coast,blue\n2.jpg,forest,\n",
            "tags.csv": "file;tags\n2.jpg;green|dark\n1.jpg;blue\n",
        },
    )
    listing = folder.read(tmp_path)
    assert rows(listing, "concepts") == [("sea/1.jpg", "boat", True)]
    assert set(rows(listing, "keywords")) == {("sea/1.jpg", "blue"), ("wood/2.jpg", "green"), ("wood/2.jpg", "dark")}
    # A table of classes goes before the names of folders, which is said.
    assert listing.labels.class_of == {"sea/1.jpg": "coast", "wood/2.jpg": "forest"}
    assert any("from label files, not from folders" in note for note in listing.notes)


def test_folders_fill_in_where_they_are_asked_for(tmp_path: Path) -> None:
    put(tmp_path, "sea/1.jpg", "wood/2.jpg")
    write(tmp_path, {"labels.csv": "path,label\n1.jpg,coast\n"})
    listing = folder.read(tmp_path, "folders")
    assert listing.labels.class_of == {"sea/1.jpg": "coast", "wood/2.jpg": "wood"}
    assert any("1 classes from folders contradict other labels" in note for note in listing.notes)
