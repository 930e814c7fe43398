"""Procedural textures: noise in several octaves, the same noise on a plane that recedes, and jagged lines.

All are float32 with mean near 0 and deviation near 1, made by enlarging small random grids.
"""

from __future__ import annotations

import cv2
import numpy as np

from mediarank.types import Floats


def fractal(
    rng: np.random.Generator, height: int, width: int, *, cells: float = 4, octaves: int = 4, stretch: float = 1.0
) -> Floats:
    """Noise of `octaves` layers, each twice as fine and half as strong as the one before.

    cells : grid cells of the coarsest layer over the height
    stretch : how many times wider than high a cell is
    """
    total = np.zeros((height, width), np.float32)
    for octave in range(octaves):
        rows = cells * 2.0**octave
        if octave and rows > height:
            break
        grid = rng.standard_normal(
            (max(2, round(rows)), max(2, round(rows * width / height / stretch))), dtype=np.float32
        )
        # If cells are a few pixels wide, straight and curved interpolation look the same.
        method = cv2.INTER_CUBIC if rows * 8 < height else cv2.INTER_LINEAR
        grid *= np.float32(1.25 * 0.5**octave)
        total += cv2.resize(grid, (width, height), interpolation=method)
    return total


def receding(
    tile: Floats, height: int, width: int, *, grain: float = 1.0, stretch: float = 1.0, centre: float = 0.5
) -> Floats:
    """A tile of noise, mirrored repeatedly, on a level plane: row 0 is the horizon, where the texture fades away.

    grain : texture pixels per picture pixel at the lower edge
    stretch : how many times wider than long a cell is
    centre : column of the vanishing point, as a share of the width
    """
    row = np.arange(1, height + 1, dtype=np.float32)[:, None]
    distance = height / row
    column = np.arange(width, dtype=np.float32)[None, :] - centre * width
    across = column * distance * (grain / stretch)
    along = np.repeat(distance * (grain * height * 1.3), width, axis=1)
    plane = cv2.remap(tile, across.astype(np.float32), along, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    return np.asarray(plane * np.minimum(1.0, 3.0 * row / height), dtype=np.float32)


def jagged(rng: np.random.Generator, length: int, *, cells: float = 3, octaves: int = 5, decay: float = 0.5) -> Floats:
    """A rough line: `length` heights; `decay` is how much weaker each finer layer is (0.6 is craggy, 0.3 rolling)."""
    total = np.zeros(length, np.float32)
    for octave in range(octaves):
        knots = max(2, round(cells * 2**octave)) + 1
        heights = rng.standard_normal((1, knots), dtype=np.float32)
        method = cv2.INTER_CUBIC if decay < 0.5 else cv2.INTER_LINEAR
        total += cv2.resize(heights, (length, 1), interpolation=method)[0] * np.float32(decay**octave)
    return np.asarray(total / (np.abs(total).max() + 1e-6), dtype=np.float32)
