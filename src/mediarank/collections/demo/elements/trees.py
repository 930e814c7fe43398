"""Trees, one by one and in woods."""

from __future__ import annotations

import numpy as np

from mediarank.collections.demo.elements.scenery import SNOW
from mediarank.collections.demo.paint.canvas import Canvas
from mediarank.collections.demo.paint.light import Colour, mix, pick, times, vary
from mediarank.collections.demo.paint.pen import Pen
from mediarank.collections.demo.paint.textures import jagged

GREENS: tuple[Colour, ...] = ((0.24, 0.40, 0.14), (0.18, 0.34, 0.18), (0.36, 0.46, 0.16), (0.14, 0.30, 0.16))


AUTUMN: tuple[Colour, ...] = ((0.72, 0.38, 0.10), (0.62, 0.20, 0.10), (0.80, 0.58, 0.16), (0.46, 0.40, 0.14))


def conifer(pen: Pen, colour: Colour) -> None:
    """Tiers of drooping branches: a zigzag outline, and a smaller, lighter one where the light falls."""
    if pen.canvas.light.snowy:
        colour = mix(colour, SNOW, 0.45)
    pen.box(-0.03, 0, 0.03, 0.2, (0.25, 0.17, 0.11))
    tiers = int(pen.rng.integers(4, 8))
    for shade, slim, low in ((0.75, 1.0, 0.1), (1.15, 0.7, 0.3)):
        y = low + (1.0 - low) * np.arange(tiers) / tiers
        half = slim * (0.26 * (1 - y) + 0.02) * pen.rng.uniform(0.85, 1.15, tiers)
        right = np.stack([half, y, half * 0.45, y + 0.45 * (1 - low) / tiers], axis=1).reshape(-1, 2)
        left = right[::-1] * (-1, 1)
        pen.polygon(
            np.concatenate([right, [(0.0, 1.0)], left]).astype(np.float32),
            times(colour, shade),
            texture=0.2,
            rounded=0.8,
        )


def broadleaf(pen: Pen, colour: Colour) -> None:
    pen.polygon([(-0.05, 0), (0.05, 0), (0.025, 0.5), (-0.025, 0.5)], (0.28, 0.20, 0.13), texture=0.2, rounded=0.8)
    if pen.canvas.light.snowy:
        colour = mix(colour, SNOW, 0.5)
    wide = pen.rng.uniform(0.2, 0.34)
    pen.tuft(0, 0.62, wide * 1.05, 0.3, times(colour, 0.6), ragged=0.6)
    for _ in range(int(pen.rng.integers(4, 8))):
        x, y = pen.rng.uniform(-wide, wide) * 0.8, pen.rng.uniform(0.48, 0.86)
        pen.tuft(
            x, y, wide * pen.rng.uniform(0.4, 0.7), pen.rng.uniform(0.1, 0.16), vary(pen.rng, colour, 0.04), ragged=0.6
        )


def palm(pen: Pen) -> None:
    lean = float(pen.rng.uniform(-0.15, 0.15))
    pen.line((0, 0), (lean, 0.8), 0.06, (0.45, 0.34, 0.22), taper=0.5)
    for turn in np.linspace(-0.4, np.pi + 0.4, 9):
        reach = pen.rng.uniform(0.26, 0.36)
        tip = (lean + reach * np.cos(turn), 0.8 + reach * 0.75 * np.sin(turn) - 0.08)
        bend = (lean + reach * 0.5 * np.cos(turn), 0.86 + reach * 0.6 * np.sin(turn))
        pen.polygon([(lean, 0.8), bend, tip, (bend[0], bend[1] - 0.06)], vary(pen.rng, (0.22, 0.42, 0.16)))


def trees(
    canvas: Canvas,
    count: int,
    span: tuple[float, float],
    base: tuple[float, float],
    tall: tuple[float, float],
    *,
    pines: float,
    autumn: bool,
    depth: tuple[float, float] = (0.5, 0.1),
) -> None:
    """`count` trees from far to near: columns in `span`, feet between the rows of `base`, heights along `tall`."""
    for nearness in np.sort(canvas.rng.random(count)):
        x = canvas.rng.uniform(*span)
        y = base[0] + (base[1] - base[0]) * nearness
        scale = (tall[0] + (tall[1] - tall[0]) * nearness) * canvas.rng.uniform(0.7, 1.2)
        pen = Pen(canvas, x, y, scale, depth[0] + (depth[1] - depth[0]) * nearness)
        if canvas.rng.random() < pines:
            conifer(pen, pick(canvas.rng, GREENS[1:2] + GREENS[3:]))
        else:
            broadleaf(pen, pick(canvas.rng, AUTUMN if autumn else GREENS))
    if count:
        canvas.say("trees")


def treeline(canvas: Canvas, base: float, rise: float, colour: Colour, *, depth: float) -> None:
    """Distant woods: a finely ragged edge."""
    line = base - rise * (0.65 + 0.35 * jagged(canvas.rng, canvas.width, cells=24, octaves=4, decay=0.75))
    canvas.below(line, canvas.lit(colour, depth), texture=0.2)
