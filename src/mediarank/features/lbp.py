"""Uniform local binary patterns (Ojala et al. 2002): the texture around each pixel, as one histogram per cell.

1. Eight neighbours on a circle, bilinearly interpolated, are compared with the centre: one bit each.
2. The 58 codes with at most two changes around the circle (uniform: edges, corners, spots) have one bin each, all
   others share one; if `rotation_invariant`, uniform codes differ only by their number of ones.
3. Codes are counted over a grid of cells, at several radii, and each cell's histogram is normalised.

Interpolation is in integers whose weights sum exactly to one: a flat area has no rounding noise to turn into texture,
and adding a constant to all pixels changes nothing. Beyond the edge, the edge's pixels repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final

import cv2
import numpy as np
import numpy.typing as npt
from numba import njit
from pydantic import Field

from mediarank.features.base import Count, ImageExtractor, Picture
from mediarank.features.normalise import Normalisation, normalised
from mediarank.features.pixels import grey
from mediarank.types import ConfigError, Floats

_POINTS: Final = 8
_ONE: Final = 1 << 14
"""Interpolation weights are whole numbers of this many parts."""


@dataclass(frozen=True)
class Lbp(ImageExtractor):
    """Uniform local binary patterns.

    radii : of the circles, in pixels; each gives its own histograms
    cells : along each side of the region; they see neighbours across their borders, unlike regions of a granularity
    """

    radii: tuple[Annotated[float, Field(ge=1, le=16)], ...] = (1.0, 2.0, 3.0)
    cells: Count = 1
    rotation_invariant: bool = False
    normalisation: Normalisation = "sqrt"

    def __post_init__(self) -> None:
        if not self.radii:
            raise ConfigError("LBP needs at least one radius, such as radii: [1].")

    def region_names(self) -> tuple[str, ...]:
        _, patterns = uniform_bins(self.rotation_invariant)
        return tuple(
            f"r{radius:g}/cell{y}.{x}/{pattern}"
            for radius in self.radii
            for y, x in np.ndindex(self.cells, self.cells)
            for pattern in patterns
        )

    def extract_region(self, picture: Picture) -> Floats:
        levels = grey(picture)
        table, patterns = uniform_bins(self.rotation_invariant)
        counts = np.zeros((len(self.radii), self.cells, self.cells, len(patterns)))
        for k, radius in enumerate(self.radii):
            _count(pattern_codes(levels, radius), table, counts[k])
        return normalised(counts, self.normalisation).ravel()


def pattern_codes(levels: npt.NDArray[np.uint8], radius: float) -> npt.NDArray[np.uint8]:
    """(height, width) uint8: bit i is set where neighbour i, counter-clockwise from the right, is not darker."""
    margin = int(np.ceil(radius)) + 1
    padded = cv2.copyMakeBorder(levels, margin, margin, margin, margin, cv2.BORDER_REPLICATE)
    corners, weights = _circle(radius)
    codes = np.zeros(levels.shape, np.uint8)
    _compare(padded, margin, corners, weights, codes)
    return codes


@lru_cache(maxsize=2)
def uniform_bins(rotation_invariant: bool) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """The bin of each of the 256 codes, and the names of the bins; the last bin is for codes that are not uniform."""
    codes = np.arange(256)
    bits = codes[:, None] >> np.arange(_POINTS) & 1
    uniform = (bits != np.roll(bits, 1, axis=1)).sum(axis=1) <= 2
    if rotation_invariant:
        names = tuple(f"{ones} ones" for ones in range(_POINTS + 1))
        return np.where(uniform, bits.sum(axis=1), len(names)), (*names, "other")
    names = tuple(f"{code:08b}" for code in codes[uniform])
    return np.where(uniform, np.cumsum(uniform) - 1, len(names)), (*names, "other")


@lru_cache(maxsize=16)
def _circle(radius: float) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Per neighbour: the (down, right) offset of the pixel above and left of it, and four bilinear weights."""
    angle = 2 * np.pi * np.arange(_POINTS) / _POINTS
    down, right = np.round(-radius * np.sin(angle), 9), np.round(radius * np.cos(angle), 9)
    corners = np.stack([np.floor(down), np.floor(right)], axis=1).astype(np.int64)
    y, x = down - corners[:, 0], right - corners[:, 1]
    weights = np.round(np.stack([(1 - y) * (1 - x), (1 - y) * x, y * (1 - x), y * x], axis=1) * _ONE)
    weights[np.arange(_POINTS), weights.argmax(axis=1)] += _ONE - weights.sum(axis=1)
    return corners, weights.astype(np.int32)


@njit(cache=True)
def _compare(padded: Any, margin: int, corners: Any, weights: Any, codes: Any) -> None:
    height, width = codes.shape
    for y in range(height):
        centre, code = padded[y + margin, margin : margin + width], codes[y]
        for point in range(len(corners)):
            down, right = y + margin + corners[point, 0], margin + corners[point, 1]
            upper, lower = padded[down, right:], padded[down + 1, right:]
            w0, w1, w2, w3 = weights[point, 0], weights[point, 1], weights[point, 2], weights[point, 3]
            bit = np.uint8(1 << point)
            if w0 == 16384:  # on a pixel: nothing to interpolate
                for x in range(width):
                    code[x] |= bit if upper[x] >= centre[x] else np.uint8(0)
            else:
                for x in range(width):
                    level = w0 * upper[x] + w1 * upper[x + 1] + w2 * lower[x] + w3 * lower[x + 1]
                    code[x] |= bit if level >= np.int32(centre[x]) << 14 else np.uint8(0)


@njit(cache=True)
def _count(codes: Any, table: Any, counts: Any) -> None:
    height, width = codes.shape
    cells = counts.shape[0]
    for y in range(height):
        cell_row = counts[y * cells // height]
        for cell in range(cells):
            counted = cell_row[cell]
            for x in range((cell * width + cells - 1) // cells, ((cell + 1) * width + cells - 1) // cells):
                counted[table[codes[y, x]]] += 1.0
