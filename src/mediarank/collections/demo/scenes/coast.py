"""The coast: sea to the horizon; a beach, a headland or only water in front."""

from __future__ import annotations

import numpy as np

from mediarank.collections.demo.elements.scenery import SNOW, rock, sky, water
from mediarank.collections.demo.elements.townscape import tower
from mediarank.collections.demo.elements.trees import palm
from mediarank.collections.demo.paint.canvas import Canvas
from mediarank.collections.demo.paint.light import Colour, mix, times, vary
from mediarank.collections.demo.paint.pen import Pen
from mediarank.collections.demo.paint.textures import jagged
from mediarank.collections.demo.props.cast import Cast


def coast(canvas: Canvas, cast: Cast) -> None:
    """Sea to the horizon; a beach, a headland or only water in front."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    horizon = int(height * rng.uniform(0.28, 0.58))
    sky(canvas, horizon)
    cast.enter(canvas, "sky", (0.1, 0.9), (0.08, 0.75 * horizon / height), depth=(0.3, 0.3))
    if rng.random() < 0.45:
        hump = np.clip(jagged(rng, width, cells=2, octaves=5, decay=0.45) - rng.uniform(-0.3, 0.4), 0, None)
        isle = (horizon + 2 - canvas.unit * rng.uniform(0.08, 0.25) * hump).astype(np.float32)
        canvas.below(isle, canvas.lit(vary(rng, (0.34, 0.40, 0.36)), 0.8), bottom=horizon + 1, texture=0.08)
        canvas.say("island")
    if rng.random() < 0.2:
        for _ in range(int(rng.integers(4, 12))):
            wide, tall = canvas.unit * rng.uniform(0.03, 0.09), canvas.unit * rng.uniform(0.03, 0.16)
            tower(canvas, width * rng.uniform(0, 1), horizon + 2, wide, tall, depth=0.7)
        canvas.say("city")
    sea: Colour = vary(rng, ((0.10, 0.34, 0.48), (0.12, 0.44, 0.50), (0.20, 0.34, 0.40))[int(rng.integers(3))], 0.04)
    water(canvas, horizon, height, sea, rough=rng.uniform(0.5, 1.5), mirror=rng.uniform(0.15, 0.4))
    canvas.say("sea")
    kind = rng.choice(["beach", "cliff", "open"], p=[0.55, 0.25, 0.2])
    if kind == "cliff":
        _headland(canvas, horizon)
    cast.enter(canvas, "span", (0.1, 0.9), (horizon / height + 0.01, horizon / height + 0.05), depth=(0.5, 0.3))
    edge = horizon / height
    cast.enter(canvas, "water", (0.1, 0.9), (edge + 0.04, edge + 0.3 * (1 - edge)), grow=(0.5, 1.2), depth=(0.5, 0.1))
    if kind == "beach" or cast.wants("ground"):
        _beach(canvas, cast, horizon)
    elif rng.random() < 0.6:
        for _ in range(int(rng.integers(2, 7))):
            foot = height * rng.uniform(0.85, 1.05)
            rock(Pen(canvas, rng.uniform(0, width), foot, canvas.unit * rng.uniform(0.08, 0.25)))
        canvas.say("rocks")


def _headland(canvas: Canvas, horizon: int) -> None:
    rng, width = canvas.rng, canvas.width
    reach = rng.uniform(0.25, 0.6)
    slope = np.linspace(1, 0, width) ** rng.uniform(0.4, 1.2) if rng.random() < 0.5 else np.linspace(0, 1, width)
    profile = np.clip((slope - 1 + reach) / reach, 0, 1) ** 0.6
    top = (
        horizon
        + canvas.unit * 0.06
        - canvas.unit
        * rng.uniform(0.15, 0.35)
        * profile
        * (1 + 0.25 * jagged(rng, width, cells=5, octaves=6, decay=0.6))
    )
    bottom = int(horizon + canvas.unit * 0.06)
    canvas.below(top.astype(np.float32), canvas.lit(vary(rng, (0.50, 0.44, 0.36)), 0.35), bottom=bottom, texture=0.28)
    canvas.say("cliff")


def _beach(canvas: Canvas, cast: Cast, horizon: int) -> None:
    rng, height, width = canvas.rng, canvas.height, canvas.width
    slant = rng.uniform(-0.22, 0.22)
    base = horizon + (height - horizon) * rng.uniform(0.4, 0.75)
    line = (
        base + slant * height * np.linspace(-0.5, 0.5, width) + 0.02 * height * jagged(rng, width, cells=3, decay=0.4)
    )
    line = np.clip(line, horizon + 6, height - 4).astype(np.float32)
    sand: Colour = vary(rng, (0.82, 0.72, 0.52), 0.06)
    foam = 0.012 * height * (1.2 + jagged(rng, width, cells=9, octaves=4, decay=0.6))
    canvas.below(line - foam.astype(np.float32) * 1.5, canvas.lit(SNOW), soft=4.0)
    canvas.below(line, canvas.lit(times(sand, 0.72)), texture=0.04, soft=3.0)
    dry = canvas.lit(mix(sand, SNOW, 0.5 if canvas.light.snowy else 0.0))
    canvas.below(line + np.float32(0.05 * height), dry, texture=0.09, soft=9.0)
    canvas.say("beach", "sand")
    if rng.random() < 0.35:
        for _ in range(int(rng.integers(1, 4))):
            palm(
                Pen(canvas, rng.uniform(0, width), height * rng.uniform(0.8, 1.0), canvas.unit * rng.uniform(0.4, 0.8))
            )
        canvas.say("palm")
    edge = float(line.max()) / height
    cast.enter(canvas, "ground", (0.12, 0.88), (min(edge + 0.05, 0.93), 0.97), grow=(0.8, 1.3), depth=(0.1, 0.0))
    for _ in range(int(rng.integers(0, 5))):
        rock(Pen(canvas, rng.uniform(0, width), rng.uniform(base, height), canvas.unit * rng.uniform(0.02, 0.07)))
