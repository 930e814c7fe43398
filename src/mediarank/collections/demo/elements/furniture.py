"""Furniture, drawn with a Pen; `FURNITURE` lists the pieces by their keyword."""

from __future__ import annotations

import numpy as np

from mediarank.collections.demo.elements.townscape import CLOTHES, LAMPLIGHT
from mediarank.collections.demo.paint.light import Colour, pick, times
from mediarank.collections.demo.paint.pen import Pen

PLASTER: tuple[Colour, ...] = (
    (0.86, 0.82, 0.74),
    (0.70, 0.76, 0.72),
    (0.78, 0.66, 0.54),
    (0.62, 0.66, 0.74),
    (0.90, 0.88, 0.84),
    (0.74, 0.52, 0.44),
    (0.56, 0.62, 0.50),
)


WOOD: tuple[Colour, ...] = ((0.52, 0.34, 0.20), (0.38, 0.24, 0.14), (0.66, 0.48, 0.30), (0.30, 0.20, 0.14))


def sofa(pen: Pen) -> None:
    cloth = pick(pen.rng, CLOTHES + PLASTER, 0.06)
    pen.shadow(1.1)
    pen.box(-1.0, 0.1, 1.0, 0.85, times(cloth, 0.9), texture=0.04)
    pen.box(-1.0, 0.08, 1.0, 0.42, cloth, texture=0.04)
    for x in (-1.15, 0.9):
        pen.box(x, 0.05, x + 0.25, 0.6, times(cloth, 1.1), texture=0.04, rounded=0.5)
    for x in (-0.5, 0.4):
        pen.box(x, 0.4, x + 0.35, 0.72, pick(pen.rng, CLOTHES), texture=0.06)


def table(pen: Pen) -> None:
    wood = pick(pen.rng, WOOD)
    pen.shadow(0.9)
    for x in (-0.8, 0.72, -0.6, 0.54):
        pen.box(x, 0.0 if abs(x) > 0.7 else 0.12, x + 0.07, 0.6, times(wood, 0.8))
    pen.polygon([(-0.9, 0.58), (0.9, 0.58), (0.7, 0.78), (-0.7, 0.78)], wood, texture=0.06)
    pen.box(-0.9, 0.52, 0.9, 0.59, times(wood, 0.75))
    for _ in range(int(pen.rng.integers(0, 3))):
        x = pen.rng.uniform(-0.5, 0.5)
        pen.box(x, 0.66, x + 0.12, 0.66 + pen.rng.uniform(0.1, 0.25), pick(pen.rng, CLOTHES), rounded=0.8)


def chair(pen: Pen) -> None:
    wood = pick(pen.rng, WOOD + CLOTHES)
    pen.shadow(0.4)
    for x in (-0.25, 0.2):
        pen.box(x, 0, x + 0.05, 1.0 if x < 0 else 0.45, times(wood, 0.8))
    pen.box(-0.28, 0.42, 0.28, 0.5, wood)
    pen.box(-0.28, 0.65, 0.0, 1.0, wood)


def shelf(pen: Pen) -> None:
    wood = pick(pen.rng, WOOD)
    pen.box(-0.5, 0, 0.5, 1.5, times(wood, 0.6), texture=0.05)
    for row in np.linspace(0.05, 1.2, int(pen.rng.integers(3, 6))):
        x = -0.45
        while x < 0.38:
            wide = float(pen.rng.uniform(0.03, 0.09))
            pen.box(x, row, x + wide, row + pen.rng.uniform(0.14, 0.24), pick(pen.rng, CLOTHES), texture=0.0)
            x += wide + 0.01
        pen.box(-0.5, row - 0.04, 0.5, row, wood)


def rug(pen: Pen) -> None:
    cloth = pick(pen.rng, CLOTHES)
    for share in (1.0, 0.8, 0.55):
        pen.polygon(
            [
                (-1.1 * share, -0.16 * share),
                (1.1 * share, -0.16 * share),
                (0.85 * share, 0.16 * share),
                (-0.85 * share, 0.16 * share),
            ],
            times(cloth, 1.6 - 0.7 * share),
            texture=0.06,
        )


def cabinet(pen: Pen) -> None:
    wood = pick(pen.rng, WOOD + PLASTER)
    pen.shadow(0.8)
    pen.box(-0.75, 0, 0.75, 0.8, wood, texture=0.04)
    for x in (-0.7, 0.04):
        pen.box(x, 0.06, x + 0.66, 0.74, times(wood, 0.88), texture=0.04)
        pen.ellipse(x + 0.33, 0.55, 0.03, 0.03, (0.8, 0.75, 0.5))


def floor_lamp(pen: Pen) -> None:
    pen.line((0, 0), (0, 1.1), 0.035, (0.3, 0.28, 0.26))
    if pen.canvas.light.lamps > 0.2:
        pen.halo(0, 1.2, 0.7, LAMPLIGHT, 0.5)
    pen.polygon(
        [(-0.22, 1.05), (0.22, 1.05), (0.13, 1.4), (-0.13, 1.4)], (0.98, 0.86, 0.62), glow=pen.canvas.light.lamps > 0.2
    )


FURNITURE = {
    "sofa": sofa,
    "table": table,
    "chair": chair,
    "books": shelf,
    "rug": rug,
    "cabinet": cabinet,
    "lamp": floor_lamp,
}
