"""The canvas that scenes are painted on, back to front.

It holds float RGB pixels, the light that every colour passes through, and the words for what was painted. Shapes are
given in pixels, antialiased, textured by the canvas's grain and hazed by their depth (0 is near, 1 is the horizon).
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from mediarank.collections.demo.light import Colour, Light
from mediarank.collections.demo.textures import fractal
from mediarank.types import Floats

Points = Sequence[tuple[float, float]] | Floats
SHIFT = 4  # sub-pixel bits of OpenCV's polygon corners


class Canvas:
    def __init__(self, rng: np.random.Generator, height: int, width: int, light: Light) -> None:
        self.rng = rng
        self.height = height
        self.width = width
        self.light = light
        self.pixels: Floats = np.zeros((height, width, 3), np.float32)
        self.grain = fractal(rng, height, width, cells=42, octaves=3)
        self.streaks = fractal(rng, height, width, cells=10, octaves=3, stretch=0.15)
        self.words: list[str] = []

    @property
    def unit(self) -> float:
        """The shorter side: what sizes of things are shares of, whatever the picture's shape."""
        return float(min(self.height, self.width))

    def say(self, *words: str) -> None:
        """Note what has been painted; the first words are the ones a labeller would think of first."""
        self.words += [w for w in words if w not in self.words]

    def lit(self, colour: Colour, depth: float = 0.0) -> Floats:
        """A surface's colour as seen in this light from this far."""
        seen = np.asarray(colour, np.float32) * np.asarray(self.light.ambient, np.float32)
        share = np.float32(self.light.haze_strength * depth)
        return np.asarray(seen + (np.asarray(self.light.haze, np.float32) - seen) * share, np.float32)

    def blend(self, left: int, top: int, mask: Floats, paint: Floats) -> None:
        """Lay `paint` (a colour, or a picture as large as the mask) over the pixels, `mask` saying how thick."""
        region = self.pixels[top : top + mask.shape[0], left : left + mask.shape[1]]
        region += mask[:, :, None] * (paint - region)

    def polygon(
        self,
        points: Points,
        colour: Colour,
        *,
        depth: float = 0.0,
        texture: float = 0.0,
        rounded: float = 0.0,
        glow: bool = False,
        opacity: float = 1.0,
    ) -> None:
        """A filled polygon in pixel coordinates.

        texture : how strongly the canvas's grain shows; rounded : shading of an upright cylinder, 0 to 1
        glow : the colour is light itself, neither shaded nor hazed
        """
        corners = np.asarray(points, np.float32)
        box = self._box(*corners.min(axis=0), *corners.max(axis=0))
        if box is None:
            return
        left, top, right, bottom = box
        cover = np.zeros((bottom - top, right - left), np.uint8)
        inside = np.round((corners - (left, top)) * (1 << SHIFT)).astype(np.int32)
        cv2.fillPoly(cover, [inside], 255, cv2.LINE_AA, SHIFT)
        mask = cover.astype(np.float32) * np.float32(opacity / 255.0)
        paint = np.asarray(colour, np.float32) if glow else self.lit(colour, depth)
        if texture or rounded:
            paint = paint * self._shading(box, texture, rounded)[:, :, None]
        self.blend(left, top, mask, paint)

    def ellipse(
        self, x: float, y: float, across: float, down: float, colour: Colour, *, depth: float = 0.0,
        texture: float = 0.0, rounded: float = 0.0, glow: bool = False, opacity: float = 1.0,
    ) -> None:  # fmt: skip
        """A filled ellipse with these half-axes."""
        turn = np.linspace(0, 2 * np.pi, 28, endpoint=False)
        points = np.stack([x + across * np.cos(turn), y + down * np.sin(turn)], axis=1).astype(np.float32)
        self.polygon(
            points, colour, depth=depth, texture=texture, rounded=rounded, glow=glow, opacity=opacity
        )  # fmt: skip

    def line(
        self, start: tuple[float, float], end: tuple[float, float], thickness: float, colour: Colour, *,
        depth: float = 0.0, glow: bool = False, opacity: float = 1.0, taper: float = 1.0,
    ) -> None:  # fmt: skip
        """A straight stroke; `taper` is the thickness at its end as a share of that at its start."""
        (x0, y0), (x1, y1) = start, end
        length = max(float(np.hypot(x1 - x0, y1 - y0)), 1e-3)
        across, down = -(y1 - y0) / length * thickness / 2, (x1 - x0) / length * thickness / 2
        corners = [
            (x0 + across, y0 + down), (x1 + across * taper, y1 + down * taper),
            (x1 - across * taper, y1 - down * taper), (x0 - across, y0 - down),
        ]  # fmt: skip
        self.polygon(corners, colour, depth=depth, glow=glow, opacity=opacity)

    def tuft(
        self, x: float, y: float, across: float, down: float, colour: Colour, *, depth: float = 0.0,
        ragged: float = 0.35, texture: float = 0.22,
    ) -> None:  # fmt: skip
        """A clump with a ragged edge, lit from above: foliage, bushes, rocks, smoke."""
        box = self._box(x - across * 1.3, y - down * 1.3, x + across * 1.3, y + down * 1.3)
        if box is None:
            return
        left, top, right, bottom = box
        dx = (np.arange(left, right, dtype=np.float32) - x)[None, :] / max(across, 0.5)
        dy = (np.arange(top, bottom, dtype=np.float32) - y)[:, None] / max(down, 0.5)
        grain = self.grain[top:bottom, left:right]
        edge = 1.0 - np.sqrt(dx * dx + dy * dy) + ragged * 0.5 * grain
        mask = np.clip(edge * (0.6 * min(across, down) + 1.0), 0.0, 1.0)
        side = -0.12 if self.light.sun[0] < x / self.width else 0.12
        shade = np.clip(1.0 - 0.30 * dy + side * dx + texture * grain, 0.25, 1.7)
        self.blend(left, top, mask, self.lit(colour, depth) * shade[:, :, None])

    def below(
        self, line: Floats, paint: Floats, *, bottom: int | None = None, texture: float = 0.0, soft: float = 1.0
    ) -> None:
        """Paint everything from `line` (a row for each column) down to `bottom`: hills, ridges, tree lines."""
        top = max(0, int(np.floor(line.min())))
        bottom = self.height if bottom is None else min(bottom, self.height)
        if bottom <= top:
            return
        rows = np.arange(top, bottom, dtype=np.float32)[:, None]
        mask = np.clip((rows - line[None, :]) / soft + 0.5, 0.0, 1.0)
        if texture:
            paint = paint * (1.0 + texture * self.grain[top:bottom, :, None])
        self.blend(0, top, mask, paint)

    def warp(self, picture: Floats, corners: Points, *, depth: float = 0.0) -> None:
        """A rectangular picture (already lit) onto the quadrilateral top-left, top-right, bottom-right, bottom-left."""
        quad = np.asarray(corners, np.float32)
        box = self._box(*quad.min(axis=0), *quad.max(axis=0))
        if box is None:
            return
        left, top, right, bottom = box
        height, width = picture.shape[:2]
        source = np.asarray([(0, 0), (width, 0), (width, height), (0, height)], np.float32)
        matrix = cv2.getPerspectiveTransform(source, quad - np.asarray((left, top), np.float32))
        shape = (right - left, bottom - top)
        seen = cv2.warpPerspective(picture, matrix, shape, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        cover = np.zeros(shape[::-1], np.uint8)
        cv2.fillPoly(cover, [np.round((quad - (left, top)) * (1 << SHIFT)).astype(np.int32)], 255, cv2.LINE_AA, SHIFT)
        haze = np.asarray(self.light.haze, np.float32)
        seen = seen + (haze - seen) * np.float32(depth * self.light.haze_strength)
        self.blend(left, top, cover.astype(np.float32) / 255.0, seen)

    def _box(self, left: float, top: float, right: float, bottom: float) -> tuple[int, int, int, int] | None:
        """The pixels that a shape with these bounds may touch, or None if it lies outside the picture."""
        x0, y0 = max(0, int(np.floor(left)) - 1), max(0, int(np.floor(top)) - 1)
        x1, y1 = min(self.width, int(np.ceil(right)) + 2), min(self.height, int(np.ceil(bottom)) + 2)
        return (x0, y0, x1, y1) if x1 > x0 and y1 > y0 else None

    def _shading(self, box: tuple[int, int, int, int], texture: float, rounded: float) -> Floats:
        left, top, right, bottom = box
        shade = 1.0 + texture * (self.streaks if rounded else self.grain)[top:bottom, left:right]
        if rounded:
            across = np.linspace(-1, 1, right - left, dtype=np.float32)[None, :]
            side = -1.0 if self.light.sun[0] * self.width < (left + right) / 2 else 1.0
            shade = shade * (1.0 + rounded * (0.3 * side * across - 0.35 * across * across))
        return np.asarray(np.maximum(shade, 0.1), np.float32)
