"""Colour histograms: joint (three-dimensional) ones, and one per channel as in JEC (Makadia et al. 2008).

A pixel falls into one of `bins` cells of the colour space, or is shared linearly among the nearest cells (`soft`),
so that a small change of light does not move whole areas to another bin. First the two base classes, then LAB, RGB and
HSV of each, then the kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import njit

from mediarank.features.base import Count, ImageExtractor, Picture
from mediarank.features.colour_space import SPACES, BinTables, SpaceName, bin_tables
from mediarank.features.normalise import Normalisation, normalised
from mediarank.types import Floats


@dataclass(frozen=True)
class JointHistogram(ImageExtractor):
    """A joint histogram of three channels.

    bins : cells along each channel
    soft : share a pixel among the eight neighbouring cells
    """

    space: ClassVar[SpaceName]
    bins: tuple[Count, Count, Count] = (8, 8, 8)
    soft: bool = True
    normalisation: Normalisation = "l1"

    def tables(self) -> BinTables:
        return bin_tables(SPACES[self.space], self.bins, self.soft)

    def region_names(self) -> tuple[str, ...]:
        first, second, third = SPACES[self.space].channels
        return tuple(f"{first}{i}{second}{j}{third}{k}" for i, j, k in np.ndindex(*self.bins))

    def extract_region(self, picture: Picture) -> Floats:
        space = SPACES[self.space]
        low, high, share = self.tables()
        pixels = space.convert(picture).reshape(-1, 3)
        counts = np.zeros(self.bins)
        if self.soft:
            _count_soft(pixels, low, high, share, counts)
        else:
            _count_hard(pixels, low, counts)
        return normalised(counts.ravel(), self.normalisation)


@dataclass(frozen=True)
class LabHistogram(JointHistogram):
    """CIE L*a*b*: near-uniform to the eye.

    curved : bins of a* and b* narrow towards grey, where most colours of most pictures are
    """

    space: ClassVar[SpaceName] = "lab"
    curved: bool = True

    def tables(self) -> BinTables:
        return bin_tables(SPACES[self.space], self.bins, self.soft, (False, self.curved, self.curved))


@dataclass(frozen=True)
class RgbHistogram(JointHistogram):
    """Plain RGB: brightness and colour together."""

    space: ClassVar[SpaceName] = "rgb"


@dataclass(frozen=True)
class HsvHistogram(JointHistogram):
    """Hue, saturation, value: finer in hue, which is circular."""

    space: ClassVar[SpaceName] = "hsv"
    bins: tuple[Count, Count, Count] = (16, 4, 4)


@dataclass(frozen=True)
class ChannelHistogram(ImageExtractor):
    """One histogram per channel.

    bins : of each channel; 16 in JEC
    soft : share a pixel between the two nearest bins of each channel
    """

    space: ClassVar[SpaceName]
    bins: Count = 16
    soft: bool = False
    normalisation: Normalisation = "l1"

    def region_names(self) -> tuple[str, ...]:
        return tuple(f"{channel}{b}" for channel in SPACES[self.space].channels for b in range(self.bins))

    def extract_region(self, picture: Picture) -> Floats:
        space = SPACES[self.space]
        low, high, share = bin_tables(space, (self.bins,) * 3, self.soft)
        counts = np.zeros((3, self.bins))
        _count_channels(space.convert(picture).reshape(-1, 3), low, high, share, counts)
        return normalised(counts.ravel(), self.normalisation)


@dataclass(frozen=True)
class Rgb(ChannelHistogram):
    """JEC's RGB."""

    space: ClassVar[SpaceName] = "rgb"


@dataclass(frozen=True)
class Hsv(ChannelHistogram):
    """JEC's HSV."""

    space: ClassVar[SpaceName] = "hsv"


@dataclass(frozen=True)
class Lab(ChannelHistogram):
    """JEC's LAB."""

    space: ClassVar[SpaceName] = "lab"


@njit(cache=True)
def _count_hard(pixels: Any, low: Any, counts: Any) -> None:
    for p in range(pixels.shape[0]):
        counts[low[0, pixels[p, 0]], low[1, pixels[p, 1]], low[2, pixels[p, 2]]] += 1.0


@njit(cache=True)
def _count_soft(pixels: Any, low: Any, high: Any, share: Any, counts: Any) -> None:
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


@njit(cache=True)
def _count_channels(pixels: Any, low: Any, high: Any, share: Any, counts: Any) -> None:
    for p in range(pixels.shape[0]):
        for channel in range(3):
            value = pixels[p, channel]
            counts[channel, low[channel, value]] += 1.0 - share[channel, value]
            counts[channel, high[channel, value]] += share[channel, value]
