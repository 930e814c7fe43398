"""Joint (three-dimensional) colour histograms in LAB, RGB and HSV.

A pixel falls into one of `bins` cells of the colour space, or is shared trilinearly among the eight nearest (`soft`),
which keeps a small change of light from moving whole areas to another bin. First the shared base with its kernel's
tables, then the three spaces, then the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Final

import cv2
import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.features.base import Count, ImageExtractor, Picture
from mediarank.features.normalise import Normalisation, normalised
from mediarank.types import Floats


@dataclass(frozen=True)
class ColourSpace:
    """How OpenCV gets there from RGB, and what its uint8 channels hold.

    ranges : (low, high) of each channel's values in use, high exclusive: LAB's a and b fill only part of a byte
    circular : whether a channel is an angle, whose last bin neighbours its first
    """

    channels: str
    conversion: int | None
    ranges: tuple[tuple[int, int], ...] = ((0, 256), (0, 256), (0, 256))
    circular: tuple[bool, ...] = (False, False, False)

    def convert(self, picture: Picture) -> Picture:
        if self.conversion is None:
            return picture
        return np.asarray(cv2.cvtColor(picture, self.conversion), dtype=np.uint8)


RGB: Final = ColourSpace("rgb", None)
HSV: Final = ColourSpace("hsv", cv2.COLOR_RGB2HSV_FULL, circular=(True, False, False))
# a* of sRGB colours spans -86 to 98 and b* -108 to 94, stored with 128 added
LAB: Final = ColourSpace("lab", cv2.COLOR_RGB2LAB, ranges=((0, 256), (40, 228), (20, 224)))


@dataclass(frozen=True)
class _JointHistogram(ImageExtractor):
    """
    bins : cells along each channel
    soft : share a pixel among the neighbouring cells
    """

    space: ClassVar[ColourSpace]
    bins: tuple[Count, Count, Count] = (8, 8, 8)
    soft: bool = True
    normalisation: Normalisation = "l1"

    def region_names(self) -> tuple[str, ...]:
        first, second, third = tuple(self.space.channels)
        return tuple(f"{first}{i}{second}{j}{third}{k}" for i, j, k in np.ndindex(*self.bins))

    def extract_region(self, picture: Picture) -> Floats:
        low, high, share = bin_tables(self.space, self.bins, self.soft)
        pixels = self.space.convert(picture).reshape(-1, 3)
        count = _count_soft if self.soft else _count_hard
        return normalised(count(pixels, low, high, share, np.zeros(self.bins)).ravel(), self.normalisation)


@dataclass(frozen=True)
class LabHistogram(_JointHistogram):
    """CIE L*a*b*: near-uniform to the eye, the strongest single colour histogram in most studies."""

    space: ClassVar[ColourSpace] = LAB


@dataclass(frozen=True)
class RgbHistogram(_JointHistogram):
    """Plain RGB: light and colour together."""

    space: ClassVar[ColourSpace] = RGB


@dataclass(frozen=True)
class HsvHistogram(_JointHistogram):
    """Hue, saturation, value: finer in hue, which is circular."""

    space: ClassVar[ColourSpace] = HSV
    bins: tuple[Count, Count, Count] = (16, 4, 4)


@lru_cache(maxsize=64)
def bin_tables(
    space: ColourSpace, bins: tuple[int, ...], soft: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """For each channel and byte: its bin, the neighbour that shares it, and the neighbour's share; each (3, 256)."""
    low = np.zeros((3, 256), dtype=np.int64)
    high = np.zeros((3, 256), dtype=np.int64)
    share = np.zeros((3, 256))
    for channel, (count, (start, stop), circular) in enumerate(zip(bins, space.ranges, space.circular, strict=True)):
        position = (np.arange(256) + 0.5 - start) / (stop - start) * count  # in bins, bin i covers [i, i + 1)
        own = np.clip(np.floor(position).astype(np.int64), 0, count - 1)
        low[channel] = high[channel] = own
        if not soft:
            continue
        below = np.floor(position - 0.5).astype(np.int64)
        share[channel] = position - 0.5 - below
        if circular:
            low[channel], high[channel] = below % count, (below + 1) % count
        else:
            low[channel], high[channel] = np.clip(below, 0, count - 1), np.clip(below + 1, 0, count - 1)
    return low, high, share


@njit(cache=True)
def _count_hard(pixels: Any, low: Any, high: Any, share: Any, counts: Any) -> Any:
    for p in range(pixels.shape[0]):
        counts[low[0, pixels[p, 0]], low[1, pixels[p, 1]], low[2, pixels[p, 2]]] += 1.0
    return counts


@njit(cache=True)
def _count_soft(pixels: Any, low: Any, high: Any, share: Any, counts: Any) -> Any:
    for p in range(pixels.shape[0]):
        x, y, z = pixels[p, 0], pixels[p, 1], pixels[p, 2]
        x0, x1, fx = low[0, x], high[0, x], share[0, x]
        y0, y1, fy = low[1, y], high[1, y], share[1, y]
        z0, z1, fz = low[2, z], high[2, z], share[2, z]
        a, b = (1.0 - fx) * (1.0 - fy), (1.0 - fx) * fy
        c, d = fx * (1.0 - fy), fx * fy
        counts[x0, y0, z0] += a * (1.0 - fz)
        counts[x0, y0, z1] += a * fz
        counts[x0, y1, z0] += b * (1.0 - fz)
        counts[x0, y1, z1] += b * fz
        counts[x1, y0, z0] += c * (1.0 - fz)
        counts[x1, y0, z1] += c * fz
        counts[x1, y1, z0] += d * (1.0 - fz)
        counts[x1, y1, z1] += d * fz
    return counts
