"""Props that resemble another: a kite a balloon, a chimney a lighthouse, a haystack a tent."""

from __future__ import annotations

import itertools

import numpy as np

from mediarank.collections.demo.elements.scenery import SNOW
from mediarank.collections.demo.elements.townscape import CLOTHES, LAMPLIGHT
from mediarank.collections.demo.elements.trees import GREENS
from mediarank.collections.demo.elements.vehicles import PAINTS
from mediarank.collections.demo.paint.light import mix, pick, times, vary
from mediarank.collections.demo.paint.pen import Pen


def buoy(pen: Pen) -> None:
    pen.ellipse(0, 0.06, 0.32, 0.1, (0.1, 0.1, 0.1), opacity=0.4)
    paint = pick(pen.rng, PAINTS)
    pen.polygon([(-0.26, 0.08), (0.26, 0.08), (0.12, 0.6), (-0.12, 0.6)], paint, rounded=1.0)
    pen.line((0, 0.6), (0, 1.0), 0.05, times(paint, 0.6))
    pen.ellipse(0, 1.0, 0.07, 0.07, times(paint, 1.2))


def chimney(pen: Pen) -> None:
    brick = vary(pen.rng, (0.55, 0.32, 0.24))
    pen.polygon([(-0.11, 0), (0.11, 0), (0.07, 1.0), (-0.07, 1.0)], brick, rounded=1.0, texture=0.12)
    for y in (0.8, 0.9):
        pen.box(-0.085, y, 0.085, y + 0.04, (0.85, 0.82, 0.78), rounded=0.8)
    pen.box(-0.5, 0, 0.45, 0.22, times(brick, 0.85), texture=0.1)
    for n in range(4):
        pen.tuft(0.1 + 0.13 * n, 1.08 + 0.09 * n, 0.1 + 0.05 * n, 0.07 + 0.03 * n, (0.62, 0.62, 0.64), ragged=0.9)


def kite(pen: Pen) -> None:
    first, second = pick(pen.rng, PAINTS), pick(pen.rng, PAINTS)
    pen.polygon([(0, 1.0), (0.36, 0.62), (0, 0.1)], first)
    pen.polygon([(0, 1.0), (-0.36, 0.62), (0, 0.1)], second)
    x, y = 0.0, 0.1
    for n in range(6):
        bend = 0.1 if n % 2 else -0.1
        pen.line((x, y), (x + bend, y - 0.13), 0.02, (0.3, 0.3, 0.3))
        x, y = x + bend, y - 0.13
        pen.ellipse(x, y, 0.05, 0.03, first)


def aeroplane(pen: Pen) -> None:
    body = vary(pen.rng, (0.86, 0.87, 0.90))
    pen.line((-1.0, 0.0), (0.9, 0.12), 0.16, body, taper=0.7)
    pen.polygon([(-0.1, 0.05), (0.25, 0.08), (-0.35, -0.5), (-0.5, -0.5)], times(body, 0.8))
    pen.polygon([(-0.05, 0.1), (0.2, 0.12), (-0.1, 0.45), (-0.22, 0.45)], times(body, 0.9))
    pen.polygon([(-0.95, 0.0), (-0.7, 0.05), (-0.95, 0.42), (-1.08, 0.42)], pick(pen.rng, PAINTS))


def contrail(pen: Pen) -> None:
    bend = float(pen.rng.uniform(0.2, 0.7))
    xs = np.linspace(-3.5, 3.5, 24)
    for a, b in itertools.pairwise(xs):
        pen.canvas.line(
            tuple(pen.at([(a, bend * (1 - a * a / 12))])[0].tolist()),
            tuple(pen.at([(b, bend * (1 - b * b / 12))])[0].tolist()),
            pen.scale * 0.12,
            mix((1.0, 1.0, 1.0), pen.canvas.light.horizon, 0.3),
            glow=True,
            opacity=0.45,
        )


def turbine(pen: Pen) -> None:
    white = vary(pen.rng, (0.93, 0.94, 0.95), 0.02)
    pen.line((0, 0), (0, 0.75), 0.045, white, taper=0.5)
    start = pen.rng.uniform(0, 2)
    for blade in range(3):
        angle = start + blade * 2 * np.pi / 3
        pen.line((0, 0.75), (0.4 * np.cos(angle), 0.75 + 0.4 * np.sin(angle)), 0.045, white, taper=0.2)


def haystack(pen: Pen) -> None:
    straw = mix(vary(pen.rng, (0.80, 0.64, 0.28)), SNOW, 0.6 if pen.canvas.light.snowy else 0.0)
    pen.shadow(0.8)
    for dx in (0.0, float(pen.rng.uniform(1.2, 2.0)))[: int(pen.rng.integers(1, 3))]:
        turn = np.linspace(0, np.pi, 14)
        pen.polygon([(dx + 0.7 * np.cos(t), 0.95 * np.sin(t) ** 0.8) for t in turn], straw, rounded=0.9, texture=0.2)


def lantern(pen: Pen) -> None:
    pen.halo(0, 0.5, 1.1, LAMPLIGHT, 0.45)
    pen.box(-0.2, 0, 0.2, 0.12, (0.2, 0.18, 0.16))
    pen.box(-0.15, 0.12, 0.15, 0.75, (1.0, 0.82, 0.45), glow=True)
    pen.polygon([(-0.22, 0.75), (0.22, 0.75), (0, 1.0)], (0.2, 0.18, 0.16))


def cow(pen: Pen) -> None:
    for _ in range(int(pen.rng.integers(1, 4))):
        coat = pick(pen.rng, ((0.92, 0.91, 0.88), (0.45, 0.28, 0.18), (0.15, 0.14, 0.14)))
        dx, dy = float(pen.rng.uniform(-1.4, 1.4)), float(pen.rng.uniform(-0.15, 0.15))
        for x in (-0.4, -0.3, 0.3, 0.4):
            pen.box(dx + x - 0.04, dy, dx + x + 0.04, dy + 0.4, times(coat, 0.85))
        pen.box(dx - 0.5, dy + 0.35, dx + 0.5, dy + 0.82, coat)
        for _ in range(3):
            x, y = pen.rng.uniform(-0.35, 0.35), pen.rng.uniform(0.45, 0.72)
            pen.ellipse(dx + x, dy + y, 0.12, 0.09, times(coat, 0.25))
        pen.box(dx + 0.45, dy + 0.55, dx + 0.75, dy + 0.82, coat)
        pen.line((dx + 0.5, dy + 0.85), (dx + 0.45, dy + 0.98), 0.04, (0.8, 0.78, 0.7))


def bush(pen: Pen) -> None:
    leaf = pick(pen.rng, (*GREENS, (0.80, 0.30, 0.40), (0.85, 0.75, 0.30)))
    pen.shadow(0.5)
    for _ in range(4):
        pen.tuft(pen.rng.uniform(-0.3, 0.3), pen.rng.uniform(0.3, 0.6), 0.35, 0.3, vary(pen.rng, leaf), ragged=0.7)


def pipeline(pen: Pen) -> None:
    """A pipe on trestles across the picture; it resembles a bridge or a train."""
    steel = vary(pen.rng, (0.56, 0.56, 0.54))
    wide = pen.canvas.width / max(pen.scale, 1.0)
    for x in np.arange(-wide, wide, 0.8):
        pen.line((x, 0), (x + 0.12, 0.5), 0.05, times(steel, 0.7))
        pen.line((x + 0.24, 0), (x + 0.12, 0.5), 0.05, times(steel, 0.7))
    pen.box(-wide, 0.45, wide, 0.75, steel)


def bench(pen: Pen) -> None:
    wood = vary(pen.rng, (0.46, 0.30, 0.18))
    pen.shadow(0.9)
    for x in (-0.7, 0.62):
        pen.box(x, 0, x + 0.08, 0.9, (0.2, 0.2, 0.22))
    for y in (0.42, 0.6, 0.76, 0.9):
        pen.box(-0.85, y, 0.85, y + 0.09, wood)


def searchlight(pen: Pen) -> None:
    """Searchlights over a city at night."""
    for _ in range(int(pen.rng.integers(2, 5))):
        x, lean = float(pen.rng.uniform(-1.5, 1.5)), float(pen.rng.uniform(-1.0, 1.0))
        pen.polygon(
            [(x, -2.5), (x + lean - 0.18, 1.4), (x + lean + 0.18, 1.4)], (0.85, 0.90, 1.0), glow=True, opacity=0.3
        )


def mirror(pen: Pen) -> None:
    rim = pick(pen.rng, ((0.50, 0.34, 0.18), (0.75, 0.62, 0.30), (0.16, 0.14, 0.13)))
    pen.ellipse(0, 0.5, 0.48, 0.5, rim)
    pen.ellipse(0, 0.5, 0.4, 0.42, (0.72, 0.78, 0.82))
    pen.polygon([(-0.2, 0.35), (0.1, 0.8), (0.2, 0.75), (-0.1, 0.28)], (0.86, 0.90, 0.93))


def statue(pen: Pen) -> None:
    stone = vary(pen.rng, (0.66, 0.65, 0.62))
    pen.shadow(0.35)
    pen.box(-0.25, 0, 0.25, 0.3, times(stone, 0.85), texture=0.1)
    pen.polygon([(-0.15, 0.3), (0.15, 0.3), (0.1, 0.82), (-0.1, 0.82)], stone, rounded=1.0, texture=0.08)
    pen.ellipse(0, 0.9, 0.08, 0.1, stone, rounded=0.8)
    pen.line((0.08, 0.75), (0.28, 0.95), 0.06, stone)


def cushion(pen: Pen) -> None:
    cloth = pick(pen.rng, CLOTHES)
    pen.shadow(0.5)
    pen.polygon([(-0.5, 0), (0.5, 0.02), (0.42, 0.6), (-0.44, 0.56)], cloth, rounded=0.8)
    pen.line((-0.4, 0.3), (0.4, 0.32), 0.06, times(cloth, 1.4))
