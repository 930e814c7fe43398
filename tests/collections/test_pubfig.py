"""PubFig: everything from data.mat, whatever MATLAB's nesting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat
from small_sources import put, refused, rows, write

from mediarank.collections import pubfig
from mediarank.types import DataError

IMAGES = ["AlexR_001.jpg", "AlexR_002.jpg", "CliveO_001.jpg"]


def cellstr(values: list[str]) -> np.ndarray[Any, Any]:
    return np.array(values, dtype=object).reshape(-1, 1)


def variables(**changes: Any) -> dict[str, Any]:
    return {
        "im_names": cellstr(IMAGES),
        "class_labels": np.array([[1], [1], [2]], dtype=np.uint8),
        "attribute_names": cellstr(["Male", "Smiling"]).T,
        "relative_ordering": np.array([[2, 1], [3, 3]], dtype=np.uint8),
        "used_for_training": np.array([[1], [0], [0]], dtype=np.uint8),
    } | changes


def made(folder: Path, **changes: Any) -> Path:
    put(folder, *(f"images/{name}" for name in IMAGES))
    savemat(folder / "data.mat", {name: v for name, v in variables(**changes).items() if v is not None})
    return folder


def test_what_is_read(tmp_path: Path) -> None:
    listing = pubfig.read(made(tmp_path))
    assert pubfig.recognises(tmp_path)
    assert listing.labels.class_of == {
        "images/AlexR_001.jpg": "AlexR",
        "images/AlexR_002.jpg": "AlexR",
        "images/CliveO_001.jpg": "CliveO",
    }
    assert rows(listing, "orderings") == [
        ("Male", "AlexR", 2.0),
        ("Male", "CliveO", 1.0),
        ("Smiling", "AlexR", 3.0),
        ("Smiling", "CliveO", 3.0),
    ]
    assert [role for _, role, _ in rows(listing, "splits")] == ["base", "test", "test"]
    assert not refused(listing)


def test_names_in_a_row_in_cells_of_cells_or_as_a_character_matrix(tmp_path: Path) -> None:
    nested = np.empty((1, 3), dtype=object)
    for k, name in enumerate(IMAGES):
        nested[0, k] = np.array([name], dtype=object)
    expected = pubfig.read(made(tmp_path / "a")).labels["classes"]
    for number, names in enumerate((cellstr(IMAGES).T, nested, np.array([name.ljust(20) for name in IMAGES]))):
        found = pubfig.read(made(tmp_path / str(number), im_names=names)).labels["classes"]
        assert found.equals(expected), number


def test_class_names_if_they_are_there_and_numbers_if_nothing_names_them(tmp_path: Path) -> None:
    named = pubfig.read(made(tmp_path / "a", class_names=cellstr(["Alex", "Clive"])))
    assert set(named.labels.class_of.values()) == {"Alex", "Clive"}
    mixed = np.array([[1], [2], [2]])
    assert set(pubfig.read(made(tmp_path / "b", class_labels=mixed)).labels.class_of.values()) == {"AlexR", "class 2"}


def test_a_picture_that_is_not_there_ends_in_quarantine_and_one_that_is_not_listed_is_reported(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "images/AlexR_002.jpg").unlink()
    put(tmp_path, "images/stranger.jpg")
    listing = pubfig.read(tmp_path)
    assert sorted(listing.files) == ["images/AlexR_001.jpg", "images/CliveO_001.jpg"]
    assert refused(listing) == {"AlexR_002.jpg": "is about an item that is not in the collection"}
    assert listing.notes == ("1 pictures are not in im_names of data.mat and are left out",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"class_labels": None}, "lacks class_labels; it holds attribute_names"),
        ({"class_labels": np.array([[1], [2]])}, "class_labels has 2 values, but im_names has 3"),
        ({"class_labels": np.array([[1], [3], [2]])}, "class_labels holds 3, but relative_ordering has 2 columns"),
        ({"used_for_training": np.array([1])}, "used_for_training has 1 values"),
        ({"relative_ordering": np.ones((3, 2))}, "is 3 × 2, but there are 2 attributes and 2 classes"),
        ({"im_names": np.ones((3, 1))}, "Expected text"),
        ({"relative_ordering": cellstr(["a", "b"])}, "Expected a matrix of numbers"),
    ],
)
def test_what_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        pubfig.read(made(tmp_path, **changes))


def test_files_that_are_no_mat(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data.mat is missing"):
        pubfig.read(tmp_path)
    for content in (b"", b"plain text", b"MATLAB 5.0 MAT-file" + bytes(200)):
        with pytest.raises(DataError, match=r"can't be read as a .mat file"):
            pubfig.read(write(tmp_path, {"data.mat": content}))
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(400)
    with pytest.raises(DataError, match=r"format 7.3; save it again"):
        pubfig.read(write(tmp_path, {"data.mat": header}))
