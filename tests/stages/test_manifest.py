"""The manifest: what is there, and what is refused with which reason."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest

from mediarank.stages.manifest import ManifestConfig, build_manifest
from mediarank.types import DataError, Labels


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
        "labels/classes.csv line 3": "speaks of an item that is not in the collection",
        "labels/classes.csv line 4": "speaks of a quarantined item",
        "labels/classes.csv line 5": "contradicts another row of the same item",
        "labels/classes.csv line 6": "contradicts another row of the same item",
        "labels/classes.csv line 7": "repeats an earlier row",
        "labels/orderings.csv line 4": "speaks of an item that is not in the collection",
    }


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="check collection"):
        build_manifest(tmp_path, Labels({}), ManifestConfig())
