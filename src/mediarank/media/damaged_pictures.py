"""What is left of a damaged picture, to be shown; working copies are never made of it."""

from __future__ import annotations

from functools import partial

import numpy as np

from mediarank.media.files import File
from mediarank.media.guard import Failed, guarded_map
from mediarank.media.image import opened_image
from mediarank.media.limits import Limits
from mediarank.media.thumbnails import small_jpeg
from mediarank.types import MediaError


def what_is_left(path: File, side: int, limits: Limits) -> bytes | None:
    """A small JPEG of the part of a damaged picture that can be decoded, or None; made in a guarded process."""
    look = partial(_undamaged_part, side=side, limits=limits)
    (found,) = guarded_map(look, [path], "a damaged picture", limits.timeout_seconds)
    return None if isinstance(found, Failed) else found


def _undamaged_part(path: File, side: int, limits: Limits) -> bytes:
    from PIL import ImageFile, ImageOps

    ImageFile.LOAD_TRUNCATED_IMAGES = True  # only in this process, which ends with this picture
    with opened_image(path, limits) as (_, image):
        pixels = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    if pixels.min() == pixels.max():
        raise MediaError("Nothing of it can be decoded.")
    return small_jpeg(pixels, side)
