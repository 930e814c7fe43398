"""The pen that props are drawn with, in a prop's own coordinates: the origin at its foot, y upwards, height one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Unpack

import numpy as np

from mediarank.collections.demo.paint.canvas import CIRCLE, Canvas, Finish, Points
from mediarank.collections.demo.paint.light import Colour
from mediarank.types import Floats


@dataclass(frozen=True)
class Pen:
    """Stands at (x, y) of the canvas; `scale` pixels are one unit of the prop."""

    canvas: Canvas
    x: float
    y: float
    scale: float
    depth: float = 0.0
    angle: float = 0.0
    mirror: bool = False

    @property
    def rng(self) -> np.random.Generator:
        return self.canvas.rng

    def resized(self, factor: float) -> Pen:
        return replace(self, scale=self.scale * factor)

    def at(self, points: Points) -> Floats:
        """Pixel coordinates of points of the prop."""
        turn, origin = self._frame
        return np.asarray(points, np.float32) @ turn + origin

    @cached_property
    def _frame(self) -> tuple[Floats, Floats]:
        """The matrix that turns and scales the prop's coordinates, and its origin."""
        cos, sin = math.cos(self.angle) * self.scale, math.sin(self.angle) * self.scale
        flip = -1.0 if self.mirror else 1.0
        turn = np.array([(flip * cos, -flip * sin), (-sin, -cos)], np.float32)
        return turn, np.array((self.x, self.y), np.float32)

    def polygon(self, points: Points, colour: Colour, **finish: Unpack[Finish]) -> None:
        finish.setdefault("depth", self.depth)
        finish.setdefault("texture", 0.06)
        self.canvas.polygon(self.at(points), colour, **finish)

    def box(
        self, left: float, bottom: float, right: float, top: float, colour: Colour, **finish: Unpack[Finish]
    ) -> None:
        self.polygon([(left, bottom), (right, bottom), (right, top), (left, top)], colour, **finish)

    def ellipse(self, x: float, y: float, across: float, up: float, colour: Colour, **finish: Unpack[Finish]) -> None:
        self.polygon(CIRCLE * np.asarray((across, up), np.float32) + np.asarray((x, y), np.float32), colour, **finish)

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        thickness: float,
        colour: Colour,
        *,
        taper: float = 1.0,
        glow: bool = False,
    ) -> None:
        (x0, y0), (x1, y1) = self.at([start, end]).tolist()
        # Lines thinner than a pixel would flicker; a faint pixel is what a lens would show.
        wide = max(1.0, thickness * self.scale)
        faint = min(1.0, 0.35 + thickness * self.scale)
        self.canvas.line((x0, y0), (x1, y1), wide, colour, depth=self.depth, glow=glow, taper=taper, opacity=faint)

    def tuft(
        self,
        x: float,
        y: float,
        across: float,
        up: float,
        colour: Colour,
        *,
        ragged: float = 0.35,
        texture: float = 0.22,
    ) -> None:
        ((px, py),) = self.at([(x, y)]).tolist()
        self.canvas.tuft(
            px, py, across * self.scale, up * self.scale, colour, depth=self.depth, ragged=ragged, texture=texture
        )

    def halo(self, x: float, y: float, radius: float, colour: Colour, strength: float) -> None:
        ((px, py),) = self.at([(x, y)]).tolist()
        self.canvas.halo(px, py, radius * self.scale, colour, strength)

    def shadow(self, across: float) -> None:
        """The prop's shadow on the ground."""
        self.canvas.ellipse(self.x, self.y, across * self.scale, across * self.scale * 0.22, (0, 0, 0), opacity=0.35)
