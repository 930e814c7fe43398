"""The actors of clips: props drawn once and then only moved, discs and sparks."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from mediarank.collections.demo.paint.canvas import Canvas
from mediarank.collections.demo.paint.light import Colour, Light
from mediarank.collections.demo.paint.pen import Pen
from mediarank.types import Floats


@dataclass(frozen=True)
class Stage:
    """Where an action happens: the frame's size, the light on it, its length, and a random stream."""

    rng: np.random.Generator
    height: int
    width: int
    light: Light
    seconds: float


class Sprite:
    """A prop drawn once: a premultiplied picture and, as a fourth channel, its opacity."""

    def __init__(
        self, stage: Stage, draw: Callable[[Pen], None], scale: float, *, wide: float, mirror: bool = False
    ) -> None:
        height, width = int(1.5 * scale) + 4, int(wide * scale) + 4
        seed = int(stage.rng.integers(2**32))
        seen = []
        for background in (0.0, 1.0):
            # The same stream on two backgrounds: the difference of the two drawings gives the opacity.
            canvas = Canvas(np.random.default_rng(seed), height, width, stage.light)
            canvas.planes[:] = background
            draw(Pen(canvas, width / 2, height - 2 - 0.1 * scale, scale, mirror=mirror))
            seen.append(canvas.planes)
        cover = 1.0 - np.clip(seen[1] - seen[0], 0.0, 1.0).mean(axis=0, keepdims=True)
        self.picture: Floats = np.ascontiguousarray(np.concatenate([seen[0], cover]).transpose(1, 2, 0))
        self.foot = (width / 2, height - 2 - 0.1 * scale)

    def paste(self, frame: Floats, x: float, y: float, angle: float = 0.0) -> None:
        """Place the sprite with its foot at (x, y), turned by `angle` degrees."""
        height, width = self.picture.shape[:2]
        matrix = cv2.getRotationMatrix2D(self.foot, angle, 1.0)
        left, top = int(np.floor(x - width / 2)) - 2, int(np.floor(y - height)) - 2
        matrix[:, 2] += (x - left - self.foot[0], y - top - self.foot[1])
        size = (width + 4, height + 4)
        picture = cv2.warpAffine(self.picture, matrix, size)
        x0, y0 = max(0, left), max(0, top)
        x1, y1 = min(frame.shape[1], left + size[0]), min(frame.shape[0], top + size[1])
        if x1 <= x0 or y1 <= y0:
            return
        seen = picture[y0 - top : y1 - top, x0 - left : x1 - left]
        region = frame[y0:y1, x0:x1]
        region *= 1.0 - seen[:, :, 3:]
        region += seen[:, :, :3]


def disc(frame: Floats, x: float, y: float, radius: float, colour: Colour) -> None:
    """A small soft disc, painted over the frame."""
    reach = int(radius) + 2
    left, top = int(x) - reach, int(y) - reach
    x0, y0 = max(0, left), max(0, top)
    x1, y1 = min(frame.shape[1], left + 2 * reach + 1), min(frame.shape[0], top + 2 * reach + 1)
    if x1 <= x0 or y1 <= y0:
        return
    dx, dy = np.arange(x0, x1, dtype=np.float32)[None, :] - x, np.arange(y0, y1, dtype=np.float32)[:, None] - y
    cover = np.clip(radius + 0.5 - np.sqrt(dx * dx + dy * dy), 0.0, 1.0)[:, :, None].astype(np.float32)
    region = frame[y0:y1, x0:x1]
    region += cover * (np.asarray(colour, np.float32) - region)


def sparks(frame: Floats, x: Floats, y: Floats, radius: float, colour: Colour) -> None:
    """Points of light about a pixel wide, added to the frame; those outside it are left out."""
    shine = np.asarray(colour, np.float32)
    for dx, dy in itertools.product((-1, 0, 1), repeat=2):
        column, row = np.rint(x).astype(int) + dx, np.rint(y).astype(int) + dy
        inside = (column >= 0) & (column < frame.shape[1]) & (row >= 0) & (row < frame.shape[0])
        light = np.exp(-((column - x) ** 2 + (row - y) ** 2) / (2 * radius * radius)).astype(np.float32)
        np.add.at(frame, (row[inside], column[inside]), light[inside, None] * shine)
