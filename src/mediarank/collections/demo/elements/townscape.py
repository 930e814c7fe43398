"""Pieces of towns: facades with windows, towers, people, street lamps, signs."""

from __future__ import annotations

import numpy as np

from mediarank.collections.demo.paint.canvas import Canvas
from mediarank.collections.demo.paint.light import Colour, pick, times, vary
from mediarank.collections.demo.paint.pen import Pen
from mediarank.types import Floats

WALLS: tuple[Colour, ...] = (
    (0.62, 0.36, 0.28),
    (0.80, 0.72, 0.58),
    (0.66, 0.64, 0.60),
    (0.50, 0.48, 0.48),
    (0.86, 0.82, 0.74),
    (0.72, 0.54, 0.36),
    (0.58, 0.66, 0.70),
    (0.84, 0.62, 0.52),
)


TOWERS: tuple[Colour, ...] = (
    (0.44, 0.50, 0.56),
    (0.36, 0.38, 0.42),
    (0.62, 0.60, 0.56),
    (0.52, 0.44, 0.40),
    (0.28, 0.36, 0.44),
    (0.70, 0.68, 0.66),
)


CLOTHES: tuple[Colour, ...] = (
    (0.70, 0.18, 0.18),
    (0.18, 0.26, 0.48),
    (0.20, 0.20, 0.22),
    (0.86, 0.84, 0.80),
    (0.80, 0.60, 0.20),
    (0.24, 0.44, 0.32),
)


LAMPLIGHT: Colour = (1.0, 0.84, 0.52)


ASPHALT: Colour = (0.30, 0.30, 0.31)


def facade(canvas: Canvas, floors: int, bays: int, wall: Colour, *, pane: float = 0.5, cell: int = 12) -> Floats:
    """A lit picture of a wall with a grid of windows, `cell` pixels for a bay and a floor.

    pane : a window's share of its cell, in both directions (1 is a glass curtain)
    """
    rng, light = canvas.rng, canvas.light
    centred = np.abs((np.arange(cell) + 0.5) / cell - 0.5) * 2
    column, row = (centred < pane).astype(np.float32), (centred < min(0.95, pane + 0.15)).astype(np.float32)
    mask = np.tile(np.outer(row, column), (floors, bays))[:, :, None]
    shine = rng.uniform(0.35, 1.0, (floors, bays, 1)).astype(np.float32)
    glass = canvas.lit((0.24, 0.30, 0.36)).reshape(3) * (0.6 + 0.5 * shine)
    glass = glass + 0.22 * shine**4 * np.asarray(light.horizon, np.float32)
    burning = (rng.random((floors, bays, 1)) < light.lamps * rng.uniform(0.25, 0.65)).astype(np.float32)
    glass = glass + (np.asarray(LAMPLIGHT, np.float32) * (0.55 + 0.45 * shine) - glass) * burning
    windows = glass.repeat(cell, axis=0).repeat(cell, axis=1)
    courses = 1.0 + 0.05 * rng.standard_normal((floors * cell, 1, 1), dtype=np.float32)
    wear = 1.0 + 0.04 * rng.standard_normal((floors * cell, bays * cell, 1), dtype=np.float32)
    bricks = canvas.lit(wall).reshape(3) * courses * wear
    return np.asarray(bricks + (windows - bricks) * mask, np.float32)


def tower(canvas: Canvas, left: float, base: float, wide: float, tall: float, *, depth: float) -> None:
    """A building seen square on, standing on row `base`."""
    rng = canvas.rng
    cell = int(rng.integers(6, 11))
    floors, bays = max(2, round(tall / rng.uniform(6, 11))), max(2, round(wide / rng.uniform(6, 11)))
    wall = pick(rng, TOWERS + WALLS[:4])
    front = facade(canvas, min(floors, 60), min(bays, 30), wall, pane=rng.uniform(0.35, 0.85), cell=min(cell, 8))
    across = np.linspace(0, 1, front.shape[1], dtype=np.float32)[None, :, None]
    lean = 1.0 if canvas.light.sun[0] * canvas.width > left + wide / 2 else -1.0
    front *= 1.0 + 0.12 * lean * (across - 0.5)
    top = base - tall
    canvas.warp(front, [(left, top), (left + wide, top), (left + wide, base), (left, base)], depth=depth)
    crown = rng.random()
    middle = left + wide / 2
    if crown < 0.2:
        canvas.polygon([(left, top), (middle, top - 0.5 * wide), (left + wide, top)], times(wall, 0.8), depth=depth)
    elif crown < 0.4:
        canvas.polygon(
            [
                (left + 0.2 * wide, top + 1),
                (left + 0.2 * wide, top - 0.2 * wide),
                (left + 0.8 * wide, top - 0.2 * wide),
                (left + 0.8 * wide, top + 1),
            ],
            times(wall, 0.9),
            depth=depth,
        )
    elif crown < 0.55:
        canvas.line((middle, top), (middle, top - 0.9 * wide), max(1.0, 0.05 * wide), (0.3, 0.3, 0.32), depth=depth)


def person(pen: Pen, stride: float = 0.1) -> None:
    """Someone on foot; `stride` is how far the feet are apart."""
    coat, legs = pick(pen.rng, CLOTHES), times(pick(pen.rng, CLOTHES), 0.6)
    skin = vary(pen.rng, (0.70, 0.52, 0.40), 0.1)
    pen.line((-stride, 0), (0, 0.48), 0.1, legs)
    pen.line((stride, 0), (0, 0.48), 0.1, legs)
    pen.polygon([(-0.13, 0.84), (0.13, 0.84), (0.11, 0.42), (-0.11, 0.42)], coat, rounded=0.5)
    pen.ellipse(0, 0.92, 0.075, 0.085, skin)


def street_lamp(pen: Pen) -> None:
    pole: Colour = (0.22, 0.23, 0.25)
    pen.line((0, 0), (0, 0.95), 0.03, pole, taper=0.6)
    pen.line((0, 0.95), (0.18, 0.98), 0.025, pole)
    lit = pen.canvas.light.lamps
    if lit > 0.2:
        pen.halo(0.18, 0.94, 0.25, LAMPLIGHT, 0.7 * lit)
        pen.ellipse(0.18, 0.95, 0.07, 0.05, (1.0, 0.94, 0.78), glow=True)
    else:
        pen.ellipse(0.18, 0.96, 0.06, 0.03, (0.8, 0.8, 0.78))


def signboard(pen: Pen) -> None:
    colour = pick(pen.rng, ((0.10, 0.42, 0.24), (0.12, 0.28, 0.60), (0.85, 0.85, 0.82), (0.80, 0.62, 0.10)))
    pen.line((-0.22, 0), (-0.22, 0.6), 0.04, (0.5, 0.5, 0.5))
    pen.line((0.22, 0), (0.22, 0.6), 0.04, (0.5, 0.5, 0.5))
    pen.box(-0.5, 0.5, 0.5, 1.0, (0.93, 0.93, 0.93))
    pen.box(-0.47, 0.53, 0.47, 0.97, colour)
    for row in (0.64, 0.8):
        pen.line((-0.36, row), (float(pen.rng.uniform(0.0, 0.36)), row), 0.06, (0.95, 0.95, 0.95))
