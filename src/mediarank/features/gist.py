"""GIST, the shape of a scene (Oliva and Torralba 2001): energy by scale and angle in each part of the picture.

1. The region is resized to a square and its light evened out (`prefiltered`: log, minus a Gaussian blur, divided by
   the local contrast).
2. A bank of Gabor-like filters, 4 scales x 8 orientations, is applied in the frequency domain.
3. The magnitude of each response is averaged over 4 x 4 blocks: 32 x 16 = 512 numbers, three times that in colour.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Final

import cv2
import numpy as np
import numpy.typing as npt
from pydantic import Field

from mediarank.features.base import Count, ImageExtractor, Picture
from mediarank.features.filter_bank import FilterBank, frequencies
from mediarank.features.pixels import grey, resized
from mediarank.types import ConfigError, Floats

_HIGHEST: Final = 0.3
"""Centre of the finest scale, in cycles per pixel; each next one is lower by a factor of 1.85."""
_CUT_OFF: Final = 4.0
"""The prefilter removes changes slower than this many cycles per picture."""
_LOGARITHMS: Final = np.log1p(np.arange(256, dtype=np.float32))


@dataclass(frozen=True)
class Gist(ImageExtractor):
    """GIST.

    colour : describe red, green and blue one by one instead of the grey levels
    side : of the square that a region is resized to
    padding : mirrored pixels around it, so that its left edge does not see its right one
    """

    colour: bool = False
    side: Annotated[int, Field(ge=32)] = 128
    padding: Annotated[int, Field(ge=0)] = 16
    scales: Count = 4
    orientations: Count = 8
    blocks: Count = 4

    def __post_init__(self) -> None:
        if (self.side + 2 * self.padding) % 2 or self.padding > self.side or self.blocks > self.side // 4:
            raise ConfigError(
                f"GIST of {self.side} px with {self.padding} px of padding in {self.blocks} blocks per side is not "
                "possible: the side must be even, the padding no larger than it, and a block at least 4 px wide."
            )

    def region_names(self) -> tuple[str, ...]:
        return tuple(
            f"{channel}scale{s}.o{o}/block{y}.{x}"
            for channel in (("red/", "green/", "blue/") if self.colour else ("",))
            for s, o, y, x in np.ndindex(self.scales, self.orientations, self.blocks, self.blocks)
        )

    def extract_region(self, picture: Picture) -> Floats:
        square = resized(picture if self.colour else grey(picture), self.side, self.side)
        planes = prefiltered(square, self.padding)
        # 16 samples along a block are enough for its mean
        bank = _bank(self.side + 2 * self.padding, self.scales, self.orientations, 16 * self.blocks)
        return np.stack([bank.block_means(bank.spectrum(p), self.padding, self.blocks) for p in planes]).ravel()


def prefiltered(square: Picture, padding: int) -> list[Floats]:
    """(side, side, channels) or (side, side) bytes -> padded float32 planes with light and contrast evened out.

    Oliva and Torralba's `prefilt`: subtract a low-passed copy of the logarithm, then divide by the local standard
    deviation (of the channels' mean), with 0.2 added so that flat areas stay flat.
    """
    padded = cv2.copyMakeBorder(square, padding, padding, padding, padding, cv2.BORDER_REFLECT_101)
    logs = [cv2.LUT(channel, _LOGARITHMS) for channel in cv2.split(padded)]
    low_pass = _low_pass(len(padded))
    planes = [plane - _blurred(plane, low_pass) for plane in logs]
    mean = np.mean(planes, axis=0, dtype=np.float32) if len(planes) > 1 else planes[0]
    contrast = np.sqrt(np.abs(_blurred(np.square(mean), low_pass)))
    return [np.asarray(plane / (np.float32(0.2) + contrast), dtype=np.float32) for plane in planes]


def transfer_functions(side: int, scales: int, orientations: int) -> npt.NDArray[np.float64]:
    """(scales · orientations, side, side), finest scale first: Gaussians in radius and in angle.

    G = exp(−10·0.35·(f/f₀ − 1)² − 2π·(16·orientations²/32²)·θ²), θ being the angle to the filter's own in (−π, π].
    """
    v, u = frequencies(side)
    radius, angle = np.hypot(u, v), np.arctan2(v, u)
    width = 16.0 * orientations**2 / 32.0**2
    bank = []
    for scale in range(scales):
        centre = _HIGHEST / 1.85**scale
        for orientation in range(orientations):
            theta = angle + np.pi / orientations * orientation
            theta = (theta + np.pi) % (2 * np.pi) - np.pi
            bank.append(np.exp(-3.5 * np.square(radius / centre - 1) - 2 * np.pi * width * np.square(theta)))
    return np.stack(bank)


@lru_cache(maxsize=8)
def _bank(side: int, scales: int, orientations: int, smallest: int) -> FilterBank:
    return FilterBank.of(transfer_functions(side, scales, orientations), smallest)


@lru_cache(maxsize=8)
def _low_pass(side: int) -> Floats:
    """(side, side, 2) gains, each twice: for the real and the imaginary part."""
    v, u = frequencies(side)
    width = _CUT_OFF / np.sqrt(np.log(2)) / side
    gains = np.exp(-(np.square(u) + np.square(v)) / width**2)
    return np.repeat(gains[:, :, None], 2, axis=2).astype(np.float32)


def _blurred(plane: Floats, low_pass: Floats) -> Floats:
    spectrum = cv2.dft(plane, flags=cv2.DFT_COMPLEX_OUTPUT)
    spectrum *= low_pass
    flags = cv2.DFT_INVERSE | cv2.DFT_SCALE | cv2.DFT_REAL_OUTPUT
    return np.asarray(cv2.dft(spectrum, flags=flags), dtype=np.float32)
