"""Small pictures of items, from their working copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import cv2
import numpy as np
import pandas as pd

from mediarank.media.files import File
from mediarank.media.image import Pixels
from mediarank.media.working import fit_inside, read_picture


def thumbnails(frames: pd.DataFrame, media: Mapping[str, File], side: int) -> Callable[[str], bytes | None]:
    """Item -> a small JPEG of its first picture, or None if it has none.

    frames : the table of working copies
    media : the working copies by path
    side : pixels of the longer side
    """
    first = frames.drop_duplicates("item_id")
    path_of = dict(zip(first["item_id"].tolist(), first["path"].tolist(), strict=True))

    def thumbnail(item: str) -> bytes | None:
        return small_jpeg(read_picture(media[path_of[item]]), side) if item in path_of else None

    return thumbnail


def small_jpeg(picture: Pixels, side: int) -> bytes:
    """The picture as a JPEG whose longer side has at most `side` pixels."""
    small = cv2.cvtColor(fit_inside(picture, side), cv2.COLOR_RGB2BGR)
    _, data = cv2.imencode(".jpg", small, (cv2.IMWRITE_JPEG_QUALITY, 80))
    return bytes(data)


def strips(
    frames: pd.DataFrame, media: Mapping[str, File], side: int
) -> Callable[[str], tuple[bytes, int, int, int] | None]:
    """Item -> (a JPEG of its frames side by side, their number, width and height), or None if it has fewer than two.

    The arguments are those of `thumbnails`.
    """
    several = frames[frames["item_id"].duplicated(keep=False)]
    paths = {str(item): rows.sort_values("index")["path"].tolist() for item, rows in several.groupby("item_id")}

    def strip(item: str) -> tuple[bytes, int, int, int] | None:
        if item not in paths:
            return None
        first = fit_inside(read_picture(media[paths[item][0]]), side)
        height, width = first.shape[:2]
        pictures = [first, *(_of_shape(read_picture(media[path]), width, height) for path in paths[item][1:])]
        return small_jpeg(np.hstack(pictures), width * len(pictures)), len(pictures), width, height

    return strip


def _of_shape(picture: Pixels, width: int, height: int) -> Pixels:
    return np.asarray(cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
