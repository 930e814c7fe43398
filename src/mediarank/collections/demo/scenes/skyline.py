"""The skyline: a city from outside, towers behind towers, above water, a park or roofs."""

from __future__ import annotations

import numpy as np

from mediarank.collections.demo.elements.scenery import ground, hills, sky, water
from mediarank.collections.demo.elements.townscape import tower
from mediarank.collections.demo.elements.trees import GREENS, trees
from mediarank.collections.demo.paint.canvas import Canvas
from mediarank.collections.demo.paint.light import pick, vary
from mediarank.collections.demo.props.cast import Cast


def skyline(canvas: Canvas, cast: Cast) -> None:
    """A city from outside: towers behind towers, above water, a park or roofs."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    base = int(height * rng.uniform(0.6, 0.85))
    sky(canvas, base)
    if rng.random() < 0.3:
        hills(canvas, base, canvas.unit * rng.uniform(0.1, 0.3), pick(rng, GREENS), depth=0.9)
    layers = int(rng.integers(2, 4))
    peak = rng.uniform(0.25, 0.75)
    nearby = rng.uniform(0.35, 1.0)
    for layer in range(layers):
        x = -rng.uniform(0, 0.1) * width
        while x < width:
            wide = canvas.unit * rng.uniform(0.07, 0.17) * (0.5 + 0.5 * nearby)
            centre = np.exp(-(((x + wide / 2) / width - peak) ** 2) / 0.08)
            tall = canvas.unit * (0.12 + rng.uniform(0.1, 0.55) * centre + rng.uniform(0, 0.12)) * (1 - 0.22 * layer)
            tall *= nearby
            if rng.random() < 0.85:
                tower(canvas, x, base + 2, wide, tall, depth=0.75 - 0.65 * layer / layers)
            x += wide * rng.uniform(0.7, 1.3)
    cast.enter(canvas, "sky", (0.1, 0.9), (0.08, 0.35), grow=(0.6, 1.0), depth=(0.3, 0.3))
    canvas.say("city", "building", "tower")
    front = (
        "water" if cast.wants("water") else "park" if cast.wants("ground") else rng.choice(["water", "park", "roofs"])
    )
    if front == "water":
        water(canvas, base, height, vary(rng, (0.16, 0.26, 0.32)), rough=rng.uniform(0.3, 0.9), mirror=0.55)
        canvas.say("river")
    else:
        ground(canvas, base, pick(rng, GREENS), pick(rng, GREENS), texture=0.2)
    edge = base / height
    cast.enter(canvas, "span", (0.2, 0.8), (edge, edge + 0.04), grow=(0.8, 1.2), depth=(0.3, 0.2))
    if front == "water":
        cast.enter(canvas, "water", (0.12, 0.88), (edge + 0.05, 0.97), grow=(0.5, 1.0), depth=(0.2, 0.0))
    elif front == "park":
        trees(
            canvas,
            int(rng.integers(6, 16)),
            (0, width),
            (base, height * 0.97),
            (0.08 * canvas.unit, 0.2 * canvas.unit),
            pines=0.1,
            autumn=bool(rng.random() < 0.3),
            depth=(0.2, 0.0),
        )
        canvas.say("park")
    else:
        for _ in range(int(rng.integers(5, 10))):
            wide = canvas.unit * rng.uniform(0.15, 0.4)
            tower(
                canvas,
                rng.uniform(-0.1, 0.95) * width,
                height + 5,
                wide,
                height - base + canvas.unit * 0.05,
                depth=0.05,
            )
        canvas.say("roofs")
    cast.enter(canvas, "ground", (0.12, 0.88), (min(edge + 0.1, 0.92), 0.97), grow=(0.7, 1.1), depth=(0.1, 0.0))
