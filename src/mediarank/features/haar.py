"""Haar wavelets: statistics of each band as a texture, and JEC's two coefficient vectors.

`decomposed` is the transform: at each level, sums and differences of 2 x 2 blocks give a half-sized picture and
three bands of detail. `HaarTexture` keeps the mean magnitude and the spread of each band; JEC's `Haar` keeps every
coefficient's magnitude and `HaarQ` its sign (Makadia et al. 2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from pydantic import Field

from mediarank.features.base import ImageExtractor, Picture
from mediarank.features.colour_space import SPACES
from mediarank.features.pixels import grey, resized
from mediarank.types import ConfigError, Floats

_BANDS: Final = ("horizontal", "vertical", "diagonal")
Levels = Annotated[int, Field(ge=1, le=8)]
Side = Annotated[int, Field(ge=8)]


def decomposed(levels: Floats, depth: int) -> list[tuple[Floats, Floats, Floats]]:
    """(side, side) -> per level, finest first, the bands of horizontal, vertical and diagonal detail.

    Horizontal detail is the difference of rows (horizontal edges), vertical that of columns. Each band is divided
    by 4, so a coefficient is an average difference and stays on the scale of the grey levels.
    """
    quarter = np.float32(0.25)
    bands = []
    rest = levels
    for _ in range(depth):
        a, b, c, d = rest[0::2, 0::2], rest[0::2, 1::2], rest[1::2, 0::2], rest[1::2, 1::2]
        bands.append(((a + b - c - d) * quarter, (a - b + c - d) * quarter, (a - b - c + d) * quarter))
        rest = (a + b + c + d) * quarter
    return bands


@dataclass(frozen=True)
class _Wavelet(ImageExtractor):
    """The base of the Haar families.

    side : of the square that a region is resized to
    levels : how often it is halved
    """

    side: Side = 64
    levels: Levels = 3

    def __post_init__(self) -> None:
        if self.side % 2**self.levels:
            raise ConfigError(f"A side of {self.side} px can't be halved {self.levels} times: use a power of two.")

    def bands(self, levels: Picture) -> list[Floats]:
        # grey levels up to 255 are transformed without rounding, so zeros are exact; scaling to [0, 1] comes after
        square = resized(levels, self.side, self.side).astype(np.float32)
        return [band / np.float32(255) for level in decomposed(square, self.levels) for band in level]


@dataclass(frozen=True)
class HaarTexture(_Wavelet):
    """Mean magnitude and spread of each band.

    colour : describe the three channels of LAB instead of the grey levels
    """

    side: Side = 128
    levels: Levels = 4
    colour: bool = False

    def region_names(self) -> tuple[str, ...]:
        return tuple(
            f"{channel}level{level}.{band}.{statistic}"
            for channel in (("l/", "a/", "b/") if self.colour else ("",))
            for level in range(self.levels)
            for band in _BANDS
            for statistic in ("mean", "spread")
        )

    def extract_region(self, picture: Picture) -> Floats:
        lab = SPACES["lab"].convert(picture)
        planes = [lab[:, :, channel] for channel in range(3)] if self.colour else [grey(picture)]
        bands = [band for plane in planes for band in self.bands(np.ascontiguousarray(plane))]
        return np.array([s for band in bands for s in (np.abs(band).mean(), band.std())], dtype=np.float32)


@dataclass(frozen=True)
class Haar(_Wavelet):
    """JEC's Haar: magnitudes of all coefficients."""

    def region_names(self) -> tuple[str, ...]:
        return tuple(
            f"level{level}.{band}/{y}.{x}"
            for level in range(self.levels)
            for band in _BANDS
            for y, x in np.ndindex(self.side >> (level + 1), self.side >> (level + 1))
        )

    def extract_region(self, picture: Picture) -> Floats:
        return np.concatenate([np.abs(band).ravel() for band in self.bands(grey(picture))])


@dataclass(frozen=True)
class HaarQ(Haar):
    """JEC's HaarQ: signs of all coefficients, −1, 0 or 1."""

    def extract_region(self, picture: Picture) -> Floats:
        return np.concatenate([np.sign(band).ravel() for band in self.bands(grey(picture))])
