"""The colour spaces of the colour families, with the tables that turn a byte into a bin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import cv2
import numpy as np
import numpy.typing as npt

from mediarank.features.base import Picture

SpaceName = Literal["rgb", "hsv", "lab"]
BinTables = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]


@dataclass(frozen=True)
class ColourSpace:
    """How OpenCV converts RGB to it, and what its uint8 channels hold.

    channels : one letter each
    ranges : (low, high) of each channel's values, high exclusive: LAB's a and b use only part of a byte
    circular : whether a channel is an angle, whose last bin neighbours its first
    """

    channels: tuple[str, str, str]
    conversion: int | None
    ranges: tuple[tuple[int, int], ...] = ((0, 256), (0, 256), (0, 256))
    circular: tuple[bool, ...] = (False, False, False)

    def convert(self, picture: Picture) -> Picture:
        if self.conversion is None:
            return picture
        return np.asarray(cv2.cvtColor(picture, self.conversion), dtype=np.uint8)


SPACES: Final[dict[SpaceName, ColourSpace]] = {
    "rgb": ColourSpace(("r", "g", "b"), None),
    "hsv": ColourSpace(("h", "s", "v"), cv2.COLOR_RGB2HSV_FULL, circular=(True, False, False)),
    # a* of sRGB colours spans -86 to 98 and b* -108 to 94, stored with 128 added
    "lab": ColourSpace(("l", "a", "b"), cv2.COLOR_RGB2LAB, ranges=((0, 256), (40, 228), (20, 224))),
}


@lru_cache(maxsize=64)
def bin_tables(
    space: ColourSpace, bins: tuple[int, ...], soft: bool, curved: tuple[bool, ...] = (False, False, False)
) -> BinTables:
    """For each channel and byte: its bin, the neighbour that shares it, and the neighbour's share; each (3, 256).

    Hard counting gives the neighbour no share. Soft counting is linear: a byte in the middle of a bin belongs to the
    bin alone, one on the border of two bins is shared in halves. Bins of a curved channel narrow towards its middle
    value, 128.
    """
    low = np.zeros((3, 256), dtype=np.int64)
    high = np.zeros((3, 256), dtype=np.int64)
    share = np.zeros((3, 256))
    for channel, (count, circular) in enumerate(zip(bins, space.circular, strict=True)):
        position = _places(*space.ranges[channel], curved[channel]) * count  # bin i covers [i, i + 1)
        below = np.floor(position - 0.5 if soft else position).astype(np.int64)
        above = below + 1 if soft else below
        if soft:
            share[channel] = position - 0.5 - below
        if circular:
            low[channel], high[channel] = below % count, above % count
        else:
            low[channel], high[channel] = np.clip(below, 0, count - 1), np.clip(above, 0, count - 1)
    for table in (low, high, share):
        table.flags.writeable = False  # shared by all callers
    return low, high, share


def _places(low: int, high: int, curved: bool) -> npt.NDArray[np.float64]:
    """Where each byte lies between low (0) and high (1); if curved, by the square root of its distance from 128."""
    if not curved:
        return (np.arange(256) + 0.5 - low) / (high - low)
    distance = (np.arange(256) - 128) / max(128 - low, high - 128)
    return 0.5 + 0.5 * np.sign(distance) * np.sqrt(np.minimum(np.abs(distance), 1.0))
