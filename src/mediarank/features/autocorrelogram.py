"""The colour autocorrelogram (Huang et al. 1997): how likely a pixel's neighbour at some distance has its colour.

Colours are quantised; the neighbours at distance d are the ring of pixels whose larger coordinate difference is d,
as far as they lie in the picture. A colour that does not occur has likelihood 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from numba import njit
from pydantic import Field

from mediarank.features.base import Count, ImageExtractor, Picture
from mediarank.features.colour_space import SPACES, SpaceName, bin_tables
from mediarank.types import ConfigError, Floats

Distance = Annotated[int, Field(ge=1, le=63)]


@dataclass(frozen=True)
class Autocorrelogram(ImageExtractor):
    """The colour autocorrelogram.

    space, bins : how colours are quantised; 256 colours at most
    distances : of the rings, in pixels
    """

    space: SpaceName = "hsv"
    bins: tuple[Count, Count, Count] = (12, 4, 4)
    distances: tuple[Distance, ...] = (1, 3, 5, 7)

    def __post_init__(self) -> None:
        if np.prod(self.bins) > 256 or not self.distances:
            raise ConfigError(
                f"An autocorrelogram needs at least one distance and at most 256 colours, not distances "
                f"{self.distances} and bins {self.bins}."
            )

    def region_names(self) -> tuple[str, ...]:
        first, second, third = SPACES[self.space].channels
        colours = [f"{first}{i}{second}{j}{third}{k}" for i, j, k in np.ndindex(*self.bins)]
        return tuple(f"d{d}/{colour}" for d in self.distances for colour in colours)

    def extract_region(self, picture: Picture) -> Floats:
        colours = quantised(picture, self.space, self.bins)
        same = np.zeros((len(self.distances), int(np.prod(self.bins))), dtype=np.int64)
        pairs = np.zeros_like(same)
        _count_pairs(colours, np.array(self.distances), np.zeros(colours.shape[1], np.uint8), same, pairs)
        return np.divide(same, pairs, out=np.zeros(same.shape), where=pairs > 0).astype(np.float32).ravel()


def quantised(picture: Picture, space: SpaceName, bins: tuple[int, int, int]) -> npt.NDArray[np.uint8]:
    """(height, width) uint8: the number of each pixel's colour, in the order of a joint histogram's bins."""
    low, _, _ = bin_tables(SPACES[space], bins, False)
    steps = np.array([bins[1] * bins[2], bins[2], 1])[:, None]
    colours = np.empty(picture.shape[:2], np.uint8)
    _quantise(SPACES[space].convert(picture), (low * steps).astype(np.uint8), colours)
    return colours


@njit(cache=True)
def _quantise(pixels: Any, tables: Any, colours: Any) -> None:
    for y in range(pixels.shape[0]):
        for x in range(pixels.shape[1]):
            colours[y, x] = tables[0, pixels[y, x, 0]] + tables[1, pixels[y, x, 1]] + tables[2, pixels[y, x, 2]]


@njit(cache=True)
def _count_pairs(colours: Any, distances: Any, matches: Any, same: Any, pairs: Any) -> None:
    """Per distance and colour: the number of neighbours of the same colour, and of all neighbours."""
    height, width = colours.shape
    for k in range(len(distances)):
        d = distances[k]
        for y in range(height):
            row = colours[y]
            # each pair is counted once, from its upper (or left) end, for both pixels: half the ring is enough
            matches[:] = 0
            _add_matches(row, row, d, matches)
            for dy in range(1, min(d, height - 1 - y) + 1):
                for dx in range(-d, d + 1, 1 if dy == d else 2 * d):
                    _add_matches(row, colours[y + dy], dx, matches)
            rows = min(y, d) + min(height - 1 - y, d) + 1
            rows_within = min(y, d - 1) + min(height - 1 - y, d - 1) + 1
            for x in range(width):
                colour = row[x]
                same[k, colour] += 2 * matches[x]
                columns = min(x, d) + min(width - 1 - x, d) + 1
                columns_within = min(x, d - 1) + min(width - 1 - x, d - 1) + 1
                pairs[k, colour] += rows * columns - rows_within * columns_within


@njit(cache=True)
def _add_matches(row: Any, other: Any, dx: int, matches: Any) -> None:
    """Count at x where the rows agree, the other shifted by dx; the compiler vectorises slices that start at 0."""
    start, stop = max(0, -dx), min(len(row), len(row) - dx)
    if start >= stop:
        return
    here, there, counted = row[start:stop], other[start + dx : stop + dx], matches[start:stop]
    for x in range(stop - start):
        counted[x] += np.uint8(here[x] == there[x])
