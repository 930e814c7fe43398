"""3D-HOG (Kläser et al. 2008): gradients in space and time, counted by direction, in dense space-time blocks.

1. Frames are made grey and small; a gradient has a part across, down and in time (central differences).
2. A cell is cut into 2 x 2 x 2 sub-blocks; the mean gradient of each is projected onto the axes through the faces of
   an icosahedron, the neighbouring axis's part is subtracted, and the rest shares out the gradient's length.
3. Blocks of cells, one at every cell, are concatenated and scaled by L2-Hys: one descriptor per block.

Deviations: the blocks are dense, not at interest points, and of one size. Without `signed`, opposite gradients count
for the same axis, so 10 of 20 directions are left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
from numba import njit
from pydantic import Field

from mediarank.features.base import Count, Descriptors, LocalExtractor, Modality
from mediarank.features.pixels import grey, resized
from mediarank.types import ConfigError, DataError, Floats

Clip = npt.NDArray[np.uint8]
"""(frames, height, width, 3) uint8 RGB."""
_PARTS: Final = 2
"""Sub-blocks along each edge of a cell."""


@dataclass(frozen=True)
class Hog3d(LocalExtractor):
    """3D-HOG.

    side : frames are shrunk until none of their sides is longer
    cell, cell_frames : extent of a cell, in pixels and frames; both even
    block, block_time : cells of a block along each side, and in time
    """

    modality: ClassVar[Modality] = "clip"
    words: Count = 300
    side: Annotated[int, Field(ge=16)] = 160
    cell: Annotated[int, Field(ge=2, multiple_of=_PARTS)] = 8
    cell_frames: Annotated[int, Field(ge=2, multiple_of=_PARTS)] = 2
    block: Count = 3
    block_time: Count = 2
    signed: bool = False

    def __post_init__(self) -> None:
        if self.block * self.cell > self.side:
            raise ConfigError(f"A block of {self.block} cells of {self.cell} px does not fit in {self.side} px.")

    def descriptor_names(self) -> tuple[str, ...]:
        directions = len(icosahedron_axes(self.signed))
        cells = np.ndindex(self.block_time, self.block, self.block, directions)
        return tuple(f"cell{t}.{y}.{x}/d{d}" for t, y, x, d in cells)

    def describe(self, medium: Clip) -> Descriptors:
        cells = self.cell_histograms(self._volume(require_clip(medium)))
        shape = (cells.shape[0] - self.block_time + 1, cells.shape[1] - self.block + 1, cells.shape[2] - self.block + 1)
        width = self.block_time * self.block**2 * cells.shape[3]
        values = np.empty((*shape, width), dtype=np.float32)
        _gather_blocks(cells, self.block_time, self.block, values)
        _, y, x = np.indices(shape, dtype=np.float32).reshape(3, -1)
        places = np.stack([(y + self.block / 2) / cells.shape[1], (x + self.block / 2) / cells.shape[2]], axis=1)
        return Descriptors(values.reshape(-1, width), places.astype(np.float32))

    def cell_histograms(self, volume: Floats) -> Floats:
        """(frames, height, width) grey levels -> (cells in time, down, across, directions)."""
        axes, threshold = icosahedron_axes(self.signed), np.float32(_NEIGHBOURS)
        counts = tuple(n // c for n, c in zip(volume.shape, (self.cell_frames, self.cell, self.cell), strict=True))
        means = np.zeros((*(n * _PARTS for n in counts), 3), dtype=np.float32)
        _mean_gradients(volume, self.cell_frames // _PARTS, self.cell // _PARTS, means)
        histograms = np.zeros((*counts, len(axes)), dtype=np.float32)
        _count_directions(means, axes, threshold, self.signed, histograms)
        return histograms

    def _volume(self, clip: Clip) -> Floats:
        """Grey frames in [0, 1], shrunk to `side` but never below the extent of one block."""
        scale = min(1.0, self.side / max(clip.shape[1:3]))
        smallest = self.block * self.cell
        height, width = (max(smallest, round(length * scale)) for length in clip.shape[1:3])
        frames = [resized(grey(np.ascontiguousarray(frame)), height, width) for frame in clip]
        # a short clip is extended by repeating its last frame
        frames += frames[-1:] * (self.block_time * self.cell_frames - len(frames))
        return np.stack(frames).astype(np.float32) * np.float32(1 / 255)


def require_clip(medium: Clip) -> Clip:
    if medium.dtype != np.uint8 or medium.ndim != 4 or medium.shape[3] != 3 or medium.size == 0:
        raise DataError(
            f"A clip is (frames, height, width, 3) uint8 RGB with at least one frame, not {medium.dtype} "
            f"{medium.shape}."
        )
    return medium


_NEIGHBOURS: Final = np.sqrt(5.0) / 3.0
"""Cosine of the angle between neighbouring face axes of an icosahedron."""


@lru_cache(maxsize=2)
def icosahedron_axes(signed: bool) -> Floats:
    """(20, 3) unit vectors (across, down, time) through the faces; (10, 3), one of each opposite pair, if unsigned."""
    golden = (1 + np.sqrt(5)) / 2
    corners = [(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]
    planes = [(a / golden, b * golden) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
    corners += [(0.0, a, b) for a, b in planes] + [(a, b, 0.0) for a, b in planes] + [(b, 0.0, a) for a, b in planes]
    axes = np.array(corners) / np.sqrt(3)
    if not signed:
        first = np.argmax(np.abs(axes) > 1e-9, axis=1)  # keep the one whose first nonzero coordinate is positive
        axes = axes[axes[np.arange(len(axes)), first] > 0]
    return np.ascontiguousarray(axes, dtype=np.float32)


@njit(cache=True)
def _mean_gradients(volume: Any, part_frames: int, part: int, means: Any) -> None:
    """Mean central difference of each sub-block; at the clip's borders the difference is one-sided."""
    frames, height, width = volume.shape
    for st in range(means.shape[0]):
        for sy in range(means.shape[1]):
            for t in range(st * part_frames, (st + 1) * part_frames):
                before, after = max(t - 1, 0), min(t + 1, frames - 1)
                in_time = np.float32(1) / np.float32(max(after - before, 1))
                for y in range(sy * part, (sy + 1) * part):
                    above, below = max(y - 1, 0), min(y + 1, height - 1)
                    down = np.float32(1) / np.float32(max(below - above, 1))
                    row, row_above, row_below = volume[t, y], volume[t, above], volume[t, below]
                    row_before, row_after = volume[before, y], volume[after, y]
                    for sx in range(means.shape[2]):
                        first, last = sx * part, (sx + 1) * part - 1
                        # neighbouring central differences telescope: only the two ends remain in their sum
                        across = row[min(last + 1, width - 1)] + row[last] - row[first] - row[max(first - 1, 0)]
                        if first == 0:  # a one-sided difference counts in full
                            across += row[1] - row[0]
                        if last == width - 1:
                            across += row[width - 1] - row[width - 2]
                        dy, dt = np.float32(0), np.float32(0)
                        for x in range(first, last + 1):
                            dy += row_below[x] - row_above[x]
                            dt += row_after[x] - row_before[x]
                        means[st, sy, sx, 0] += np.float32(0.5) * across
                        means[st, sy, sx, 1] += dy * down
                        means[st, sy, sx, 2] += dt * in_time
    means /= np.float32(part_frames * part * part)


@njit(cache=True)
def _count_directions(means: Any, axes: Any, threshold: Any, signed: bool, histograms: Any) -> None:
    shares = np.zeros(len(axes), dtype=np.float32)
    for t in range(means.shape[0]):
        for y in range(means.shape[1]):
            for x in range(means.shape[2]):
                gx, gy, gt = means[t, y, x, 0], means[t, y, x, 1], means[t, y, x, 2]
                length = np.sqrt(gx * gx + gy * gy + gt * gt)
                if length < 1e-6:  # rounding, not motion
                    continue
                total = np.float32(0)
                for d in range(len(axes)):
                    cosine = (axes[d, 0] * gx + axes[d, 1] * gy + axes[d, 2] * gt) / length
                    if not signed:
                        cosine = abs(cosine)
                    shares[d] = max(cosine - threshold, np.float32(0))
                    total += shares[d] * shares[d]
                scale = length / np.sqrt(total)  # some axis is always nearer than the threshold
                cell = histograms[t // 2, y // 2, x // 2]
                for d in range(len(axes)):
                    cell[d] += shares[d] * scale


@njit(cache=True)
def _gather_blocks(cells: Any, block_time: int, block: int, blocks: Any) -> None:
    run = block * cells.shape[3]  # the cells of one row of a block are contiguous
    for t in range(blocks.shape[0]):
        for y in range(blocks.shape[1]):
            for x in range(blocks.shape[2]):
                values = blocks[t, y, x]
                k = 0
                for i in range(block_time):
                    for j in range(block):
                        row = cells[t + i, y + j].reshape(-1)
                        for d in range(run):  # assigning slices would take numba seconds to compile
                            values[k + d] = row[x * cells.shape[3] + d]
                        k += run
                _to_length_one(values)
                for d in range(len(values)):
                    values[d] = min(values[d], np.float32(0.2))
                _to_length_one(values)


@njit(cache=True)
def _to_length_one(values: Any) -> None:
    squared = np.dot(values, values)
    if squared > 0.0:
        scale = np.float32(1.0 / np.sqrt(squared))
        for d in range(len(values)):
            values[d] *= scale
