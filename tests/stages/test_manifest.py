"""The manifest: its items, and what is refused for which reason."""

from __future__ import annotations

import os
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest
from making_media import dng, encoded, scene, write_clip
from PIL import ExifTags
from test_media_exif import exif_block

from mediarank import store
from mediarank.labels import Labels
from mediarank.stages.manifest import ManifestConfig, build_manifest
from mediarank.types import MANIFEST_COLUMNS, DataError, Manifest


@pytest.fixture
def media(tmp_path: Path) -> Path:
    folder = tmp_path / "media"
    (folder / "deep").mkdir(parents=True)
    picture = np.random.default_rng(0).integers(0, 255, (30, 40, 3), dtype=np.uint8)
    cv2.imwrite(str(folder / "a.jpg"), picture)
    (folder / "deep/twin.jpg").write_bytes((folder / "a.jpg").read_bytes())
    cv2.imwrite(str(folder / "b.png"), picture[::-1])
    (folder / "empty.jpg").write_bytes(b"")
    (folder / "talk.mp4").write_text("this is no clip")
    return folder


def test_every_file_is_a_row_and_bad_ones_say_why(media: Path) -> None:
    manifest, _, quarantine = build_manifest(media, Labels({}), ManifestConfig())
    assert list(manifest.table["item_id"]) == ["a.jpg", "b.png", "deep/twin.jpg", "empty.jpg", "talk.mp4"]
    assert list(manifest.usable["item_id"]) == ["a.jpg", "b.png", "deep/twin.jpg"]
    assert manifest.usable[["width", "height"]].to_numpy().tolist() == [[40, 30]] * 3
    reasons = dict(zip(quarantine["item_id"], quarantine["reason"], strict=True))
    assert "empty" in reasons["empty.jpg"]
    assert "plain text" in reasons["talk.mp4"]
    assert set(quarantine["what"]) == {"file"}


def test_identical_files_are_one_group(media: Path) -> None:
    manifest, _, _ = build_manifest(media, Labels({}), ManifestConfig())
    group = manifest.table.set_index("item_id")["group_id"]
    assert group["deep/twin.jpg"] == group["a.jpg"] == "a.jpg"
    assert group["b.png"] == "b.png"


def test_labels_that_can_not_be_used_are_refused_with_their_line(media: Path) -> None:
    labels = Labels(
        {
            "classes": pd.DataFrame(
                {
                    "item": ["a.jpg", "gone.jpg", "empty.jpg", "b.png", "b.png", "a.jpg"],
                    "class": ["coast", "coast", "coast", "forest", "field", "coast"],
                }
            ),
            "keywords": pd.DataFrame({"item": ["a.jpg", "a.jpg"], "keyword": ["sea", "sky"]}),
            "orderings": pd.DataFrame(
                {"attribute": ["open"] * 3, "target": ["coast", "b.png", "nowhere"], "strength": [1.0, 2.0, 3.0]}
            ),
        }
    )
    _, kept, quarantine = build_manifest(media, labels, ManifestConfig())
    assert kept.class_of == {"a.jpg": "coast"}
    assert len(kept["keywords"]) == 2
    assert list(kept["orderings"]["target"]) == ["coast", "b.png"]
    refused = quarantine[quarantine["what"] == "label"]
    assert dict(zip(refused["source"], refused["reason"], strict=True)) == {
        "labels/classes.csv line 3": "is about an item that is not in the collection",
        "labels/classes.csv line 4": "is about a quarantined item",
        "labels/classes.csv line 5": "contradicts another row of the same item",
        "labels/classes.csv line 6": "contradicts another row of the same item",
        "labels/classes.csv line 7": "repeats an earlier row",
        "labels/orderings.csv line 4": "is about an item that is not in the collection",
    }


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="check collection"):
        build_manifest(tmp_path, Labels({}), ManifestConfig())


def test_pairs_that_contradict_each_other_in_either_order_are_refused(media: Path) -> None:
    pairs = [
        ("open", "a.jpg", "b.png", ">"),
        ("open", "b.png", "a.jpg", ">"),
        ("wide", "a.jpg", "b.png", ">"),
        ("wide", "a.jpg", "b.png", ">"),
        ("blue", "a.jpg", "b.png", "="),
        ("blue", "b.png", "a.jpg", "="),
        ("warm", "a.jpg", "a.jpg", "="),
        ("warm", "a.jpg", "empty.jpg", ">"),
        ("warm", "gone.jpg", "a.jpg", ">"),
    ]
    table = pd.DataFrame(pairs, columns=["attribute", "first", "second", "relation"])
    _, kept, quarantine = build_manifest(media, Labels({"pairs": table}), ManifestConfig())
    assert kept["pairs"].to_numpy().tolist() == [list(pairs[2]), list(pairs[4])]
    refused = quarantine[quarantine["what"] == "label"]
    contradiction = "contradicts another row of the same attribute and first and second"
    assert list(zip(refused["source"], refused["item_id"], refused["reason"], strict=True)) == [
        ("labels/pairs.csv line 2", "a.jpg and b.png", contradiction),
        ("labels/pairs.csv line 3", "b.png and a.jpg", contradiction),
        ("labels/pairs.csv line 5", "a.jpg and b.png", "repeats an earlier row"),
        ("labels/pairs.csv line 7", "b.png and a.jpg", "repeats an earlier row"),
        ("labels/pairs.csv line 8", "a.jpg and a.jpg", "compares an item with itself"),
        ("labels/pairs.csv line 9", "a.jpg and empty.jpg", "is about a quarantined item"),
        ("labels/pairs.csv line 10", "gone.jpg and a.jpg", "is about an item that is not in the collection"),
    ]


def test_the_sources_groups_are_joined_with_identical_files(media: Path) -> None:
    said = pd.DataFrame({"item": ["deep/twin.jpg", "b.png", "empty.jpg", "gone.jpg"], "group": ["g", "g", "h", "h"]})
    manifest, kept, _ = build_manifest(media, Labels({"groups": said}), ManifestConfig())
    group = manifest.table.set_index("item_id")["group_id"]
    # a.jpg and its twin are the same bytes, the twin and b.png are one group.
    assert group.to_dict() == {
        "a.jpg": "a.jpg",
        "b.png": "a.jpg",
        "deep/twin.jpg": "a.jpg",
        "empty.jpg": "empty.jpg",
        "talk.mp4": "talk.mp4",
    }
    assert len(kept["groups"]) == 2


def test_an_item_that_is_said_to_be_in_two_groups_joins_them(media: Path) -> None:
    said = pd.DataFrame({"item": ["b.png", "b.png", "talk.mp4", "empty.jpg"], "group": ["g", "h", "g", "h"]})
    manifest, _, _ = build_manifest(media, Labels({"groups": said}), ManifestConfig())
    group = manifest.table.set_index("item_id")["group_id"]
    assert group["b.png"] == group["talk.mp4"] == group["empty.jpg"] == "b.png"


def test_names_that_no_table_can_hold_are_quarantined_under_an_escaped_one(media: Path) -> None:
    (media / os.fsdecode(b"caf\xe9.jpg")).write_bytes((media / "a.jpg").read_bytes())
    manifest, _, quarantine = build_manifest(media, Labels({}), ManifestConfig())
    row = quarantine.set_index("item_id").loc["caf%E9.jpg"]
    assert row["reason"].startswith("Its name is not UTF-8")
    assert "caf%E9.jpg" in set(manifest.quarantined["item_id"])


def test_a_link_to_an_original_is_as_good_as_the_original(media: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "a.jpg").symlink_to(media / "a.jpg")
    (linked / "gone.jpg").symlink_to(media / "gone.jpg")
    manifest, _, _ = build_manifest(linked, Labels({}), ManifestConfig())
    assert manifest.table[["item_id", "status", "width"]].to_numpy().tolist() == [["a.jpg", "ok", 40]]


def test_phones_and_cameras(tmp_path: Path) -> None:
    """HEIC is used, what the camera wrote is kept, a Live Photo and a RAW file with its JPEG are one group each."""
    folder = tmp_path / "media"
    folder.mkdir()
    exif = exif_block({ExifTags.Base.DateTimeOriginal: "2019:07:14 18:30:05"}, Make="Acme", Orientation=6)
    for number in range(1, 5):
        (folder / f"IMG_{number}.HEIC").write_bytes(encoded(scene(number), "HEIF", exif=exif))
    write_clip(folder / "IMG_1.mov", [scene(9, 48, 64)] * 3)
    (folder / "IMG_7.JPG").write_bytes(encoded(scene(7), "JPEG"))
    (folder / "IMG_7.dng").write_bytes(dng(None))
    (folder / "IMG_7.wav").write_bytes(b"damaged")
    manifest, _, quarantine = build_manifest(folder, Labels({}), ManifestConfig())
    table = manifest.table.set_index("item_id")
    assert list(table.loc["IMG_2.HEIC", ["kind", "status", "taken_at", "orientation", "camera"]]) == [
        "image", "ok", "2019-07-14T18:30:05", 6, "Acme",
    ]  # fmt: skip
    assert table.loc["IMG_1.mov", "group_id"] == table.loc["IMG_1.HEIC", "group_id"]
    assert table.loc["IMG_7.dng", "group_id"] == table.loc["IMG_7.JPG", "group_id"]
    assert table.loc["IMG_7.wav", "group_id"] == "IMG_7.wav"
    assert table["group_id"].nunique() == len(table) - 2
    assert dict(zip(quarantine["item_id"], table.loc[quarantine["item_id"], "cause"], strict=True)) == {
        "IMG_7.dng": "unsupported",
        "IMG_7.wav": "damaged",
    }
    stored = tmp_path / "manifest.parquet"
    store.write_manifest(stored, manifest)
    assert (
        store.read_manifest(stored)
        .table.drop(columns=["latitude", "longitude"])
        .equals(manifest.table.drop(columns=["latitude", "longitude"]))
    )


def test_a_manifest_of_an_earlier_version_is_still_read(media: Path) -> None:
    manifest, _, _ = build_manifest(media, Labels({}), ManifestConfig())
    old = Manifest(manifest.table[list(MANIFEST_COLUMNS)])
    assert set(old.table["taken_at"]) == {""}
    assert list(old.quarantined["cause"]) == ["damaged", "damaged"]
