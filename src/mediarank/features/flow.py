"""Statistics of optical flow: where, how fast and in which directions a clip moves.

1. Frames are made grey and small; dense inverse search (Kroeger et al. 2016, in OpenCV) gives the flow between
   neighbouring frames, in shares of the frame's longer side.
2. The median flow of a pair of frames counts as the camera's and is subtracted.
3. Counted are: directions of what is left, weighted by speed, in cells of the frame; speeds, in steps that double;
   directions of the gradients of both flow components (motion boundaries, Dalal et al. 2006); speeds of the camera.

Each histogram is normalised by itself, so that none outweighs the others. Directions and boundaries say what moves
how, speeds say whether anything moves at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar, Final

import cv2
import numpy as np
import numpy.typing as npt
from pydantic import Field

from mediarank.features.base import Count, Extractor, Modality
from mediarank.features.hog3d import Clip, require_clip
from mediarank.features.normalise import Normalisation, normalised
from mediarank.features.pixels import grey, resized
from mediarank.types import Doubles, Floats

SPEEDS: Final = 0.002 * 2.0 ** np.arange(7)
"""Edges of the bins of speed, in sides per frame: from a fifth of a pixel of 96 to 12 pixels."""
_SMALLEST: Final = 32
"""Dense inverse search needs some pixels."""


@dataclass(frozen=True)
class Flow(Extractor):
    """Optical-flow statistics.

    side : frames are resized so that this is their longer side
    cells : along each side of the frame, whose directions are counted separately
    bins : of directions
    normalisation : of each histogram
    """

    modality: ClassVar[Modality] = "clip"
    side: Annotated[int, Field(ge=_SMALLEST, le=640)] = 96
    cells: Count = 2
    bins: Annotated[int, Field(ge=2)] = 8
    normalisation: Normalisation = "sqrt"

    def names(self) -> tuple[str, ...]:
        cells = [f"cell{y}.{x}/d{d}" for y, x, d in np.ndindex(self.cells, self.cells, self.bins)]
        boundaries = [f"boundary_{axis}/d{d}" for axis in ("across", "down") for d in range(self.bins)]
        speeds = [f"{what}{s}" for what in ("speed", "camera") for s in range(len(SPEEDS) + 1)]
        return (*cells, *boundaries, *speeds)

    def extract(self, medium: Clip) -> Floats:
        clip = require_clip(medium)
        cells = np.zeros((self.cells, self.cells, self.bins))
        boundaries = np.zeros((2, self.bins))
        speeds, camera = np.zeros((2, len(SPEEDS) + 1))
        for flow in self.flows(clip):
            median = np.median(flow, axis=(0, 1))
            camera += _speeds(np.hypot(*median))
            own = flow - median
            speed = np.hypot(own[..., 0], own[..., 1])
            speeds += _speeds(speed)
            own[speed < SPEEDS[0]] = 0  # noise, not motion
            for y, rows in enumerate(np.array_split(own, self.cells)):
                for x, part in enumerate(np.array_split(rows, self.cells, axis=1)):
                    cells[y, x] += self._directions(part[..., 0], part[..., 1])
            for axis in range(2):
                down, across = np.gradient(own[..., axis])
                boundaries[axis] += self._directions(across, down)
        blocks = (cells.ravel(), *boundaries, speeds, camera)
        return np.concatenate([normalised(block, self.normalisation) for block in blocks])

    def flows(self, clip: Clip) -> list[Floats]:
        """(height / 2, width / 2, 2) flow across and down between neighbouring frames, in shares of the longer side."""
        height, width = clip.shape[1:3]
        scale = self.side / max(height, width)
        height, width = (max(_SMALLEST, round(length * scale)) for length in (height, width))
        frames = [resized(grey(np.ascontiguousarray(frame)), height, width) for frame in clip]
        search = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST)
        search.setFinestScale(1)  # flow of every second pixel, which is all that is counted
        pairs = [search.calc(before, after, None)[::2, ::2] for before, after in pairwise(frames)]
        return [flow / np.float32(self.side) for flow in pairs]

    def _directions(self, across: Floats, down: Floats) -> Doubles:
        """How much points in each direction; the first bin is centred on pointing right."""
        angle = np.arctan2(down, across) * (self.bins / (2 * np.pi))
        directions = np.rint(angle).astype(np.intp).ravel() % self.bins
        return np.asarray(np.bincount(directions, np.hypot(across, down).ravel(), self.bins), dtype=np.float64)


def _speeds(speed: Floats) -> npt.NDArray[np.intp]:
    return np.bincount(np.searchsorted(SPEEDS, np.ravel(speed), side="right"), minlength=len(SPEEDS) + 1)
