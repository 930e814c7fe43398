"""The canvas that scenes are painted on, back to front.

It holds float RGB planes, the light that every colour passes through, and the words for what was painted. Shapes are
given in pixels, antialiased, textured by the canvas's grain and hazed by their depth (0 is near, 1 is the horizon).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TypedDict, Unpack

import cv2
import numpy as np

from mediarank.collections.demo.paint.light import Colour, Light, mix, rgb
from mediarank.collections.demo.paint.textures import fractal
from mediarank.types import Floats

Points = Sequence[tuple[float, float]] | Floats
TILE = 192
CIRCLE: Floats = np.asarray(
    [(np.cos(turn), np.sin(turn)) for turn in np.linspace(0, 2 * np.pi, 28, endpoint=False)], np.float32
)
SHIFT = 4  # sub-pixel bits of OpenCV's polygon corners


class Finish(TypedDict, total=False):
    """How a shape is painted; every key is optional.

    depth : 0 near to 1 at the horizon
    texture : how strongly the grain shows
    rounded : shading of an upright cylinder, 0 to 1
    glow : the colour is light itself, neither shaded nor hazed
    opacity : 0 to 1
    """

    depth: float
    texture: float
    rounded: float
    glow: bool
    opacity: float


class Canvas:
    def __init__(self, rng: np.random.Generator, height: int, width: int, light: Light) -> None:
        self.rng = rng
        self.height = height
        self.width = width
        self.light = light
        self.planes: Floats = np.zeros((3, height, width), np.float32)
        self.words: list[str] = []

    # Textures are made when first needed: a sprite's canvas hardly needs any.
    @cached_property
    def grain(self) -> Floats:
        """Fine noise that shows on every textured surface."""
        return fractal(self.rng, self.height, self.width, cells=42, octaves=3)

    @cached_property
    def streaks(self) -> Floats:
        """Noise stretched upright, for standing and round things: bark, walls, cloth."""
        return fractal(self.rng, self.height, self.width, cells=10, octaves=3, stretch=0.15)

    @cached_property
    def tile(self) -> Floats:
        """A square of noise to lay on planes that recede."""
        return fractal(self.rng, TILE, TILE, cells=12, octaves=4)

    @property
    def unit(self) -> float:
        """The shorter side, which sizes are given relative to."""
        return float(min(self.height, self.width))

    def say(self, *words: str) -> None:
        """Note what has been painted, the most obvious words first."""
        self.words += [w for w in words if w not in self.words]

    def lit(self, colour: Colour, depth: float = 0.0) -> Floats:
        """A surface's colour as seen in this light and at this depth: (3, 1, 1)."""
        red, green, blue = self.light.ambient
        seen = (colour[0] * red, colour[1] * green, colour[2] * blue)
        return rgb(mix(seen, self.light.haze, self.light.haze_strength * depth))

    def blend(self, left: int, top: int, mask: Floats, paint: Floats) -> None:
        """Blend `paint` (3 × rows × columns, or broadcast to it) over the planes; `mask` is its opacity."""
        region = self.planes[:, top : top + mask.shape[0], left : left + mask.shape[1]]
        change = paint - region
        change *= mask
        region += change

    def polygon(self, points: Points, colour: Colour, **finish: Unpack[Finish]) -> None:
        """A filled polygon in pixels."""
        self.polygons([np.asarray(points, np.float32)], colour, **finish)

    def polygons(self, shapes: Sequence[Floats], colour: Colour, **finish: Unpack[Finish]) -> None:
        """Filled polygons of one colour, painted at once."""
        x, y, across, down = cv2.boundingRect(shapes[0] if len(shapes) == 1 else np.concatenate(shapes))
        box = self._box(x, y, x + across, y + down)
        if box is None:
            return
        left, top, right, bottom = box
        cover = np.zeros((bottom - top, right - left), np.uint8)
        origin = np.asarray((left, top), np.float32)
        for shape in shapes:
            inside = np.rint((shape - origin) * np.float32(1 << SHIFT)).astype(np.int32)
            cv2.fillPoly(cover, [inside], 255, cv2.LINE_AA, SHIFT)
        mask = cover.astype(np.float32)
        mask *= np.float32(finish.get("opacity", 1.0) / 255.0)
        if finish.get("glow"):
            self.blend(left, top, mask, rgb(colour))
            return
        paint = self.lit(colour, finish.get("depth", 0.0))
        texture, rounded = finish.get("texture", 0.0), finish.get("rounded", 0.0)
        if texture or rounded:
            paint = paint * self._shading(box, texture, rounded)
        self.blend(left, top, mask, paint)

    def ellipse(self, x: float, y: float, across: float, down: float, colour: Colour, **finish: Unpack[Finish]) -> None:
        """A filled ellipse with these half-axes."""
        self.polygon(CIRCLE * np.asarray((across, down), np.float32) + np.asarray((x, y), np.float32), colour, **finish)

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        thickness: float,
        colour: Colour,
        *,
        taper: float = 1.0,
        **finish: Unpack[Finish],
    ) -> None:
        """A straight stroke; `taper` is the thickness at its end as a share of that at its start."""
        (x0, y0), (x1, y1) = start, end
        length = max(float(np.hypot(x1 - x0, y1 - y0)), 1e-3)
        across, down = -(y1 - y0) / length * thickness / 2, (x1 - x0) / length * thickness / 2
        one_side = [(x0 + across, y0 + down), (x1 + across * taper, y1 + down * taper)]
        other_side = [(x1 - across * taper, y1 - down * taper), (x0 - across, y0 - down)]
        self.polygon(one_side + other_side, colour, **finish)

    def tuft(
        self,
        x: float,
        y: float,
        across: float,
        down: float,
        colour: Colour,
        *,
        depth: float = 0.0,
        ragged: float = 0.35,
        texture: float = 0.22,
    ) -> None:
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
        self.blend(left, top, mask, self.lit(colour, depth) * shade)

    def halo(self, x: float, y: float, radius: float, colour: Colour, strength: float) -> None:
        """Light that fades away from a lamp, a fire or the moon."""
        box = self._box(x - 2 * radius, y - 2 * radius, x + 2 * radius, y + 2 * radius)
        if box is None:
            return
        left, top, right, bottom = box
        dx = (np.arange(left, right, dtype=np.float32) - x)[None, :] / max(radius, 0.5)
        dy = (np.arange(top, bottom, dtype=np.float32) - y)[:, None] / max(radius, 0.5)
        mask = np.exp(-1.5 * dx * dx) * np.exp(-1.5 * dy * dy) * np.float32(strength)
        self.blend(left, top, mask, rgb(colour))

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
            paint = paint * (1.0 + texture * self.grain[top:bottom])
        self.blend(0, top, mask, paint)

    def warp(self, picture: Floats, corners: Points, *, depth: float = 0.0) -> None:
        """Paint a picture (rows × columns × 3, already lit) onto four corners, clockwise from the upper left."""
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
        planes = np.stack(cv2.split(seen))
        planes += (rgb(self.light.haze) - planes) * np.float32(depth * self.light.haze_strength)
        self.blend(left, top, cover.astype(np.float32) * np.float32(1 / 255), planes)

    def _box(self, left: float, top: float, right: float, bottom: float) -> tuple[int, int, int, int] | None:
        """The pixels that a shape with these bounds may touch, or None if it lies outside the picture."""
        x0, y0 = max(0, math.floor(left) - 1), max(0, math.floor(top) - 1)
        x1, y1 = min(self.width, math.ceil(right) + 2), min(self.height, math.ceil(bottom) + 2)
        return (x0, y0, x1, y1) if x1 > x0 and y1 > y0 else None

    def _shading(self, box: tuple[int, int, int, int], texture: float, rounded: float) -> Floats:
        left, top, right, bottom = box
        shade = 1.0 + texture * (self.streaks if rounded else self.grain)[top:bottom, left:right]
        if rounded:
            across = np.linspace(-1, 1, right - left, dtype=np.float32)[None, :]
            side = -1.0 if self.light.sun[0] * self.width < (left + right) / 2 else 1.0
            shade = shade * (1.0 + rounded * (0.3 * side * across - 0.35 * across * across))
        return np.asarray(np.maximum(shade, 0.1), np.float32)
