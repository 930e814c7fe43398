"""Preparation of pixels that several image families share: grey levels and resizing."""

from __future__ import annotations

from typing import Any, TypeVar

import cv2
import numpy as np
import numpy.typing as npt

from mediarank.features.base import Picture

Pixels = TypeVar("Pixels", bound=npt.NDArray[Any])


def grey(picture: Picture) -> npt.NDArray[np.uint8]:
    """(height, width) uint8 luma of an RGB picture (ITU-R 601)."""
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), dtype=np.uint8)


def resized(pixels: Pixels, height: int, width: int) -> Pixels:
    """Resize to exactly this shape: by area averages when shrinking, which avoids aliasing, else bilinearly."""
    if pixels.shape[:2] == (height, width):
        return pixels
    shrinks = height <= pixels.shape[0] and width <= pixels.shape[1]
    how = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return cv2.resize(pixels, (width, height), interpolation=how)  # type: ignore[no-any-return]
