"""Histograms of oriented gradients (Dalal and Triggs 2005), by OpenCV's descriptor.

1. The region is resized to a square window, so that every picture has the same cells.
2. Gradients by [-1, 0, 1], of the colour channel where they are largest.
3. Each pixel votes, weighted by its gradient, for its two nearest orientations in its four nearest cells.
4. Overlapping blocks of cells are scaled by L2-Hys (length 1, clipped at 0.2, length 1 again) and concatenated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import cv2
import numpy as np
from pydantic import Field

from mediarank.features.base import Count, ImageExtractor, Picture
from mediarank.features.pixels import resized
from mediarank.types import ConfigError, Floats


@dataclass(frozen=True)
class Hog(ImageExtractor):
    """HOG.

    window : side of the square that a region is resized to
    cell : side of a cell in pixels; divides the window
    block : cells along a block's side; neighbouring blocks are one cell apart
    bins : orientations, over 180 degrees, or 360 if `signed`
    gamma : take square roots of the pixels first, which evens out light
    """

    window: Annotated[int, Field(ge=8)] = 128
    cell: Annotated[int, Field(ge=2)] = 16
    block: Count = 2
    bins: Annotated[int, Field(ge=2)] = 9
    signed: bool = False
    gamma: bool = True

    def __post_init__(self) -> None:
        if self.window % self.cell or self.block * self.cell > self.window:
            raise ConfigError(
                f"A HOG window of {self.window} px can't be cut into cells of {self.cell} px in blocks of "
                f"{self.block} cells: choose a cell that divides the window and a block that fits in it."
            )

    def region_names(self) -> tuple[str, ...]:
        # OpenCV lays out blocks, and cells in a block, column by column
        blocks, cells = self.window // self.cell - self.block + 1, self.block
        return tuple(
            f"block{y}.{x}/cell{cy}.{cx}/o{o}"
            for x, y, cx, cy, o in np.ndindex(blocks, blocks, cells, cells, self.bins)
        )

    def extract_region(self, picture: Picture) -> Floats:
        descriptor = _descriptor(self.window, self.cell, self.block, self.bins, self.signed, self.gamma)
        window = resized(picture, self.window, self.window)
        return np.asarray(descriptor.compute(window), dtype=np.float32).ravel()


@lru_cache(maxsize=16)
def _descriptor(window: int, cell: int, block: int, bins: int, signed: bool, gamma: bool) -> Any:
    return cv2.HOGDescriptor(
        _winSize=(window, window),
        _blockSize=(block * cell, block * cell),
        _blockStride=(cell, cell),
        _cellSize=(cell, cell),
        _nbins=bins,
        _gammaCorrection=gamma,
        _signedGradient=signed,
    )
