"""Pictures that look the same, with the best shot of each group.

Groups are found from the perceptual hashes that the stage `frames` keeps. The best shot is the one with the greatest
product of sharpness and size: a copy that was shrunk or blurred loses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import cv2
import numpy as np
import pandas as pd

from mediarank.media.image import Pixels
from mediarank.similarity.near_duplicates import near_duplicate_groups
from mediarank.types import Manifest, are_among

FLAT_BITS: Final = 1
"""A hash with this many bits set or fewer means a picture without structure, which would match any other such one."""


@dataclass(frozen=True)
class Shot:
    """One picture of a group.

    sharpness : variance of the Laplacian of the working copy
    pixels : of the original
    """

    item: str
    width: int
    height: int
    sharpness: float

    @property
    def quality(self) -> float:
        return self.sharpness * self.width * self.height


@dataclass(frozen=True)
class Duplicates:
    """Pictures that look the same.

    items : sorted
    look : gives a shot of an item; opens its picture, so it is asked only for groups that are shown
    """

    items: tuple[str, ...]
    look: Callable[[str], Shot]

    @cached_property
    def shots(self) -> tuple[Shot, ...]:
        """The best shot first."""
        return tuple(sorted(map(self.look, self.items), key=lambda shot: (-shot.quality, shot.item)))

    @property
    def best(self) -> Shot:
        return self.shots[0]


def duplicate_groups(
    manifest: Manifest, frames: pd.DataFrame, picture: Callable[[str], Pixels], bits: int
) -> list[Duplicates]:
    """Groups of two or more images, largest groups first.

    frames : the table of working copies
    picture : path of a working copy -> its pixels
    bits : how many bits of two hashes may differ
    """
    known = manifest.table.loc[manifest.table["kind"] == "image", "item_id"]
    images = frames[are_among(frames["item_id"], set(known.tolist()))]
    images = images.drop_duplicates("item_id").sort_values("item_id", ignore_index=True)
    hashes = [h if int(h or "0", 16).bit_count() > FLAT_BITS else "" for h in images["phash"].tolist()]
    numbers = near_duplicate_groups(hashes, bits)
    several = np.bincount(numbers, minlength=1)[numbers] > 1
    items, paths = (images.loc[several, name].tolist() for name in ("item_id", "path"))
    path_of = dict(zip(items, paths, strict=True))
    shown = manifest.table[are_among(manifest.table["item_id"], path_of)]
    columns = (shown[name].tolist() for name in ("item_id", "width", "height"))
    size_of = {item: (int(width), int(height)) for item, width, height in zip(*columns, strict=True)}

    def look(item: str) -> Shot:
        return Shot(item, *size_of[item], sharpness(picture(path_of[item])))

    groups: dict[int, list[str]] = {}
    for item, number in zip(items, numbers[several].tolist(), strict=True):
        groups.setdefault(number, []).append(item)
    found = [Duplicates(tuple(members), look) for members in groups.values()]
    return sorted(found, key=lambda group: (-len(group.items), group.items))


def sharpness(picture: Pixels) -> float:
    """How much fine detail a picture has; 0 for one colour."""
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    return float(np.var(cv2.Laplacian(grey, cv2.CV_64F)))


def as_table(groups: Sequence[Duplicates]) -> pd.DataFrame:
    """One row per picture: group, item, best, width, height, sharpness."""
    rows = [
        (number, shot.item, shot == group.best, shot.width, shot.height, round(shot.sharpness, 1))
        for number, group in enumerate(groups, start=1)
        for shot in group.shots
    ]
    return pd.DataFrame(rows, columns=["group", "item", "best", "width", "height", "sharpness"])
