"""SIFT (Lowe 2004), by OpenCV, upright, at given points: 4 x 4 cells of 8 gradient orientations.

Patches of twice the size are taken from the next octave of OpenCV's pyramid, so that large ones are smoothed more and
take no more time. `root` takes square roots of the L1-normalised descriptor (Arandjelović and Zisserman 2012); then
Euclidean distances compare like the Hellinger kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np

from mediarank.features.base import Picture
from mediarank.features.local_points import LocalImageExtractor, Points
from mediarank.features.normalise import normalised
from mediarank.features.pixels import grey
from mediarank.types import Floats

_CELLS_OF_SIZE = 6.0
"""OpenCV makes a cell 1.5 times a key point's size, so the patch of four is six times as wide."""


@dataclass(frozen=True)
class Sift(LocalImageExtractor):
    """SIFT.

    root : RootSIFT; otherwise plain SIFT of length 1
    """

    words: int = 500
    root: bool = True

    def descriptor_names(self) -> tuple[str, ...]:
        return tuple(f"cell{y}.{x}/o{o}" for y, x, o in np.ndindex(4, 4, 8))

    def describe_points(self, picture: Picture, points: Points) -> Floats:
        if not len(points):
            return np.zeros((0, 128), dtype=np.float32)
        _, values = _sift().compute(grey(picture), _key_points(points.tobytes()))
        return normalised(values, "sqrt" if self.root else "l2")


@lru_cache(maxsize=8)
def _key_points(points: bytes) -> tuple[Any, ...]:
    """OpenCV's key points, cached because making them takes long; pictures of equal size share a grid."""
    rows = np.frombuffer(points, np.float32).reshape(-1, 3)
    octaves = np.maximum(np.floor(np.log2(rows[:, 2] / 16)), 0).astype(int)
    return tuple(
        cv2.KeyPoint(x=float(x), y=float(y), size=float(patch) / _CELLS_OF_SIZE, angle=0, octave=int(octave))
        for (y, x, patch), octave in zip(rows, octaves, strict=True)
    )


@lru_cache(maxsize=1)
def _sift() -> Any:
    # only the first layer of an octave is described, so more layers would be wasted
    return cv2.SIFT.create(nOctaveLayers=1)
