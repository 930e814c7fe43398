"""UT-Zap50K: pairs by number, the stronger first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat
from small_sources import put, refused, rows, write

from mediarank.collections import zap50k
from mediarank.types import DataError

SHOES = ["Shoes/Oxfords/Bostonian/100627.72.jpg", "Boots/Ankle/L.A.M.B./100627.255.jpg", "Boots/Mid/Ariat/7001.1.jpg"]
IMAGES = [f"ut-zap50k-images/{shoe}" for shoe in SHOES]


def cell(*matrices: list[list[float]]) -> np.ndarray[Any, Any]:
    made = np.empty((1, len(matrices)), dtype=object)
    for k, matrix in enumerate(matrices):
        made[0, k] = np.array(matrix, dtype=float) if matrix else np.zeros((0, 0))
    return made


ORDER = cell([[1, 2, 1, 1, 1, 1], [2, 3, 1, 2, 1, 1]], [[3, 1, 2, 1, 1, 1]], [], [])
EQUAL = cell([], [], [[1, 3, 3, 3, 2, 0.6]], [])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    put(tmp_path, *IMAGES, "ut-zap50k-data/readme.txt")
    data = tmp_path / "ut-zap50k-data"
    savemat(data / "image-path.mat", {"imagepath": np.array(SHOES, dtype=object).reshape(-1, 1)})
    savemat(data / "zappos-labels.mat", {"mturkOrder": ORDER, "mturkEqual": EQUAL})
    savemat(data / "zappos-labels-fg.mat", {"mturkHard": cell([], [], [], [[1, 3, 4, 2, 1, 1]])})
    return tmp_path


PAIRS = [
    ("comfort", IMAGES[2], IMAGES[0], ">"),
    ("open", IMAGES[2], IMAGES[1], ">"),
    ("open", IMAGES[0], IMAGES[1], ">"),
    ("pointy", IMAGES[2], IMAGES[0], ">"),
    ("sporty", IMAGES[0], IMAGES[2], "="),
]


def test_what_is_read(source: Path) -> None:
    assert zap50k.recognises(source)
    listing = zap50k.read(source)
    assert sorted(rows(listing, "pairs")) == PAIRS
    assert listing.labels.class_of == {IMAGES[0]: "Shoes", IMAGES[1]: "Boots", IMAGES[2]: "Boots"}
    assert dict(rows(listing, "groups")) == {
        IMAGES[0]: "product 100627",
        IMAGES[1]: "product 100627",
        IMAGES[2]: "product 7001",
    }
    assert not refused(listing)


def test_everything_in_one_folder_and_numbers_from_the_table(source: Path) -> None:
    for path in (source / "ut-zap50k-data").glob("zappos*"):
        path.rename(source / path.name)
    (source / "ut-zap50k-data/image-path.mat").unlink()
    write(source, {"meta-data.csv": "CID,Category\n100627-72,Shoes\n100627-255,Boots\n7001-1,Boots\n"})
    assert sorted(rows(zap50k.read(source), "pairs")) == PAIRS


def test_a_folder_that_lost_its_last_dot_is_found_all_the_same(source: Path) -> None:
    (source / IMAGES[1]).parent.rename((source / IMAGES[1]).parent.with_name("L.A.M.B"))
    listing = zap50k.read(source)
    assert ("open", IMAGES[0], "ut-zap50k-images/Boots/Ankle/L.A.M.B/100627.255.jpg", ">") in rows(listing, "pairs")


def test_pairs_of_a_picture_that_is_not_there_end_in_quarantine(source: Path) -> None:
    (source / IMAGES[1]).unlink()
    assert set(refused(zap50k.read(source)).values()) == {"is about an item that is not in the collection"}
    assert len(refused(zap50k.read(source))) == 2


@pytest.mark.parametrize(
    ("rows_", "message"),
    [
        ([[1, 4, 1, 1]], "mentions image 4, but image-path.mat lists 3"),
        ([[0, 1, 1, 1]], "mentions image 0"),
        ([[1, 2, 5, 1]], "mentions attribute 5"),
        ([[1, 2, 1, 4]], "holds the judgment 4"),
        ([[1, 2, 1]], "rows of 3 values"),
        ([[1, np.nan, 1, 1]], "row without a number"),
    ],
)
def test_what_is_refused(source: Path, rows_: list[list[float]], message: str) -> None:
    savemat(source / "ut-zap50k-data/zappos-labels.mat", {"mturkOrder": cell(rows_)})
    with pytest.raises(DataError, match=message):
        zap50k.read(source)


def test_what_is_missing_is_reported(source: Path) -> None:
    (source / "ut-zap50k-data/image-path.mat").unlink()
    with pytest.raises(DataError, match=r"neither image-path.mat nor meta-data.csv"):
        zap50k.read(source)
    (source / "ut-zap50k-images").rename(source / "elsewhere")
    with pytest.raises(DataError, match="no folder ut-zap50k-images"):
        zap50k.read(source)
    for path in (source / "ut-zap50k-data").glob("zappos*"):
        path.unlink()
    assert not zap50k.recognises(source)
    with pytest.raises(DataError, match=r"unpack ut-zap50k-data.zip"):
        zap50k.read(source)
