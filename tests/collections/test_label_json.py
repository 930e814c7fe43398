"""Exports of annotation programs: COCO, Label Studio and FiftyOne."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_sources import put, rows, write

from mediarank.collections import folder
from mediarank.collections.listing import Listing
from mediarank.types import DataError

BOX = (0.25, 0.5, 0.5, 0.25)


def read(place: Path, content: Any, name: str = "export.json") -> Listing:
    put(place, "data/a.jpg", "data/b.jpg")
    return folder.read(write(place, {name: json.dumps(content)}))


def test_coco(tmp_path: Path) -> None:
    content = {
        "images": [
            {"id": 1, "file_name": "a.jpg", "width": 200, "height": 100},
            {"id": 2, "file_name": "data\\b.jpg", "width": 200, "height": 100},
        ],
        "categories": [{"id": 7, "name": "boat"}, {"id": 8, "name": "tree"}],
        "annotations": [
            {"image_id": 1, "category_id": 7, "bbox": [50, 50, 100, 25]},
            {"image_id": 2, "category_id": 8, "bbox": []},
            {"image_id": 2, "caption": "a  wood"},
            {"image_id": 9, "category_id": 8},
        ],
    }
    listing = read(tmp_path, content, "annotations/instances.json")
    assert rows(listing, "keywords") == [("data/a.jpg", "boat"), ("data/b.jpg", "tree")]
    assert rows(listing, "regions") == [("data/a.jpg", "boat", *BOX)]
    assert rows(listing, "titles") == [("data/b.jpg", "a wood")]
    assert any("COCO, 2 of 2 files found" in note for note in listing.notes)


def test_label_studio(tmp_path: Path) -> None:
    box = {"x": 25, "y": 50, "width": 50, "height": 25, "rectanglelabels": ["boat"]}
    content = [
        {
            "data": {"image": "/data/upload/3/0a1b2c3d-a.jpg"},
            "annotations": [
                {"result": [{"from_name": "scene", "type": "choices", "value": {"choices": ["sea"]}}]},
                {"result": [{"from_name": "box", "value": box}, {"from_name": "stars", "value": {"rating": 4}}]},
                {"was_cancelled": True, "result": [{"from_name": "scene", "value": {"choices": ["wood"]}}]},
            ],
        },
        {
            "data": {"image": "/data/local-files/?d=data/b.jpg"},
            "annotations": [
                {"result": [{"from_name": "scene", "value": {"choices": ["wood"]}}]},
                {"result": [{"from_name": "kind", "value": {"taxonomy": [["Plants", "Oak"]]}}]},
            ],
        },
    ]
    listing = read(tmp_path, content)
    assert listing.labels.class_of == {"data/a.jpg": "sea", "data/b.jpg": "wood"}
    assert rows(listing, "keywords") == [("data/a.jpg", "boat"), ("data/b.jpg", "Oak")]
    assert rows(listing, "regions") == [("data/a.jpg", "boat", *BOX)]
    assert rows(listing, "orderings") == [("rating", "data/a.jpg", 4.0)]


def test_label_studio_in_short_form_with_several_choices(tmp_path: Path) -> None:
    content = [
        {"id": 1, "annotation_id": 1, "image": "a.jpg", "choice": {"choices": ["sea", "sky"]}},
        {"id": 2, "annotation_id": 2, "image": "b.jpg", "choice": {"choices": ["wood"]}},
    ]
    listing = read(tmp_path, content)
    assert not listing.labels.class_of
    assert set(rows(listing, "keywords")) == {("data/a.jpg", "sea"), ("data/a.jpg", "sky"), ("data/b.jpg", "wood")}


def test_fiftyone(tmp_path: Path) -> None:
    detection = {"label": "boat", "bounding_box": list(BOX)}
    content = {
        "samples": [
            {
                "filepath": "data/a.jpg",
                "tags": ["good"],
                "ground_truth": {"_cls": "Classification", "label": "sea"},
                "objects": {"_cls": "Detections", "detections": [detection, {"label": "sky", "bounding_box": [9]}]},
            },
            {"filepath": "data/b.jpg", "tags": [], "ground_truth": {"_cls": "Classification", "label": "wood"}},
        ]
    }
    listing = read(tmp_path, content, "samples.json")
    assert listing.labels.class_of == {"data/a.jpg": "sea", "data/b.jpg": "wood"}
    assert {word for _, word in rows(listing, "keywords")} == {"good", "boat", "sky"}
    assert rows(listing, "regions") == [("data/a.jpg", "boat", *BOX)]


def test_fiftyone_labels(tmp_path: Path) -> None:
    listing = read(tmp_path, {"classes": ["sea", "wood"], "labels": {"a": 0, "b": 1}}, "labels.json")
    assert listing.labels.class_of == {"data/a.jpg": "sea", "data/b.jpg": "wood"}
    detections = {"classes": ["boat"], "labels": {"a": [{"label": 0, "bounding_box": list(BOX)}], "b": None}}
    assert rows(read(tmp_path, detections, "labels.json"), "regions") == [("data/a.jpg", "boat", *BOX)]


def test_other_json_is_skipped_and_reported(tmp_path: Path) -> None:
    notes = read(tmp_path, {"title": "a.jpg", "photoTakenTime": {}}).notes
    assert any("1 JSON files are in no known format" in note for note in notes)


def test_a_damaged_export_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"looks like an export of COCO.*export it again"):
        read(tmp_path, {"images": [{"id": 1}], "annotations": []})
