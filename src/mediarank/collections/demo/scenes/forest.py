"""The forest: trunks behind trunks under a canopy, little sky; pines, leafy or bare."""

from __future__ import annotations

import numpy as np

from mediarank.collections.demo.elements.scenery import ground, sky
from mediarank.collections.demo.elements.trees import AUTUMN, GREENS, conifer
from mediarank.collections.demo.paint.canvas import Canvas
from mediarank.collections.demo.paint.light import Colour, mix, pick, times, vary
from mediarank.collections.demo.paint.pen import Pen
from mediarank.collections.demo.paint.textures import fractal
from mediarank.collections.demo.props.cast import Cast


def forest(canvas: Canvas, cast: Cast) -> None:
    """Trunks behind trunks under a canopy, little sky; pines, leafy or bare."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    floor = int(height * rng.uniform(0.5, 0.72))
    autumn = bool(rng.random() < 0.35)
    pines = bool(rng.random() < 0.4)
    sky(canvas, height * 0.9)
    canvas.words.remove("sky")
    leaf = pick(rng, AUTUMN if autumn else GREENS)
    backdrop = fractal(rng, height, width, cells=6, octaves=5)
    # From deep woods, where no sky shows, to the edge of a clearing.
    dense = rng.uniform(0.3, 1.0)
    veil = np.clip(dense * (0.75 + 0.35 * backdrop), 0, 1).astype(np.float32)
    canvas.blend(0, 0, veil, canvas.lit(times(leaf, 0.9), 0.8) * (1 + np.float32(0.15) * backdrop))
    litter: Colour = vary(rng, (0.50, 0.32, 0.16) if autumn else (0.24, 0.26, 0.12))
    ground(canvas, floor, litter, mix(litter, leaf, 0.5), texture=0.3, stretch=1.0)
    canvas.say("forest", *(["autumn"] if autumn else []))
    if rng.random() < 0.4:
        _trail(canvas, floor)
    cast.enter(canvas, "span", (0.25, 0.75), (floor / height, floor / height + 0.1), grow=(0.6, 0.9), depth=(0.3, 0.2))
    zone = ((0.15, 0.85), (floor / height + 0.12, 0.95))
    for nearness in np.sort(rng.random(int(rng.uniform(15, 34) * dense))):
        if nearness > 0.75:
            cast.enter(canvas, "ground", *zone, depth=(0.2, 0.0))  # the last trees stand in front of it
        x = rng.uniform(-0.05, 1.05) * width
        y = floor + (height - floor) * nearness**1.5
        if pines and nearness < 0.8:
            conifer(Pen(canvas, x, y, canvas.unit * (0.45 + 0.6 * nearness), 0.8 * (1 - nearness)), times(leaf, 0.8))
        else:
            _trunk(canvas, x, y, canvas.unit * (0.012 + 0.075 * nearness**2), 0.8 * (1 - nearness))
    cast.enter(canvas, "ground", *zone, depth=(0.2, 0.0))
    canvas.say("pines" if pines else "trunks")
    for _ in range(int(rng.uniform(6, 16) * dense)):
        canvas.tuft(
            rng.uniform(0, width),
            rng.uniform(-0.05, 0.22) * height,
            canvas.unit * rng.uniform(0.1, 0.25),
            canvas.unit * rng.uniform(0.06, 0.14),
            vary(rng, times(leaf, rng.uniform(0.6, 1.2))),
            ragged=0.8,
            depth=rng.uniform(0, 0.4),
        )
    for _ in range(int(rng.integers(2, 10))):
        size = canvas.unit * rng.uniform(0.04, 0.12)
        canvas.tuft(
            rng.uniform(0, width), height * rng.uniform(0.85, 1.02), size, size * 0.6, vary(rng, leaf), ragged=0.7
        )
    if canvas.light.hour in ("dawn", "afternoon") and canvas.light.weather != "rain" and rng.random() < 0.6:
        _shafts(canvas)
        canvas.say("sunbeams")


def _trunk(canvas: Canvas, x: float, y: float, thick: float, depth: float) -> None:
    rng = canvas.rng
    colour = vary(rng, (0.30, 0.22, 0.16) if rng.random() < 0.8 else (0.74, 0.72, 0.68), 0.04)
    lean = rng.normal(0, 0.03) * canvas.height
    canvas.polygon(
        [(x - thick * 0.8, y), (x + thick * 0.8, y), (x + lean + thick * 0.4, -5), (x + lean - thick * 0.4, -5)],
        colour,
        depth=depth,
        texture=0.3,
        rounded=1.0,
    )
    for _ in range(int(rng.integers(0, 3))):
        share = rng.uniform(0.35, 0.9)
        start = (x + lean * share, y * (1 - share))
        reach = thick * rng.uniform(3, 7) * (1 if rng.random() < 0.5 else -1)
        canvas.line(start, (start[0] + reach, start[1] - abs(reach) * 0.6), thick * 0.3, colour, depth=depth, taper=0.3)


def _trail(canvas: Canvas, floor: int) -> None:
    rng, height, width = canvas.rng, canvas.height, canvas.width
    meet, foot, half = rng.uniform(0.3, 0.7) * width, rng.uniform(0.1, 0.9) * width, rng.uniform(0.12, 0.3) * width
    stream = rng.random() < 0.35
    colour: Colour = (0.30, 0.42, 0.46) if stream else (0.56, 0.46, 0.34)
    bend = rng.uniform(-0.15, 0.15) * width
    middle = (floor + height) / 2 - 0.1 * (height - floor)
    canvas.polygon(
        [
            (meet - 3, floor),
            (meet + 3, floor),
            ((meet + foot) / 2 + bend + half * 0.35, middle),
            (foot + half, height),
            (foot - half, height),
            ((meet + foot) / 2 + bend - half * 0.35, middle),
        ],
        vary(rng, colour),
        texture=0.12,
    )
    canvas.say("stream" if stream else "path")


def _shafts(canvas: Canvas) -> None:
    rng = canvas.rng
    lean = rng.uniform(-0.5, 0.5) * canvas.width
    for _ in range(int(rng.integers(3, 7))):
        x, half = rng.uniform(0, canvas.width), canvas.width * rng.uniform(0.015, 0.05)
        canvas.polygon(
            [
                (x - half, 0),
                (x + half, 0),
                (x + lean + 2.5 * half, canvas.height),
                (x + lean - 2.5 * half, canvas.height),
            ],
            (1.0, 0.92, 0.70),
            glow=True,
            opacity=0.13,
        )
