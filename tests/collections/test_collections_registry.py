"""Sources are recognised from their folders, named, listed, and collected."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from small_sources import put, write

from mediarank.collections.sources import (
    COLLECTIONS,
    CollectionConfig,
    collect,
    describe,
    open_collection,
    recognise,
)
from mediarank.types import ConfigError, DataError

CARDS = Path(__file__).parents[2] / "docs/collections.md"
SAMPLE = json.dumps([{"image_name": "a.jpg", "image_labels": ["sky"]}])
KEYWORD_LISTS = {"a.jpg": "", "train.json": SAMPLE, "test.json": SAMPLE}
LAYOUTS: dict[str, dict[str, str]] = {
    "osr": {"images/coast_1.jpg": "", "relative_ordering.csv": "attribute,coast\nopen,1\n"},
    "pubfig": {"images/a_1.jpg": ""},
    "zap50k": {"ut-zap50k-images/Shoes/a/b/1.1.jpg": "", "meta-data.csv": "CID\n1-1\n"},
    "corel5k": {"images/1000.jpeg": "", "words": "city\n", "training_label": "1000 1\n", "test_label": ""},
    "espgame": {**KEYWORD_LISTS, "esp_train.json": SAMPLE},
    "iaprtc12": KEYWORD_LISTS,
    "caltech101": {"101_ObjectCategories/ant/image_0001.jpg": ""},
    "esc50": {"audio/1-1-A-0.wav": "", "meta/esc50.csv": "filename,fold,category\n1-1-A-0.wav,1,dog\n"},
    "keyframes": {"k/a.jpg": "", "shots.csv": "shot,keyframe\ns1,k/a.jpg\n", "concepts/boat.txt": "s1 1\n"},
    "holidays": {"jpg/100000.jpg": "", "jpg/100001.jpg": ""},
    "folder": {"sea/a.jpg": "", "wood/b.jpg": ""},
}


def made(folder: Path, name: str) -> Path:
    write(folder, LAYOUTS[name])
    if name == "pubfig":
        one = np.ones((1, 1))
        facts = {"class_labels": one, "relative_ordering": one, "used_for_training": one}
        savemat(folder / "data.mat", {"im_names": ["a_1.jpg"], "attribute_names": ["Male"], **facts})
    if name == "zap50k":
        savemat(folder / "zappos-labels.mat", {"mturkEqual": np.array([[1, 1, 1, 3]])})
    return folder


@pytest.mark.parametrize("name", COLLECTIONS)
def test_every_source_is_recognised_read_and_described(tmp_path: Path, name: str) -> None:
    source = made(tmp_path / "source", name)
    assert recognise(source) == name
    listing = open_collection(source)
    assert list(listing.files) == list(open_collection(source, name).files) != []
    said = dict(describe())[name]
    assert said.endswith(".")
    assert 20 < len(said) < 120


def test_every_source_has_a_card() -> None:
    cards = " ".join(re.findall(r"^### (.*)$", CARDS.read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", cards)) == {name for name, _ in describe()}


def test_a_source_that_is_named_wins_over_what_is_recognised(tmp_path: Path) -> None:
    source = made(tmp_path, "holidays")
    assert open_collection(source, "folder").labels["groups"].empty
    with pytest.raises(DataError, match="words is missing"):
        open_collection(source, "corel5k")


def test_what_can_not_be_opened(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'pictures' is unknown; .*demo, auto, osr"):
        open_collection(tmp_path, "pictures")
    with pytest.raises(ConfigError, match="holds no image, clip or sound"):
        recognise(tmp_path)
    with pytest.raises(ConfigError, match="does not exist"):
        recognise(tmp_path / "nowhere")


def test_collecting_names_the_originals_and_reports_what_was_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(made(tmp_path / "source", "holidays"), {"jpg/100000.jpg": "picture"})
    put(source, "cover.jpg")
    found = collect(CollectionConfig("holidays", str(source)), tmp_path / "drawn")
    assert found.files["jpg/100000.jpg"].read_text() == "picture"
    assert found.origin("jpg/100000.jpg") == "jpg/100000.jpg"
    assert set(found.labels.class_of.values()) == {"1000"}
    assert "note: 1 pictures are not named by a number" in capsys.readouterr().err


def test_auto_recognises(tmp_path: Path) -> None:
    source = made(tmp_path / "source", "folder")
    put(source, "notes.txt")
    found = collect(CollectionConfig("auto", str(source)), tmp_path / "drawn")
    assert set(found.labels.class_of.values()) == {"sea", "wood"}
    assert [(row.kind, row.files, row.example) for row in found.skipped] == [(".txt", 1, "notes.txt")]


def test_a_path_that_starts_with_a_tilde_says_what_to_write() -> None:
    with pytest.raises(ConfigError, match=f"write {re.escape(str(Path('~/no such folder').expanduser()))}"):
        open_collection(Path("~/no such folder"))


def test_rules_for_folder_names_are_refused_where_the_source_has_labels(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="read as holidays"):
        open_collection(made(tmp_path, "holidays"), "auto", "none")


def test_a_folder_that_holds_the_project_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "a.jpg")
    with pytest.raises(ConfigError, match="this project's own data folder"):
        collect(CollectionConfig("folder", str(tmp_path)), tmp_path / "data/raw/media")
