"""Things that move on roads, rails and water, drawn with a Pen; shared by pictures and clips."""

from __future__ import annotations

import itertools

import numpy as np

from mediarank.collections.demo.paint.light import Colour, mix, pick, times, vary
from mediarank.collections.demo.paint.pen import Pen

PAINTS: tuple[Colour, ...] = (
    (0.75, 0.12, 0.12),
    (0.85, 0.85, 0.86),
    (0.14, 0.16, 0.20),
    (0.16, 0.30, 0.60),
    (0.55, 0.57, 0.60),
    (0.86, 0.70, 0.16),
    (0.16, 0.42, 0.30),
)


GLASS: Colour = (0.20, 0.27, 0.33)


RUBBER: Colour = (0.07, 0.07, 0.08)


def wheel(pen: Pen, x: float, radius: float) -> None:
    pen.ellipse(x, radius, radius, radius, RUBBER)
    pen.ellipse(x, radius, radius * 0.5, radius * 0.5, (0.55, 0.55, 0.57))


def lamps(pen: Pen, spots: list[tuple[float, float]], colour: Colour, radius: float) -> None:
    """Head or tail lights: plain by day, with a halo when lamps are lit."""
    lit = pen.canvas.light.lamps
    for x, y in spots:
        if lit > 0.2:
            pen.halo(x, y, radius * 2.5, colour, 0.6 * lit)
        pen.ellipse(x, y, radius, radius * 0.8, mix(times(colour, 0.7), colour, lit), glow=lit > 0.5)


def car_behind(pen: Pen) -> None:
    """A car from behind or from the front; height 1 is its roof."""
    paint = pick(pen.rng, PAINTS)
    pen.shadow(0.75)
    for x in (-0.48, 0.32):
        pen.box(x, 0, x + 0.16, 0.25, RUBBER)
    pen.polygon([(-0.58, 0.14), (0.58, 0.14), (0.6, 0.5), (0.5, 0.62), (-0.5, 0.62), (-0.6, 0.5)], paint, rounded=0.6)
    pen.polygon([(-0.5, 0.6), (0.5, 0.6), (0.38, 1.0), (-0.38, 1.0)], times(paint, 0.9), rounded=0.6)
    pen.polygon([(-0.42, 0.63), (0.42, 0.63), (0.33, 0.94), (-0.33, 0.94)], GLASS)
    ahead = bool(pen.rng.random() < 0.4)
    lamps(pen, [(-0.46, 0.44), (0.46, 0.44)], (1.0, 0.95, 0.75) if ahead else (0.95, 0.12, 0.08), 0.09)
    pen.box(-0.16, 0.22, 0.16, 0.32, (0.85, 0.85, 0.8))


def car_beside(pen: Pen, paint: Colour | None = None) -> None:
    """A car from its side, about 2.8 long."""
    paint = paint or pick(pen.rng, PAINTS)
    pen.shadow(1.3)
    body = [(-1.4, 0.2), (1.4, 0.2), (1.42, 0.5), (0.9, 0.6), (0.5, 1.0), (-0.6, 1.0), (-1.05, 0.62), (-1.4, 0.55)]
    pen.polygon(body, paint, rounded=0.3)
    pen.polygon([(-0.9, 0.62), (-0.52, 0.92), (-0.08, 0.92), (-0.08, 0.62)], GLASS)
    pen.polygon([(0.02, 0.62), (0.02, 0.92), (0.44, 0.92), (0.74, 0.62)], GLASS)
    wheel(pen, -0.85, 0.24)
    wheel(pen, 0.85, 0.24)
    lamps(pen, [(1.36, 0.45)], (1.0, 0.95, 0.75), 0.07)


def van(pen: Pen, paint: Colour = (0.92, 0.92, 0.92), stripe: Colour = (0.80, 0.15, 0.15)) -> None:
    """A delivery van from its side, about 2.1 long."""
    pen.shadow(1.0)
    pen.polygon([(-1.05, 0.16), (1.05, 0.16), (1.06, 0.5), (0.85, 0.62), (0.68, 1.0), (-1.0, 1.0)], paint, rounded=0.3)
    pen.polygon([(0.45, 0.6), (0.45, 0.92), (0.65, 0.92), (0.8, 0.6)], GLASS)
    pen.box(-1.0, 0.42, 0.95, 0.52, stripe)
    wheel(pen, -0.65, 0.19)
    wheel(pen, 0.65, 0.19)


def bus(pen: Pen) -> None:
    """A bus from its side or from the front, one or two decks."""
    paint = pick(pen.rng, ((0.78, 0.10, 0.10), (0.90, 0.60, 0.10), (0.12, 0.36, 0.62), (0.20, 0.50, 0.28)))
    decks = int(pen.rng.integers(1, 3))
    if pen.rng.random() < 0.5:
        pen.shadow(0.5)
        pen.box(-0.4, 0.06, 0.4, 1.0, paint, rounded=0.5)
        for deck in range(decks):
            low = 0.35 + 0.62 * deck / decks
            pen.box(-0.34, low, 0.34, low + 0.5 / decks, GLASS)
        lamps(pen, [(-0.3, 0.18), (0.3, 0.18)], (1.0, 0.95, 0.75), 0.05)
        return
    length = 1.3 if decks == 2 else 1.9
    pen.shadow(length * 0.6)
    pen.box(-length / 2, 0.1, length / 2, 1.0, paint, rounded=0.3)
    panes = int(length * 4)
    for deck in range(decks):
        low = 0.45 + 0.5 * deck / decks if decks == 2 else 0.5
        for pane in range(panes):
            left = -length / 2 + 0.05 + pane * (length - 0.1) / panes
            glass = (0.98, 0.88, 0.60) if pen.canvas.light.lamps > 0.5 else GLASS
            pen.box(left, low, left + 0.75 * (length - 0.1) / panes, low + 0.34 / decks, glass, glow=glass is not GLASS)
    pen.box(-length / 2, 0.36, length / 2, 0.4, (0.95, 0.95, 0.9))
    wheel(pen, -length * 0.32, 0.13)
    wheel(pen, length * 0.32, 0.13)


def truck(pen: Pen) -> None:
    """A lorry from its side or from behind; the bus's look-alike."""
    paint = pick(pen.rng, PAINTS)
    if pen.rng.random() < 0.5:
        pen.shadow(0.5)
        pen.box(-0.42, 0.12, 0.42, 1.0, paint, rounded=0.4)
        pen.line((0, 0.14), (0, 0.98), 0.02, times(paint, 0.6))
        lamps(pen, [(-0.34, 0.1), (0.34, 0.1)], (0.95, 0.12, 0.08), 0.04)
        return
    pen.shadow(1.0)
    pen.box(-0.9, 0.18, 0.5, 1.0, paint, rounded=0.3)
    pen.polygon([(0.54, 0.14), (0.95, 0.14), (0.95, 0.5), (0.84, 0.78), (0.54, 0.78)], pick(pen.rng, PAINTS))
    pen.polygon([(0.66, 0.48), (0.9, 0.48), (0.8, 0.72), (0.66, 0.72)], GLASS)
    for x in (-0.7, -0.45, 0.72):
        wheel(pen, x, 0.14)


def train(pen: Pen) -> None:
    """An engine and its coaches on an embankment, across much of the picture."""
    paint = pick(pen.rng, ((0.60, 0.12, 0.12), (0.16, 0.36, 0.26), (0.85, 0.50, 0.12), (0.20, 0.30, 0.55)))
    coaches = int(pen.rng.integers(3, 6))
    pen.box(-14, -0.35, 14, 0.0, (0.40, 0.36, 0.32), texture=0.25)
    pen.box(-14, 0.0, 14, 0.05, (0.28, 0.27, 0.27))
    for coach in range(coaches):
        left = (coach - coaches / 2) * 2.7
        pen.box(left, 0.14, left + 2.6, 0.95, paint if coach % 4 else times(paint, 0.75), rounded=0.15)
        pen.box(left, 0.9, left + 2.6, 1.0, (0.5, 0.5, 0.52))
        for window in range(6):
            at = left + 0.2 + window * 0.4
            lit = pen.canvas.light.lamps > 0.5
            pen.box(at, 0.5, at + 0.26, 0.78, (0.98, 0.88, 0.60) if lit else GLASS, glow=lit)
        wheel(pen, left + 0.5, 0.1)
        wheel(pen, left + 2.1, 0.1)


def bicycle(pen: Pen) -> None:
    frame = pick(pen.rng, PAINTS)
    for x in (-0.55, 0.55):
        turn = np.linspace(0, 2 * np.pi, 21)
        rim = [(x + 0.4 * np.cos(t), 0.4 + 0.4 * np.sin(t)) for t in turn]
        for a, b in itertools.pairwise(rim):
            pen.line(a, b, 0.05, RUBBER)
        for spoke in range(4):
            c, s = 0.38 * np.cos(spoke * np.pi / 4), 0.38 * np.sin(spoke * np.pi / 4)
            pen.line((x - c, 0.4 - s), (x + c, 0.4 + s), 0.012, (0.6, 0.6, 0.6))
    bars = [
        ((-0.55, 0.4), (-0.2, 0.85)),
        ((-0.2, 0.85), (0.35, 0.85)),
        ((0.35, 0.85), (0.0, 0.4)),
        ((0.0, 0.4), (-0.55, 0.4)),
        ((0.0, 0.4), (-0.25, 0.95)),
        ((0.55, 0.4), (0.33, 1.0)),
    ]
    for start, end in bars:
        pen.line(start, end, 0.06, frame)
    pen.line((-0.4, 0.97), (-0.12, 0.97), 0.08, RUBBER)
    pen.line((0.2, 1.02), (0.45, 1.0), 0.05, RUBBER)


def boat(pen: Pen) -> None:
    """A sailing boat, a rowing boat or a trawler, with its blurred reflection."""
    paint = pick(pen.rng, PAINTS)
    kind = str(pen.rng.choice(["sail", "row", "trawler"], p=[0.5, 0.2, 0.3]))
    long = 0.42 if kind == "sail" else 0.6
    pen.canvas.ellipse(pen.x, pen.y + 0.05 * pen.scale, long * pen.scale, 0.07 * pen.scale, (0, 0, 0), opacity=0.4)
    if kind == "sail":
        cloth = vary(pen.rng, (0.95, 0.94, 0.90), 0.05) if pen.rng.random() < 0.7 else pick(pen.rng, PAINTS)
        pen.line((0, 0.1), (0, 1.0), 0.02, (0.35, 0.25, 0.18))
        pen.polygon([(0.02, 0.2), (0.4, 0.22), (0.02, 0.97)], cloth, rounded=0.5)
        pen.polygon([(-0.02, 0.2), (-0.32, 0.2), (-0.02, 0.85)], times(cloth, 0.88), rounded=0.5)
    if kind == "trawler":
        pen.box(-0.3, 0.2, 0.05, 0.5, (0.92, 0.92, 0.90))
        pen.box(-0.26, 0.36, 0.0, 0.45, GLASS)
        pen.line((0.15, 0.2), (0.15, 0.9), 0.03, (0.35, 0.25, 0.18))
        pen.line((0.15, 0.85), (0.5, 0.3), 0.015, (0.35, 0.25, 0.18))
    pen.polygon([(-long, 0.2), (long, 0.22), (long * 0.75, 0.0), (-long * 0.8, 0.0)], paint, rounded=0.3)
    pen.polygon([(-long, 0.2), (long, 0.22), (long * 0.97, 0.17), (-long * 0.97, 0.15)], mix(paint, (1, 1, 1), 0.6))
