"""Open country: low hills, meadows or crops in rows, hedges, a few trees."""

from __future__ import annotations

import numpy as np

from mediarank.collections.demo.elements.scenery import ground, hills, sky
from mediarank.collections.demo.elements.trees import AUTUMN, GREENS, treeline, trees
from mediarank.collections.demo.paint.canvas import CIRCLE, Canvas
from mediarank.collections.demo.paint.light import Colour, pick, times, vary
from mediarank.collections.demo.props.cast import Cast


def field(canvas: Canvas, cast: Cast) -> None:
    """Open country: low hills, meadows or crops in rows, hedges, a few trees."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    horizon = int(height * rng.uniform(0.32, 0.58))
    autumn = bool(rng.random() < 0.3)
    sky(canvas, horizon)
    cast.enter(canvas, "sky", (0.1, 0.9), (0.08, 0.75 * horizon / height), depth=(0.3, 0.3))
    if rng.random() < 0.25:
        far_range = canvas.unit * rng.uniform(0.15, 0.35)
        hills(canvas, horizon, far_range, (0.44, 0.44, 0.48), depth=0.8, craggy=0.55, texture=0.14)
    for layer in range(int(rng.integers(1, 4))):
        rise = canvas.unit * rng.uniform(0.05, 0.16) / (layer + 1)
        hills(canvas, horizon, rise, pick(rng, AUTUMN[3:] + GREENS), depth=0.85 - 0.2 * layer)
        canvas.say("hills")
    if rng.random() < 0.5:
        treeline(canvas, horizon + 2, canvas.unit * rng.uniform(0.03, 0.08), pick(rng, GREENS), depth=0.6)
    crops: tuple[Colour, ...] = ((0.42, 0.50, 0.18), (0.72, 0.62, 0.24), (0.30, 0.44, 0.16), (0.50, 0.38, 0.24))
    near, far = pick(rng, crops), pick(rng, crops)
    ground(canvas, horizon, near, far, texture=0.2)
    canvas.say("grass" if near[1] >= near[0] else "crops")
    if rng.random() < 0.45:
        _rows(canvas, horizon, times(near, rng.uniform(0.6, 0.8)))
        canvas.say("crops")
    edge = horizon / height
    cast.enter(canvas, "span", (0.12, 0.88), (edge + 0.01, edge + 0.1), grow=(0.7, 1.1), depth=(0.5, 0.3))
    count = int(rng.integers(0, 7))
    trees(
        canvas,
        count,
        (0, width),
        (horizon + 2, horizon + 0.25 * height),
        (0.08 * canvas.unit, 0.3 * canvas.unit),
        pines=0.2,
        autumn=autumn,
    )
    if rng.random() < 0.35:
        _fence(canvas, height * rng.uniform(0.7, 0.9))
    cast.enter(canvas, "ground", (0.12, 0.88), (edge + 0.2, 0.95), grow=(0.6, 1.3), depth=(0.3, 0.0))
    if rng.random() < 0.4 and not canvas.light.snowy:
        _flowers(canvas, int(height * 0.72))


def _rows(canvas: Canvas, horizon: int, colour: Colour) -> None:
    """Furrows or vines that meet at the horizon."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    meet = rng.uniform(-0.3, 1.3) * width
    pitch = width * rng.uniform(0.06, 0.16)
    feet = np.arange(-2.0 * width, 3.0 * width, pitch)
    feet += rng.normal(0, pitch * 0.05, len(feet))
    furrows = [[(meet, horizon), (foot - pitch * 0.2, height), (foot + pitch * 0.2, height)] for foot in feet]
    canvas.polygons([np.asarray(furrow, np.float32) for furrow in furrows], colour, texture=0.3, opacity=0.6)


def _fence(canvas: Canvas, y: float) -> None:
    rng, tall = canvas.rng, canvas.unit * canvas.rng.uniform(0.06, 0.12)
    colour = vary(rng, (0.42, 0.32, 0.24))
    slope = rng.uniform(-0.15, 0.15)
    for x in np.arange(0.0, canvas.width, tall * 1.2):
        foot = y + slope * (x - canvas.width / 2)
        canvas.line((x, foot), (x, foot - tall), tall * 0.12, colour)
    for share in (0.45, 0.85):
        left, right = y - slope * canvas.width / 2, y + slope * canvas.width / 2
        canvas.line((0, left - share * tall), (canvas.width, right - share * tall), tall * 0.08, colour)
    canvas.say("fence")


def _flowers(canvas: Canvas, top: int) -> None:
    rng = canvas.rng
    colour = pick(rng, ((0.90, 0.20, 0.18), (0.95, 0.85, 0.25), (0.70, 0.35, 0.80), (0.95, 0.95, 0.95)))
    for shade in (0.8, 1.0, 1.15):
        nearness = rng.random(int(rng.integers(15, 40)))
        places = np.stack([rng.uniform(0, canvas.width, len(nearness)), top + (canvas.height - top) * nearness], axis=1)
        radius = canvas.unit * (0.004 + 0.010 * nearness)
        blooms = CIRCLE[None] * radius[:, None, None] * (1.0, 0.8) + places[:, None, :]
        canvas.polygons(list(blooms.astype(np.float32)), times(colour, shade))
    canvas.say("flowers")
