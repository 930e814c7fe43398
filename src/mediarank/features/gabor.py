"""Gabor filters: the energy of a filter bank per cell, and JEC's two features from a small bank.

The bank is Manjunath and Ma's (1996): centres from 0.05 to 0.4 cycles per pixel in equal ratios, and widths such that
neighbouring filters touch where they have fallen to half, in scale and in angle. `GaborBank` keeps the mean and the
spread of each filter's magnitude in a grid of cells; JEC's `Gabor` keeps a histogram of magnitudes and `GaborQ` the
quantised mean phase of 16 x 16 blocks (Makadia et al. 2008). Regions are resized to a square first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit
from pydantic import Field

from mediarank.features.base import Count, ImageExtractor, Picture
from mediarank.features.filter_bank import FilterBank, frequencies
from mediarank.features.pixels import grey, resized
from mediarank.types import ConfigError, Floats

_LOWEST: Final = 0.05
_HIGHEST: Final = 0.4
_STRONGEST: Final = 0.25
"""Magnitudes above this fall into the last bin of a histogram; black and white stripes reach 0.5."""
_SILENT: Final = 1e-4
"""Magnitudes below this are rounding errors and have no phase."""
Side = Annotated[int, Field(ge=16, multiple_of=2)]
Scales = Annotated[int, Field(ge=2)]


@dataclass(frozen=True)
class _Gabor(ImageExtractor):
    """The base of the Gabor families.

    side : of the square that a region is resized to
    scales, orientations : of the bank
    """

    side: Side = 128
    scales: Scales = 3
    orientations: Count = 4

    def filter_names(self) -> tuple[str, ...]:
        return tuple(f"scale{s}.o{o}" for s, o in np.ndindex(self.scales, self.orientations))

    def spectrum(self, picture: Picture, bank: FilterBank) -> Floats:
        square = resized(grey(picture), self.side, self.side).astype(np.float32)
        return bank.spectrum(square * np.float32(1 / 255))


@dataclass(frozen=True)
class GaborBank(_Gabor):
    """Mean and spread of each filter's magnitude per cell.

    cells : along each side, where magnitudes are averaged
    """

    scales: Scales = 5
    orientations: Count = 8
    cells: Count = 4

    def __post_init__(self) -> None:
        if self.cells > self.side // 8:
            raise ConfigError(
                f"{self.cells} Gabor cells per side are too many for {self.side} px: keep at least 8 px per cell."
            )

    def region_names(self) -> tuple[str, ...]:
        return tuple(
            f"{name}/cell{y}.{x}/{statistic}"
            for statistic in ("mean", "spread")
            for name in self.filter_names()
            for y, x in np.ndindex(self.cells, self.cells)
        )

    def extract_region(self, picture: Picture) -> Floats:
        bank = _bank(self.side, self.scales, self.orientations, 16 * self.cells)
        means, spreads = bank.block_moments(self.spectrum(picture, bank), 0, self.cells)
        return np.concatenate([means.ravel(), spreads.ravel()])


@dataclass(frozen=True)
class Gabor(_Gabor):
    """JEC's Gabor: per filter a histogram of magnitudes, with bins that widen as the square."""

    bins: Count = 16

    def region_names(self) -> tuple[str, ...]:
        return tuple(f"{name}/m{b}" for name in self.filter_names() for b in range(self.bins))

    def extract_region(self, picture: Picture) -> Floats:
        bank = _bank(self.side, self.scales, self.orientations, self.side)
        shares = []
        for response in bank.responses(self.spectrum(picture, bank)):
            magnitude = np.hypot(response[:, :, 0], response[:, :, 1])
            place = np.sqrt(np.minimum(magnitude / _STRONGEST, 1.0)) * self.bins
            bins = np.minimum(place.astype(np.int64), self.bins - 1)
            shares.append(np.bincount(bins.ravel(), minlength=self.bins) / bins.size)
        return np.concatenate(shares).astype(np.float32)


@dataclass(frozen=True)
class GaborQ(_Gabor):
    """JEC's GaborQ: the mean phase of each block, as one of eight values, 0 to 7."""

    block: Count = 16

    def __post_init__(self) -> None:
        if self.side % self.block:
            raise ConfigError(f"Blocks of {self.block} px do not fill {self.side} px: choose one that divides it.")

    def region_names(self) -> tuple[str, ...]:
        blocks = self.side // self.block
        return tuple(f"{name}/block{y}.{x}" for name in self.filter_names() for y, x in np.ndindex(blocks, blocks))

    def extract_region(self, picture: Picture) -> Floats:
        bank = _bank(self.side, self.scales, self.orientations, self.side)
        blocks = self.side // self.block
        pointers = np.zeros((len(bank.windows), blocks, blocks, 2))
        for k, response in enumerate(bank.responses(self.spectrum(picture, bank))):
            _sum_pointers(response, self.block, _SILENT, pointers[k])
        eighths = np.arctan2(pointers[..., 1], pointers[..., 0]) * (8 / (2 * np.pi))
        return (np.floor(eighths) % 8).astype(np.float32).ravel()


def transfer_functions(side: int, scales: int, orientations: int) -> npt.NDArray[np.float64]:
    """(scales · orientations, side, side), highest frequency first; gain 1 at each centre, 0 at frequency 0.

    Orientation o responds to stripes whose normal points o/orientations of a half turn down from the right.
    """
    v, u = frequencies(side)
    ratio = (_HIGHEST / _LOWEST) ** (1 / (scales - 1))
    fall = np.sqrt(2 * np.log(2))  # a Gaussian of deviation s falls to half at s·fall
    along = _HIGHEST * (ratio - 1) / (ratio + 1) / fall
    across = np.tan(np.pi / (2 * orientations)) * np.sqrt(_HIGHEST**2 / fall**2 - along**2)
    bank = []
    for scale in range(scales):
        shrink = ratio**-scale
        for orientation in range(orientations):
            angle = np.pi * orientation / orientations
            x, y = u * np.cos(angle) + v * np.sin(angle), v * np.cos(angle) - u * np.sin(angle)
            distance = np.square((x - _HIGHEST * shrink) / (along * shrink)) + np.square(y / (across * shrink))
            bank.append(np.exp(-distance / 2))
    gains = np.stack(bank)
    gains[:, 0, 0] = 0.0  # mean brightness is not texture
    return gains


@lru_cache(maxsize=8)
def _bank(side: int, scales: int, orientations: int, smallest: int) -> FilterBank:
    return FilterBank.of(transfer_functions(side, scales, orientations), smallest)


@njit(cache=True)
def _sum_pointers(response: Any, block: int, silent: float, pointers: Any) -> None:
    """Sum each block's responses, scaled to length 1: the angle of the sum is the mean phase."""
    for y in range(response.shape[0]):
        for x in range(response.shape[1]):
            real, imaginary = response[y, x, 0], response[y, x, 1]
            magnitude = np.sqrt(real * real + imaginary * imaginary)
            if magnitude > silent:
                pointers[y // block, x // block, 0] += real / magnitude
                pointers[y // block, x // block, 1] += imaginary / magnitude
