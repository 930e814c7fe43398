"""Props on the ground and on walls: tent, campfire, umbrella, flag, clock, plant, horse, cat, snowman."""

from __future__ import annotations

import numpy as np

from mediarank.collections.demo.elements.scenery import SNOW
from mediarank.collections.demo.elements.townscape import CLOTHES
from mediarank.collections.demo.elements.trees import GREENS
from mediarank.collections.demo.paint.light import pick, times, vary
from mediarank.collections.demo.paint.pen import Pen
from mediarank.collections.demo.props.palette import BRIGHT


def tent(pen: Pen) -> None:
    """A ridge tent or a dome, sometimes with a second one beside it."""
    for dx in (0.0, float(pen.rng.choice([-1.0, 1.0]) * pen.rng.uniform(1.3, 1.8)))[: int(pen.rng.integers(1, 3))]:
        cloth = pick(pen.rng, BRIGHT)
        if pen.rng.random() < 0.5:
            pen.polygon([(dx - 0.9, 0), (dx + 0.35, 0), (dx - 0.25, 1)], cloth, rounded=0.4)
            pen.polygon([(dx + 0.35, 0), (dx + 0.95, 0.12), (dx + 0.3, 0.95), (dx - 0.25, 1)], times(cloth, 0.72))
            pen.polygon([(dx - 0.45, 0), (dx - 0.05, 0), (dx - 0.25, 0.7)], times(cloth, 0.3))
        else:
            turn = np.linspace(0, np.pi, 16)
            pen.polygon([(dx + 0.85 * np.cos(t), 0.8 * np.sin(t)) for t in turn], cloth, rounded=0.8)
            pen.polygon([(dx + 0.35 * np.cos(t) - 0.2, 0.6 * np.sin(t)) for t in turn], times(cloth, 0.4))
            pen.line((dx - 0.85, 0), (dx + 0.5, 0.62), 0.03, times(cloth, 1.3))


def campfire(pen: Pen) -> None:
    pen.halo(0, 0.35, 1.6, (1.0, 0.55, 0.18), 0.55)
    for x, tip in ((-0.45, 0.3), (0.45, -0.3), (-0.3, 0.45)):
        pen.line((x, 0), (tip, 0.2), 0.12, (0.24, 0.15, 0.09))
    for colour, wide, tall in (
        ((0.98, 0.42, 0.08), 0.3, 1.0),
        ((1.0, 0.70, 0.16), 0.2, 0.72),
        ((1.0, 0.95, 0.6), 0.1, 0.42),
    ):
        lean = float(pen.rng.uniform(-0.12, 0.12))
        pen.polygon(
            [(-wide, 0.12), (wide, 0.12), (wide * 0.7, tall * 0.45), (lean, tall), (-wide * 0.8, tall * 0.5)],
            colour,
            glow=True,
        )
    for _ in range(5):
        pen.ellipse(pen.rng.uniform(-0.4, 0.4), pen.rng.uniform(0.9, 1.6), 0.03, 0.03, (1.0, 0.7, 0.3), glow=True)
    pen.tuft(0.1, 1.9, 0.35, 0.5, (0.45, 0.45, 0.47), ragged=0.9)


def umbrella(pen: Pen) -> None:
    """One to three parasols, on a beach or a pavement."""
    for n in range(int(pen.rng.integers(1, 4))):
        dx = n * float(pen.rng.uniform(-1.1, 1.1))
        first, second = pick(pen.rng, BRIGHT), pick(pen.rng, BRIGHT)
        pen.line((dx, 0), (dx, 0.9), 0.03, (0.85, 0.82, 0.76))
        edges = np.sin(np.linspace(-np.pi / 2, np.pi / 2, 7)) * 0.6
        for gore in range(6):
            left, right = float(edges[gore]), float(edges[gore + 1])
            sag = 0.68 + 0.03 * abs(gore - 2.5)
            pen.polygon(
                [(dx, 1.0), (dx + left, sag), (dx + (left + right) / 2, sag - 0.04), (dx + right, sag)],
                first if gore % 2 else second,
            )


def flag(pen: Pen) -> None:
    """One to three flags of three bands, waving from their poles."""
    t = np.linspace(0, 1, 9)
    for n in range(int(pen.rng.integers(1, 4))):
        dx = 0.75 * n * (-1 if n % 2 else 1)
        wave = 0.04 * np.sin(2 * np.pi * t + pen.rng.uniform(0, 6)) * t
        pen.line((dx, 0), (dx, 1.02), 0.03, (0.75, 0.75, 0.76))
        for band in range(3):
            low, high = 0.62 + band * 0.127 + wave, 0.62 + (band + 1) * 0.127 + wave
            x = dx + 0.62 * t
            outline = [*zip(x, low, strict=True), *zip(x[::-1], high[::-1], strict=True)]
            pen.polygon(outline, pick(pen.rng, BRIGHT))


def clock(pen: Pen) -> None:
    rim = pick(pen.rng, ((0.16, 0.14, 0.13), (0.50, 0.34, 0.18), (0.75, 0.62, 0.30), (0.70, 0.12, 0.12)))
    pen.ellipse(0, 0.5, 0.5, 0.5, rim)
    pen.ellipse(0, 0.5, 0.42, 0.42, (0.95, 0.94, 0.90), texture=0.0)
    for mark in range(12):
        c, s = np.cos(mark * np.pi / 6), np.sin(mark * np.pi / 6)
        pen.line((0.33 * c, 0.5 + 0.33 * s), (0.39 * c, 0.5 + 0.39 * s), 0.03, (0.1, 0.1, 0.1))
    for reach, thick in ((0.22, 0.05), (0.34, 0.035)):
        angle = pen.rng.uniform(0, 2 * np.pi)
        pen.line((0, 0.5), (reach * np.cos(angle), 0.5 + reach * np.sin(angle)), thick, (0.08, 0.08, 0.08))


def plant(pen: Pen) -> None:
    """A pot with leaves on long stalks or a bushy head."""
    pen.shadow(0.3)
    leaf = pick(pen.rng, GREENS)
    if pen.rng.random() < 0.6:
        for angle in np.linspace(0.35, np.pi - 0.35, int(pen.rng.integers(7, 13))):
            r = pen.rng.uniform(0.45, 0.75)
            tip = (r * 0.8 * np.cos(angle), 0.3 + r * np.sin(angle))
            bow = (tip[0] * 0.45 - 0.06, 0.3 + (tip[1] - 0.3) * 0.6)
            pen.polygon([(0, 0.28), bow, tip, (bow[0] + 0.12, bow[1] - 0.04)], vary(pen.rng, leaf, 0.05))
    else:
        pen.line((0, 0.28), (0, 0.6), 0.05, (0.34, 0.24, 0.15))
        for _ in range(4):
            pen.tuft(
                pen.rng.uniform(-0.12, 0.12), pen.rng.uniform(0.6, 0.85), 0.2, 0.17, vary(pen.rng, leaf), ragged=0.7
            )
    pen.polygon(
        [(-0.15, 0), (0.15, 0), (0.21, 0.3), (-0.21, 0.3)], pick(pen.rng, ((0.70, 0.38, 0.24), *CLOTHES)), rounded=1.0
    )


def horse(pen: Pen) -> None:
    """One to four grazing or standing horses."""
    for _ in range(int(pen.rng.integers(1, 5))):
        coat = pick(pen.rng, ((0.40, 0.24, 0.14), (0.22, 0.15, 0.11), (0.72, 0.66, 0.58), (0.56, 0.36, 0.18)))
        dx, dy = float(pen.rng.uniform(-1.2, 1.2)), float(pen.rng.uniform(-0.15, 0.15))
        grazing = bool(pen.rng.random() < 0.5)
        for x, knee in ((-0.36, -0.42), (-0.28, -0.26), (0.24, 0.26), (0.33, 0.38)):
            pen.line((dx + x, dy + 0.55), (dx + knee, dy), 0.085, times(coat, 0.85), taper=0.55)
        pen.polygon(
            [
                (dx - 0.42, dy + 0.52),
                (dx - 0.2, dy + 0.44),
                (dx + 0.3, dy + 0.46),
                (dx + 0.42, dy + 0.62),
                (dx + 0.3, dy + 0.74),
                (dx - 0.1, dy + 0.7),
                (dx - 0.38, dy + 0.74),
            ],
            coat,
            texture=0.04,
        )
        neck, nose = ((0.62, 0.3), (0.7, 0.1)) if grazing else ((0.55, 0.96), (0.78, 0.82))
        pen.line((dx + 0.3, dy + 0.64), (dx + neck[0], dy + neck[1]), 0.2, coat, taper=0.55)
        pen.line((dx + 0.24, dy + 0.72), (dx + neck[0] - 0.06, dy + neck[1] + 0.03), 0.06, times(coat, 0.4))
        pen.line((dx + neck[0] - 0.03, dy + neck[1]), (dx + nose[0], dy + nose[1]), 0.12, coat, taper=0.7)
        pen.line((dx - 0.38, dy + 0.7), (dx - 0.52, dy + 0.28), 0.07, times(coat, 0.4), taper=0.5)


def cat(pen: Pen) -> None:
    """A cat, sitting or lying."""
    fur = pick(pen.rng, ((0.16, 0.15, 0.15), (0.75, 0.46, 0.20), (0.55, 0.53, 0.50), (0.90, 0.88, 0.84)))
    pen.shadow(0.5)
    sitting = bool(pen.rng.random() < 0.6)
    if sitting:
        pen.polygon([(-0.3, 0), (0.3, 0), (0.16, 0.62), (-0.16, 0.62)], fur, rounded=0.8)
        hx, hy = 0.0, 0.75
    else:
        pen.ellipse(-0.15, 0.22, 0.55, 0.22, fur, rounded=0.4)
        hx, hy = 0.38, 0.42
    pen.line((-0.3, 0.08), (-0.65, 0.3 if sitting else 0.05), 0.09, fur, taper=0.6)
    pen.ellipse(hx, hy, 0.2, 0.18, fur)
    for side in (-1, 1):
        pen.polygon([(hx + side * 0.18, hy + 0.06), (hx + side * 0.15, hy + 0.3), (hx + side * 0.02, hy + 0.14)], fur)
        pen.ellipse(hx + side * 0.075, hy + 0.03, 0.03, 0.035, (0.55, 0.75, 0.25))


def snowman(pen: Pen) -> None:
    pen.shadow(0.4)
    for y, r in ((0.26, 0.28), (0.62, 0.2), (0.87, 0.14)):
        pen.ellipse(0, y, r, r, SNOW, rounded=0.9, texture=0.03)
    scarf = pick(pen.rng, BRIGHT[:3])
    pen.box(-0.15, 0.72, 0.15, 0.78, scarf)
    pen.box(0.06, 0.5, 0.13, 0.76, times(scarf, 0.85))
    pen.polygon([(0, 0.9), (0, 0.85), (0.2, 0.86)], (0.95, 0.5, 0.1))
    for x in (-0.05, 0.06):
        pen.ellipse(x, 0.93, 0.02, 0.02, (0.05, 0.05, 0.05))
    if pen.rng.random() < 0.7:
        pen.box(-0.16, 0.98, 0.16, 1.01, (0.08, 0.08, 0.09))
        pen.box(-0.1, 1.0, 0.1, 1.18, (0.08, 0.08, 0.09))
    for side in (-1, 1):
        pen.line((side * 0.18, 0.65), (side * 0.5, 0.8), 0.03, (0.3, 0.2, 0.12))
