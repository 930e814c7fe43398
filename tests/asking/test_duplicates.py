"""Pictures that look the same: their groups, the best shot of each, and how few of them are opened."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mediarank.asking.duplicates import Duplicates, as_table, duplicate_groups
from mediarank.media.image import Pixels
from mediarank.types import MANIFEST_COLUMNS, Manifest

STRIPES, CHECKS, OTHER = "ff00ff00ff00ff00", "0f0f0f0f0f0f0f0f", "1234567812345678"


class Album:
    """Pictures by path, of which `d` is the sharpest; it remembers which were opened."""

    def __init__(self) -> None:
        self.opened: list[str] = []

    def __call__(self, path: str) -> Pixels:
        self.opened.append(path)
        picture = np.zeros((32, 32, 3), np.uint8)
        picture[:: 2 if path == "d.png" else 8] = 200
        return picture


def groups_of(hashes: dict[str, str], album: Album) -> list[Duplicates]:
    given = {"kind": "image", "width": 32, "height": 32, "status": "ok"}
    rows = [{**dict.fromkeys(MANIFEST_COLUMNS, ""), "item_id": item, "path": item, **given} for item in hashes]
    paths = [f"{item}.png" for item in hashes]
    frames = pd.DataFrame({"item_id": list(hashes), "path": paths, "phash": list(hashes.values())})
    return duplicate_groups(Manifest(pd.DataFrame(rows)), frames, album, bits=3)


def test_the_largest_group_comes_first_and_its_sharpest_picture_first_in_it() -> None:
    hashes = {"a": STRIPES, "b": f"{STRIPES[:-1]}1", "c": CHECKS, "d": STRIPES, "e": CHECKS, "f": OTHER}
    groups = groups_of(hashes, Album())
    assert [group.items for group in groups] == [("a", "b", "d"), ("c", "e")]
    assert groups[0].best.item == "d"
    assert as_table(groups)["item"].tolist() == ["d", "a", "b", "c", "e"]


def test_only_pictures_of_groups_that_are_shown_are_opened() -> None:
    album = Album()
    groups = groups_of({"a": STRIPES, "b": STRIPES, "c": CHECKS, "e": CHECKS}, album)
    assert album.opened == []
    assert len(groups[1].shots) == 2
    assert album.opened == ["c.png", "e.png"]
