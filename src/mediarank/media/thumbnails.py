"""Small pictures of items, from their working copies; of damaged files, what is left of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import pandas as pd

from mediarank.media.guard import Failed, guarded_map
from mediarank.media.image import Pixels, opened_image
from mediarank.media.limits import Limits
from mediarank.media.working import fit_inside, read_picture
from mediarank.types import MediaError


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


def what_is_left(path: Path, side: int, limits: Limits) -> bytes | None:
    """A small JPEG of the part of a damaged picture that can be decoded, or None; made in a guarded process."""
    look = partial(_undamaged_part, side=side, limits=limits)
    (found,) = guarded_map(look, [path], "a damaged picture", limits.timeout_seconds)
    return None if isinstance(found, Failed) else found


def _undamaged_part(path: Path, side: int, limits: Limits) -> bytes:
    from PIL import ImageFile, ImageOps

    ImageFile.LOAD_TRUNCATED_IMAGES = True  # only in this process, which ends with this picture
    with opened_image(path, limits) as (_, image):
        pixels = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    if pixels.min() == pixels.max():
        raise MediaError("Nothing of it can be decoded.")
    return small_jpeg(pixels, side)
