"""The pen that props are drawn with, in a prop's own coordinates: the origin at its foot, y upwards, height one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mediarank.collections.demo.canvas import Canvas, Points
from mediarank.collections.demo.light import Colour
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

    def at(self, points: Points) -> Floats:
        """Pixel coordinates of points of the prop."""
        local = np.asarray(points, np.float32) * np.asarray((-1.0 if self.mirror else 1.0, 1.0), np.float32)
        cos, sin = np.cos(self.angle), np.sin(self.angle)
        x = local[:, 0] * cos - local[:, 1] * sin
        y = local[:, 0] * sin + local[:, 1] * cos
        return np.stack([self.x + x * self.scale, self.y - y * self.scale], axis=1).astype(np.float32)

    def polygon(
        self, points: Points, colour: Colour, *, texture: float = 0.06, rounded: float = 0.0, glow: bool = False,
        opacity: float = 1.0,
    ) -> None:  # fmt: skip
        self.canvas.polygon(
            self.at(points), colour, depth=self.depth, texture=0.0 if glow else texture, rounded=rounded, glow=glow,
            opacity=opacity,
        )  # fmt: skip

    def box(self, left: float, bottom: float, right: float, top: float, colour: Colour, *, texture: float = 0.06,
            rounded: float = 0.0, glow: bool = False) -> None:  # fmt: skip
        corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
        self.polygon(corners, colour, texture=texture, rounded=rounded, glow=glow)

    def ellipse(self, x: float, y: float, across: float, up: float, colour: Colour, *, texture: float = 0.06,
                rounded: float = 0.0, glow: bool = False, opacity: float = 1.0) -> None:  # fmt: skip
        turn = np.linspace(0, 2 * np.pi, 24, endpoint=False)
        points = np.stack([x + across * np.cos(turn), y + up * np.sin(turn)], axis=1).astype(np.float32)
        self.polygon(points, colour, texture=texture, rounded=rounded, glow=glow, opacity=opacity)

    def line(self, start: tuple[float, float], end: tuple[float, float], thickness: float, colour: Colour, *,
             glow: bool = False, taper: float = 1.0) -> None:  # fmt: skip
        (x0, y0), (x1, y1) = self.at([start, end]).tolist()
        # Thinner than a pixel would flicker out of the picture; a faint pixel is what a lens would show.
        wide = max(1.0, thickness * self.scale)
        self.canvas.line(
            (x0, y0), (x1, y1), wide, colour, depth=self.depth, glow=glow, taper=taper,
            opacity=min(1.0, 0.35 + thickness * self.scale),
        )  # fmt: skip

    def tuft(self, x: float, y: float, across: float, up: float, colour: Colour, *, ragged: float = 0.35,
             texture: float = 0.22) -> None:  # fmt: skip
        (px, py), = self.at([(x, y)]).tolist()
        self.canvas.tuft(
            px, py, across * self.scale, up * self.scale, colour, depth=self.depth, ragged=ragged, texture=texture
        )  # fmt: skip

    def shadow(self, across: float) -> None:
        """What the prop throws on the ground."""
        self.canvas.ellipse(self.x, self.y, across * self.scale, across * self.scale * 0.22, (0, 0, 0), opacity=0.35)
