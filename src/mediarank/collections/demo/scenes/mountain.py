"""Mountains: craggy ridges behind each other, snow on the high ones, woods or a lake at their feet."""

from __future__ import annotations

import numpy as np

from mediarank.collections.demo.elements.scenery import SNOW, ground, rock, sky, water
from mediarank.collections.demo.elements.trees import GREENS, treeline, trees
from mediarank.collections.demo.paint.canvas import Canvas
from mediarank.collections.demo.paint.light import mix, pick, rgb, vary
from mediarank.collections.demo.paint.pen import Pen
from mediarank.collections.demo.paint.textures import fractal, jagged
from mediarank.collections.demo.props.cast import Cast


def mountain(canvas: Canvas, cast: Cast) -> None:
    """Craggy ridges behind each other, snow on the high ones, woods or a lake at their feet."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    foot = int(height * rng.uniform(0.5, 0.75))
    sky(canvas, foot)
    layers = int(rng.integers(2, 5))
    nearby = rng.uniform(0.35, 1.0)  # at its foot, or far off beyond meadows
    for layer in range(layers):
        share = layer / layers
        rise = canvas.unit * rng.uniform(0.3, 0.62) * (1 - 0.6 * share) * nearby
        _range(canvas, foot, rise, depth=0.8 - 0.6 * share)
    cast.enter(canvas, "sky", (0.1, 0.9), (0.06, 0.35), grow=(0.6, 1.1), depth=(0.3, 0.3))
    canvas.say("mountain")
    lake = cast.wants("water") or rng.random() < 0.3
    if rng.random() < 0.7:
        treeline(
            canvas, foot + 3, canvas.unit * rng.uniform(0.04, 0.1), pick(rng, GREENS[1:2] + GREENS[3:]), depth=0.35
        )
    shore = foot
    if lake:
        shore = int(foot + (height - foot) * rng.uniform(0.45, 0.7))
        water(canvas, foot, height, vary(rng, (0.14, 0.32, 0.38)), rough=rng.uniform(0.1, 0.5), mirror=0.6)
        canvas.say("lake")
    cast.enter(canvas, "span", (0.15, 0.85), (foot / height, foot / height + 0.05), grow=(0.7, 1.0), depth=(0.4, 0.3))
    if lake:
        cast.enter(canvas, "water", (0.15, 0.85), (foot / height + 0.05, shore / height - 0.01), depth=(0.4, 0.1))
    meadow = pick(rng, (*GREENS, (0.46, 0.42, 0.34)))
    if lake:
        line = shore + 0.03 * height * jagged(rng, width, cells=3, octaves=5, decay=0.5)
        canvas.below(line.astype(np.float32), canvas.lit(mix(meadow, SNOW, 0.8 * canvas.light.snowy)), texture=0.22)
    else:
        ground(canvas, shore, meadow, meadow, texture=0.25, stretch=1.0)
    trees(
        canvas,
        int(rng.integers(0, 9)),
        (0, width),
        (shore, height * 0.98),
        (0.1 * canvas.unit, 0.35 * canvas.unit),
        pines=0.9,
        autumn=False,
        depth=(0.3, 0.0),
    )
    cast.enter(canvas, "ground", (0.12, 0.88), (min(0.9, shore / height + 0.08), 0.96), depth=(0.2, 0.0))
    for _ in range(int(rng.integers(0, 6))):
        y = rng.uniform(shore, height)
        rock(Pen(canvas, rng.uniform(0, width), y, canvas.unit * rng.uniform(0.03, 0.1) * (0.5 + y / height)))


def _range(canvas: Canvas, foot: int, rise: float, *, depth: float) -> None:
    """One craggy ridge with faces in light and shade, snow above a ragged line."""
    rng, width = canvas.rng, canvas.width
    line = foot - rise * (0.55 + 0.45 * jagged(rng, width, cells=2.2, octaves=7, decay=0.52))
    top = max(0, int(line.min()))
    height = foot - top
    if height < 6:
        return
    faces = fractal(rng, height, width, cells=max(2.0, height / 45), octaves=4, stretch=0.7)
    slope = np.diff(faces, axis=1, prepend=faces[:, :1])
    slope /= slope.std() + 1e-6
    rocky = canvas.lit(
        vary(rng, ((0.42, 0.38, 0.36), (0.36, 0.38, 0.42), (0.48, 0.38, 0.30))[int(rng.integers(3))]), depth
    )
    white = canvas.lit(SNOW, depth)
    level = np.linspace(1, 0, height, dtype=np.float32)[:, None]
    limit = rng.uniform(0.25, 0.9) - (0.4 if canvas.light.snowy else 0.0)
    snow = np.clip((level + 0.14 * faces - 0.25 * np.abs(slope) - limit) * 9, 0, 1)
    side = 1.0 if canvas.light.sun[0] < 0.5 else -1.0
    paint = (rocky + (white - rocky) * snow) * np.clip(0.95 + 0.3 * side * slope, 0.45, 1.4)
    mist = (1 - level) ** 2 * np.float32(canvas.light.haze_strength * 0.5)
    paint = np.asarray(paint + (rgb(canvas.light.haze) - paint) * mist, np.float32)
    canvas.below(np.maximum(line, top).astype(np.float32), paint, bottom=foot)
    if limit < 0.6:
        canvas.say("snow")
