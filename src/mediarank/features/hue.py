"""The hue descriptor (van de Weijer and Schmid 2006): the colours of a patch, independent of its brightness.

Hue is the angle in the plane of the two opponent colours, saturation the distance from grey. A pixel counts for its
hue by its saturation, since the hue of a greyish pixel is uncertain, and by a Gaussian of its place in the patch.
Square roots of the shares are kept; their Euclidean distance compares like the Hellinger kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numba import njit
from pydantic import Field

from mediarank.features.base import Picture
from mediarank.features.local_points import LocalImageExtractor, Points
from mediarank.types import Floats

_GREY = 8.0
"""Mean saturation (at most 208) at which a patch is half grey; it keeps grey patches near 0."""


@dataclass(frozen=True)
class Hue(LocalImageExtractor):
    """The hue descriptor.

    bins : over the circle of hues; a pixel is shared between the two nearest
    """

    words: int = 100
    bins: Annotated[int, Field(ge=2)] = 36

    def descriptor_names(self) -> tuple[str, ...]:
        return tuple(f"hue{b}" for b in range(self.bins))

    def describe_points(self, picture: Picture, points: Points) -> Floats:
        red, green, blue = (picture[:, :, channel].astype(np.float32) for channel in range(3))
        first = (red - green) / np.float32(np.sqrt(2))  # O1
        second = (red + green - 2 * blue) / np.float32(np.sqrt(6))  # O2
        saturation = np.hypot(first, second)
        position = np.arctan2(first, second) * np.float32(self.bins / (2 * np.pi))  # hue, in bins
        lower = np.floor(position)
        upper_part = (position - lower) * saturation
        lower_bin = lower.astype(np.int64) % self.bins
        counts, masses = np.zeros((len(points), self.bins), np.float32), np.zeros(len(points), np.float32)
        _count_hues(lower_bin, (lower_bin + 1) % self.bins, saturation - upper_part, upper_part, points, counts, masses)
        shares = counts / (counts.sum(axis=1) + _GREY * masses)[:, None]
        return np.asarray(np.sqrt(shares), dtype=np.float32)


@njit(cache=True)
def _count_hues(
    lower: Any, upper: Any, lower_part: Any, upper_part: Any, points: Any, counts: Any, masses: Any
) -> None:
    """Sum over each patch: every pixel is shared between its two nearest bins and weighted by its place."""
    height, width = lower.shape
    weights = np.zeros(width, np.float32)
    for p in range(len(points)):
        down, across, half = points[p, 0], points[p, 1], points[p, 2] / 2
        fall = -0.5 / (half / 2) ** 2  # the patch reaches to two standard deviations
        top, bottom = max(0, int(np.ceil(down - half))), min(height, int(np.floor(down + half)) + 1)
        left, right = max(0, int(np.ceil(across - half))), min(width, int(np.floor(across + half)) + 1)
        histogram = counts[p]
        for x in range(left, right):
            weights[x] = np.exp(fall * (x - across) ** 2)
        for y in range(top, bottom):
            vertical = np.float32(np.exp(fall * (y - down) ** 2))
            for x in range(left, right):
                weight = vertical * weights[x]
                masses[p] += weight
                histogram[lower[y, x]] += weight * lower_part[y, x]
                histogram[upper[y, x]] += weight * upper_part[y, x]
