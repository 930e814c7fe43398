"""Small pictures of items, from their working copies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import pandas as pd

from mediarank.media.image import Pixels
from mediarank.media.working import fit_inside, read_picture


def thumbnails(frames: pd.DataFrame, folder: Path, side: int) -> Callable[[str], bytes | None]:
    """Item -> a small JPEG of its first picture, or None if it has none.

    frames : the table of working copies
    folder : where they are
    side : pixels of the longer side
    """
    path_of = frames.drop_duplicates("item_id").set_index("item_id")["path"].to_dict()

    def thumbnail(item: str) -> bytes | None:
        return small_jpeg(read_picture(folder / path_of[item]), side) if item in path_of else None

    return thumbnail


def small_jpeg(picture: Pixels, side: int) -> bytes:
    """The picture as a JPEG whose longer side has at most `side` pixels."""
    small = cv2.cvtColor(fit_inside(picture, side), cv2.COLOR_RGB2BGR)
    _, data = cv2.imencode(".jpg", small, (cv2.IMWRITE_JPEG_QUALITY, 80))
    return bytes(data)
