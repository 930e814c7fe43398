"""Four scenes of nature: coast, field, mountain and forest. Each paints its canvas back to front around its cast."""

from __future__ import annotations

import numpy as np

from mediarank.collections.demo.canvas import Canvas
from mediarank.collections.demo.cast import Cast
from mediarank.collections.demo.light import Colour, mix, times, vary
from mediarank.collections.demo.pen import Pen
from mediarank.collections.demo.scenery import (
    AUTUMN, GREENS, SNOW, broadleaf, conifer, ground, hills, palm, pick, rock, sky, treeline, trees, water,
)  # fmt: skip
from mediarank.collections.demo.textures import fractal, jagged


def coast(canvas: Canvas, cast: Cast) -> None:
    """Sea to the horizon; a beach, a headland or only water in front."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    horizon = int(height * rng.uniform(0.28, 0.58))
    sky(canvas, horizon)
    cast.enter(canvas, "sky", (0.1, 0.9), (0.08, 0.75 * horizon / height), depth=(0.3, 0.3))
    if rng.random() < 0.45:
        isle = horizon + 2 - canvas.unit * 0.09 * np.clip(
            jagged(rng, width, cells=2, octaves=5, decay=0.45) - rng.uniform(-0.3, 0.4), 0, None
        )
        canvas.below(isle.astype(np.float32), canvas.lit(vary(rng, (0.34, 0.40, 0.36)), 0.8), bottom=horizon + 1)
        canvas.say("island")
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
            Pen_at = (rng.uniform(0, width), height * rng.uniform(0.85, 1.05))
            rock(Pen(canvas, *Pen_at, canvas.unit * rng.uniform(0.08, 0.25)))
        canvas.say("rocks")


def _headland(canvas: Canvas, horizon: int) -> None:
    rng, width = canvas.rng, canvas.width
    reach = rng.uniform(0.25, 0.6)
    slope = np.linspace(1, 0, width) ** rng.uniform(0.4, 1.2) if rng.random() < 0.5 else np.linspace(0, 1, width)
    profile = np.clip((slope - 1 + reach) / reach, 0, 1) ** 0.6
    top = horizon + canvas.unit * 0.06 - canvas.unit * rng.uniform(0.15, 0.35) * profile * (
        1 + 0.25 * jagged(rng, width, cells=5, octaves=6, decay=0.6)
    )
    bottom = int(horizon + canvas.unit * 0.06)
    canvas.below(top.astype(np.float32), canvas.lit(vary(rng, (0.50, 0.44, 0.36)), 0.35), bottom=bottom, texture=0.28)
    canvas.say("cliff")


def _beach(canvas: Canvas, cast: Cast, horizon: int) -> None:
    rng, height, width = canvas.rng, canvas.height, canvas.width
    slant = rng.uniform(-0.22, 0.22)
    base = horizon + (height - horizon) * rng.uniform(0.4, 0.75)
    line = base + slant * height * np.linspace(-0.5, 0.5, width) + 0.02 * height * jagged(rng, width, cells=3, decay=0.4)
    line = np.clip(line, horizon + 6, height - 4).astype(np.float32)
    sand: Colour = vary(rng, (0.82, 0.72, 0.52), 0.06)
    foam = 0.012 * height * (1.2 + jagged(rng, width, cells=9, octaves=4, decay=0.6))
    canvas.below(line - foam.astype(np.float32) * 1.5, canvas.lit(SNOW), soft=4.0)
    canvas.below(line, canvas.lit(times(sand, 0.72)), texture=0.04, soft=3.0)
    dry = canvas.lit(mix(sand, SNOW, 0.5 if canvas.light.snowy else 0.0))
    canvas.below(line + 0.05 * height, dry, texture=0.09, soft=9.0)
    canvas.say("beach", "sand")
    if rng.random() < 0.35:
        for _ in range(int(rng.integers(1, 4))):
            palm(Pen(canvas, rng.uniform(0, width), height * rng.uniform(0.8, 1.0), canvas.unit * rng.uniform(0.4, 0.8)))
        canvas.say("palm")
    edge = float(line.max()) / height
    cast.enter(canvas, "ground", (0.12, 0.88), (min(edge + 0.05, 0.93), 0.97), grow=(0.8, 1.3), depth=(0.1, 0.0))
    for _ in range(int(rng.integers(0, 5))):
        rock(Pen(canvas, rng.uniform(0, width), rng.uniform(base, height), canvas.unit * rng.uniform(0.02, 0.07)))


def field(canvas: Canvas, cast: Cast) -> None:
    """Open country: low hills, meadows or crops in rows, hedges, a few trees."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    horizon = int(height * rng.uniform(0.32, 0.58))
    autumn = bool(rng.random() < 0.3)
    sky(canvas, horizon)
    cast.enter(canvas, "sky", (0.1, 0.9), (0.08, 0.75 * horizon / height), depth=(0.3, 0.3))
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
    trees(canvas, count, (0, width), (horizon + 2, horizon + 0.25 * height), (0.08 * canvas.unit, 0.3 * canvas.unit),
          pines=0.2, autumn=autumn)  # fmt: skip
    if rng.random() < 0.35:
        _fence(canvas, height * rng.uniform(0.7, 0.9))
    cast.enter(canvas, "ground", (0.12, 0.88), (edge + 0.2, 0.95), grow=(0.6, 1.3), depth=(0.3, 0.0))
    if rng.random() < 0.4 and not canvas.light.snowy:
        flowers(canvas, int(height * 0.72))


def _rows(canvas: Canvas, horizon: int, colour: Colour) -> None:
    """Furrows or vines that meet at the horizon."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    meet = rng.uniform(-0.3, 1.3) * width
    pitch = width * rng.uniform(0.06, 0.16)
    for column in np.arange(-2.0 * width, 3.0 * width, pitch):
        foot = column + rng.normal(0, pitch * 0.05)
        canvas.polygon(
            [(meet, horizon), (foot - pitch * 0.2, height), (foot + pitch * 0.2, height)], colour, texture=0.3,
            opacity=0.6,
        )  # fmt: skip


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


def flowers(canvas: Canvas, top: int) -> None:
    rng = canvas.rng
    colour = pick(rng, ((0.90, 0.20, 0.18), (0.95, 0.85, 0.25), (0.70, 0.35, 0.80), (0.95, 0.95, 0.95)))
    for nearness in np.sort(rng.random(int(rng.integers(40, 110)))):
        y = top + (canvas.height - top) * nearness
        radius = canvas.unit * (0.004 + 0.010 * nearness)
        canvas.ellipse(rng.uniform(0, canvas.width), y, radius, radius * 0.8, vary(rng, colour, 0.06))
    canvas.say("flowers")


def mountain(canvas: Canvas, cast: Cast) -> None:
    """Craggy ridges behind each other, snow on the high ones, woods or a lake at their feet."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    foot = int(height * rng.uniform(0.5, 0.75))
    sky(canvas, foot)
    cast.enter(canvas, "sky", (0.1, 0.9), (0.06, 0.35), grow=(0.6, 1.1), depth=(0.3, 0.3))
    layers = int(rng.integers(2, 5))
    for layer in range(layers):
        share = layer / layers
        _range(canvas, foot, canvas.unit * rng.uniform(0.3, 0.62) * (1 - 0.6 * share), depth=0.8 - 0.6 * share)
    canvas.say("mountain")
    lake = cast.wants("water") or rng.random() < 0.3
    if rng.random() < 0.7:
        treeline(canvas, foot + 3, canvas.unit * rng.uniform(0.04, 0.1), pick(rng, GREENS[1:2] + GREENS[3:]), depth=0.35)
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
    trees(canvas, int(rng.integers(0, 9)), (0, width), (shore, height * 0.98),
          (0.1 * canvas.unit, 0.35 * canvas.unit), pines=0.9, autumn=False, depth=(0.3, 0.0))  # fmt: skip
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
    slope = cv_slope(faces)
    rocky = canvas.lit(vary(rng, ((0.42, 0.38, 0.36), (0.36, 0.38, 0.42), (0.48, 0.38, 0.30))[int(rng.integers(3))]), depth)
    white = canvas.lit(SNOW, depth)
    level = np.linspace(1, 0, height, dtype=np.float32)[:, None]
    limit = rng.uniform(0.25, 0.9) - (0.4 if canvas.light.snowy else 0.0)
    snow = np.clip((level + 0.14 * faces - 0.25 * np.abs(slope) - limit) * 9, 0, 1)[:, :, None]
    side = 1.0 if canvas.light.sun[0] < 0.5 else -1.0
    paint = (rocky + (white - rocky) * snow) * np.clip(0.95 + 0.3 * side * slope, 0.45, 1.4)[:, :, None]
    haze = np.asarray(canvas.light.haze, np.float32)
    mist = ((1 - level) ** 2 * canvas.light.haze_strength * 0.5)[:, :, None]
    canvas.below(np.maximum(line, top).astype(np.float32), (paint + (haze - paint) * mist).astype(np.float32), bottom=foot)
    if limit < 0.6:
        canvas.say("snow")


def cv_slope(faces: np.ndarray) -> np.ndarray:
    slope = np.diff(faces, axis=1, prepend=faces[:, :1])
    return slope / (slope.std() + 1e-6)


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
    veil = np.clip(0.75 + 0.35 * backdrop, 0, 1).astype(np.float32)
    canvas.blend(0, 0, veil, canvas.lit(times(leaf, 0.9), 0.8) * (1 + 0.15 * backdrop[:, :, None]))
    litter: Colour = vary(rng, (0.50, 0.32, 0.16) if autumn else (0.24, 0.26, 0.12))
    ground(canvas, floor, litter, mix(litter, leaf, 0.5), texture=0.3, stretch=1.0)
    canvas.say("forest", *(["autumn"] if autumn else []))
    if rng.random() < 0.4:
        _trail(canvas, floor)
    cast.enter(canvas, "span", (0.25, 0.75), (floor / height, floor / height + 0.1), grow=(0.6, 0.9), depth=(0.3, 0.2))
    entered = False
    for nearness in np.sort(rng.random(int(rng.integers(14, 34)))):
        if nearness > 0.75 and not entered:
            cast.enter(canvas, "ground", (0.15, 0.85), (floor / height + 0.12, 0.95), depth=(0.2, 0.0))
            entered = True
        x = rng.uniform(-0.05, 1.05) * width
        y = floor + (height - floor) * nearness**1.5
        if pines and nearness < 0.8:
            conifer(Pen(canvas, x, y, canvas.unit * (0.45 + 0.6 * nearness), 0.8 * (1 - nearness)), times(leaf, 0.8))
        else:
            _trunk(canvas, x, y, canvas.unit * (0.012 + 0.075 * nearness**2), 0.8 * (1 - nearness))
    if not entered:
        cast.enter(canvas, "ground", (0.15, 0.85), (floor / height + 0.12, 0.95), depth=(0.2, 0.0))
    canvas.say("pines" if pines else "trunks")
    for _ in range(int(rng.integers(6, 16))):
        canvas.tuft(rng.uniform(0, width), rng.uniform(-0.05, 0.22) * height, canvas.unit * rng.uniform(0.1, 0.25),
                    canvas.unit * rng.uniform(0.06, 0.14), vary(rng, times(leaf, rng.uniform(0.6, 1.2))), ragged=0.8,
                    depth=rng.uniform(0, 0.4))  # fmt: skip
    for _ in range(int(rng.integers(2, 10))):
        size = canvas.unit * rng.uniform(0.04, 0.12)
        canvas.tuft(rng.uniform(0, width), height * rng.uniform(0.85, 1.02), size, size * 0.6, vary(rng, leaf), ragged=0.7)
    if canvas.light.hour in ("dawn", "afternoon") and canvas.light.weather != "rain" and rng.random() < 0.6:
        _shafts(canvas)
        canvas.say("sunbeams")


def _trunk(canvas: Canvas, x: float, y: float, thick: float, depth: float) -> None:
    rng = canvas.rng
    colour = vary(rng, (0.30, 0.22, 0.16) if rng.random() < 0.8 else (0.74, 0.72, 0.68), 0.04)
    lean = rng.normal(0, 0.03) * canvas.height
    canvas.polygon(
        [(x - thick * 0.8, y), (x + thick * 0.8, y), (x + lean + thick * 0.4, -5), (x + lean - thick * 0.4, -5)],
        colour, depth=depth, texture=0.3, rounded=1.0,
    )  # fmt: skip
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
        [(meet - 3, floor), (meet + 3, floor), ((meet + foot) / 2 + bend + half * 0.35, middle), (foot + half, height),
         (foot - half, height), ((meet + foot) / 2 + bend - half * 0.35, middle)],
        vary(rng, colour), texture=0.12,
    )  # fmt: skip
    canvas.say("stream" if stream else "path")


def _shafts(canvas: Canvas) -> None:
    rng = canvas.rng
    lean = rng.uniform(-0.5, 0.5) * canvas.width
    for _ in range(int(rng.integers(3, 7))):
        x, half = rng.uniform(0, canvas.width), canvas.width * rng.uniform(0.015, 0.05)
        canvas.polygon(
            [(x - half, 0), (x + half, 0), (x + lean + 2.5 * half, canvas.height), (x + lean - 2.5 * half, canvas.height)],
            (1.0, 0.92, 0.70), glow=True, opacity=0.13,
        )  # fmt: skip


__all__ = ["broadleaf", "coast", "field", "flowers", "forest", "mountain"]
