"""Props of the sky and the horizon: balloon, birds, rainbow, fireworks; lighthouse, windmill, bridge."""

from __future__ import annotations

import numpy as np

from mediarank.collections.demo.paint.light import Colour, mix, pick, times, vary
from mediarank.collections.demo.paint.pen import Pen
from mediarank.collections.demo.props.palette import BRIGHT


def balloon(pen: Pen) -> None:
    """One to three hot-air balloons with gores of two or three colours."""
    for n in range(int(pen.rng.choice([1, 1, 2, 3]))):
        colours = [pick(pen.rng, BRIGHT) for _ in range(int(pen.rng.integers(2, 4)))]
        dx, dy, size = (0.0, 0.0, 1.0) if n == 0 else (pen.rng.normal(0, 1.4), pen.rng.normal(0, 0.4), 0.6)
        _gores(pen, colours, int(pen.rng.integers(5, 9)), dx, dy, size)
        for x in (-0.05, 0.05):
            pen.line((dx + size * x, dy + size * 0.2), (dx + size * x * 0.9, dy + size * 0.08), 0.01, (0.3, 0.25, 0.2))
        pen.box(dx - size * 0.06, dy, dx + size * 0.06, dy + size * 0.09, (0.45, 0.30, 0.16))


def _gores(pen: Pen, colours: list[Colour], count: int, dx: float, dy: float, size: float) -> None:
    turn = np.linspace(0, 1, 15)
    half = size * (0.42 * np.sin(np.pi * turn**0.75) ** 0.8 + 0.05 * (1 - turn))
    height = dy + size * (0.18 + 0.82 * turn)
    edges = np.sin(np.linspace(-np.pi / 2, np.pi / 2, count + 1))
    for gore in range(count):
        left = np.stack([dx + half * edges[gore], height], axis=1)
        right = np.stack([dx + half * edges[gore + 1], height], axis=1)[::-1]
        shade = 1.05 - 0.35 * abs((gore + 0.5) / count - 0.5)
        pen.polygon(np.concatenate([left, right]).astype(np.float32), times(colours[gore % len(colours)], shade))


def birds(pen: Pen) -> None:
    """A flock, each bird two bent wings."""
    dark = vary(pen.rng, (0.16, 0.16, 0.18) if pen.rng.random() < 0.7 else (0.92, 0.92, 0.94), 0.03)
    vee = bool(pen.rng.random() < 0.4)
    count = int(pen.rng.integers(8, 22))
    for n in range(count):
        if vee:
            x, y = (n - count / 2) * 0.22, -abs(n - count / 2) * 0.13
        else:
            x, y = pen.rng.normal(0, 0.9), pen.rng.normal(0, 0.45)
        span, flap = pen.rng.uniform(0.13, 0.24), pen.rng.uniform(-0.04, 0.12)
        pen.line((x, y), (x - span, y + flap), 0.045, dark, taper=0.2)
        pen.line((x, y), (x + span, y + flap), 0.045, dark, taper=0.2)


def rainbow(pen: Pen) -> None:
    canvas = pen.canvas
    radius = canvas.unit * pen.rng.uniform(0.5, 0.9)
    thick = canvas.unit * pen.rng.uniform(0.07, 0.13)
    base = pen.y + radius * pen.rng.uniform(0.5, 0.9)
    colours: tuple[Colour, ...] = (
        (0.95, 0.25, 0.25),
        (0.98, 0.60, 0.20),
        (0.98, 0.93, 0.30),
        (0.30, 0.80, 0.35),
        (0.25, 0.50, 0.95),
        (0.55, 0.30, 0.80),
    )
    turn = np.linspace(0.08, np.pi - 0.08, 40)
    for band, colour in enumerate(colours):
        outer, inner = radius - band * thick / 6, radius - (band + 1) * thick / 6
        arc = np.concatenate(
            [
                np.stack([pen.x + outer * np.cos(turn), base - outer * np.sin(turn)], axis=1),
                np.stack([pen.x + inner * np.cos(turn), base - inner * np.sin(turn)], axis=1)[::-1],
            ]
        )
        canvas.polygon(arc.astype(np.float32), colour, glow=True, opacity=0.6)


def fireworks(pen: Pen) -> None:
    for _ in range(int(pen.rng.integers(2, 5))):
        colour = pick(
            pen.rng, ((1.0, 0.45, 0.35), (0.5, 0.9, 0.5), (1.0, 0.85, 0.4), (0.6, 0.7, 1.0), (0.95, 0.5, 0.9))
        )
        x, y, reach = pen.rng.uniform(-1.5, 1.5), pen.rng.uniform(-0.4, 0.8), pen.rng.uniform(0.25, 0.6)
        pen.halo(x, y, reach * 0.9, colour, 0.35)
        for angle in np.linspace(0, 2 * np.pi, int(pen.rng.integers(14, 24)), endpoint=False):
            r = reach * pen.rng.uniform(0.75, 1.1)
            inner = (x + 0.25 * r * np.cos(angle), y + 0.25 * r * np.sin(angle))
            outer = (x + r * np.cos(angle), y + r * np.sin(angle) - 0.1 * r)
            pen.line(inner, outer, 0.018, colour, glow=True)
            pen.ellipse(*outer, 0.022, 0.022, mix(colour, (1, 1, 1), 0.5), glow=True)


def lighthouse(pen: Pen) -> None:
    band = pick(pen.rng, ((0.80, 0.14, 0.12), (0.16, 0.18, 0.22), (0.14, 0.30, 0.56)))
    pen.tuft(0, -0.02, 0.5, 0.12, (0.40, 0.38, 0.34), texture=0.3)
    stripes = int(pen.rng.integers(3, 7))
    for stripe in range(stripes):
        low, high = 0.8 * stripe / stripes, 0.8 * (stripe + 1) / stripes
        half_low, half_high = 0.15 - 0.07 * low / 0.8, 0.15 - 0.07 * high / 0.8
        pen.polygon(
            [(-half_low, low), (half_low, low), (half_high, high), (-half_high, high)],
            (0.94, 0.94, 0.92) if stripe % 2 else band,
            rounded=1.0,
        )
    pen.box(-0.12, 0.8, 0.12, 0.82, (0.2, 0.2, 0.22))
    pen.box(-0.06, 0.82, 0.06, 0.93, (1.0, 0.95, 0.7), glow=pen.canvas.light.lamps > 0.2)
    pen.polygon([(-0.09, 0.93), (0.09, 0.93), (0, 1.02)], band)
    if pen.canvas.light.lamps > 0.2:
        pen.halo(0, 0.88, 0.35, (1.0, 0.93, 0.7), 0.8)


def windmill(pen: Pen) -> None:
    body = pick(pen.rng, ((0.90, 0.88, 0.82), (0.52, 0.34, 0.24), (0.40, 0.40, 0.42)))
    pen.polygon([(-0.2, 0), (0.2, 0), (0.12, 0.6), (-0.12, 0.6)], body, rounded=1.0, texture=0.1)
    pen.polygon([(-0.14, 0.6), (0.14, 0.6), (0, 0.78)], times(body, 0.6))
    pen.box(-0.04, 0, 0.04, 0.12, (0.25, 0.18, 0.12))
    start = pen.rng.uniform(0, np.pi / 2)
    for sail in range(4):
        angle = start + sail * np.pi / 2
        c, s = np.cos(angle), np.sin(angle)
        tip = (0.5 * c, 0.64 + 0.5 * s)
        pen.line((0, 0.64), tip, 0.025, (0.3, 0.22, 0.16))
        wing = [
            (0.1 * c, 0.64 + 0.1 * s),
            tip,
            (tip[0] - 0.11 * s, tip[1] + 0.11 * c),
            (0.1 * c - 0.11 * s, 0.64 + 0.1 * s + 0.11 * c),
        ]
        pen.polygon(wing, (0.90, 0.87, 0.80), opacity=0.85)


def bridge(pen: Pen) -> None:
    """A suspension bridge or stone arches, right across the picture."""
    wide = pen.canvas.width / max(pen.scale, 1.0)
    steel = pick(pen.rng, ((0.62, 0.22, 0.16), (0.40, 0.44, 0.48), (0.30, 0.38, 0.34)))
    if pen.rng.random() < 0.55:
        for tower in (-0.9, 0.9):
            for x in (tower - 0.07, tower + 0.05):
                pen.box(x, -0.05, x + 0.045, 1.0, steel)
            pen.box(tower - 0.07, 0.75, tower + 0.09, 0.8, steel)
        for left, right, low in ((-0.9, 0.9, 0.34), (-0.9, -wide, 0.3), (0.9, wide, 0.3)):
            xs = np.linspace(left, right, 12)
            t = np.linspace(0, 1, 12)
            sag = 1 - (1 - low) * (4 * t * (1 - t)) if low == 0.34 else 1 - (1 - low) * t
            for a in range(11):
                pen.line((xs[a], sag[a]), (xs[a + 1], sag[a + 1]), 0.025, steel)
                pen.line((xs[a], sag[a]), (xs[a], 0.3), 0.01, steel)
        pen.box(-wide, 0.24, wide, 0.31, times(steel, 0.8))
        return
    stone = vary(pen.rng, (0.56, 0.50, 0.44))
    pen.box(-wide, 0.42, wide, 0.6, stone, texture=0.12)
    pitch = float(pen.rng.uniform(0.5, 0.9))
    for x in np.arange(-np.ceil(wide / pitch) * pitch, wide, pitch):
        middle, half = x + pitch / 2, pitch * 0.39
        arch = [(middle + half * np.cos(t), 0.08 + 0.28 * np.sin(t)) for t in np.linspace(0, np.pi, 11)]
        pen.polygon(
            [
                (x, -0.12),
                (x, 0.43),
                (x + pitch, 0.43),
                (x + pitch, -0.12),
                (middle + half, -0.12),
                *arch,
                (middle - half, -0.12),
            ],
            stone,
            texture=0.12,
        )
