"""Pieces of nature that several scenes share: sky, water, ground, hills, trees, rocks."""

from __future__ import annotations

import numpy as np

from mediarank.collections.demo.canvas import Canvas
from mediarank.collections.demo.light import Colour, mix, times, vary
from mediarank.collections.demo.pen import Pen
from mediarank.collections.demo.textures import fractal, jagged, receding
from mediarank.types import Floats

SNOW: Colour = (0.92, 0.94, 0.98)
GREENS: tuple[Colour, ...] = ((0.24, 0.40, 0.14), (0.18, 0.34, 0.18), (0.36, 0.46, 0.16), (0.14, 0.30, 0.16))
AUTUMN: tuple[Colour, ...] = ((0.72, 0.38, 0.10), (0.62, 0.20, 0.10), (0.80, 0.58, 0.16), (0.46, 0.40, 0.14))


def pick(rng: np.random.Generator, colours: tuple[Colour, ...], amount: float = 0.04) -> Colour:
    return vary(rng, colours[int(rng.integers(len(colours)))], amount)


def sky(canvas: Canvas, horizon: float) -> None:
    """Gradient, sun or moon or stars, and clouds that shrink towards the horizon, over the whole canvas."""
    light, rng = canvas.light, canvas.rng
    rows = np.clip(np.arange(canvas.height, dtype=np.float32) / max(horizon, 1.0), 0.0, 1.0)[:, None, None] ** 1.3
    top, low = np.asarray(light.zenith, np.float32), np.asarray(light.horizon, np.float32)
    canvas.pixels[:] = top + (low - top) * rows
    canvas.say("sky")
    overcast = light.weather in ("overcast", "rain", "snow", "fog")
    if not overcast:
        _sun(canvas, horizon)
    cover = {"clear": rng.choice([0.0, 0.25]), "cloudy": 0.65, "fog": 0.0}.get(light.weather, 0.8)
    if cover and horizon > 20:
        _clouds(canvas, int(min(horizon, canvas.height)), float(cover))


def _sun(canvas: Canvas, horizon: float) -> None:
    light = canvas.light
    x, y = light.sun[0] * canvas.width, light.sun[1] * horizon * 1.8
    if light.hour == "night":
        count = int(canvas.rng.integers(30, 90))
        for sx, sy, glint in canvas.rng.random((count, 3)):
            brightness = float(0.3 + 0.7 * glint)
            canvas.ellipse(
                sx * canvas.width, sy * horizon, 0.6, 0.6, (brightness,) * 3, glow=True, opacity=0.8 * brightness
            )
        canvas.say("stars")
    elif y > 1.05 * horizon or light.hour == "noon":
        return
    warm = light.hour != "night"
    colour: Colour = (1.0, 0.93, 0.74) if warm else (0.86, 0.89, 0.95)
    dx = (np.arange(canvas.width, dtype=np.float32) - x)[None, :] / canvas.unit
    dy = (np.arange(canvas.height, dtype=np.float32) - y)[:, None] / canvas.unit
    glow = np.exp(-(dx * dx + dy * dy) / (0.05 if warm else 0.008)) * np.float32(0.55)
    canvas.blend(0, 0, glow.astype(np.float32), np.asarray(mix(light.horizon, colour, 0.6), np.float32))
    radius = canvas.unit * canvas.rng.uniform(0.02, 0.045)
    canvas.ellipse(x, y, radius, radius, colour, glow=True)
    canvas.say("sun" if warm else "moon")


def _clouds(canvas: Canvas, horizon: int, cover: float) -> None:
    light, rng = canvas.light, canvas.rng
    noise = receding(rng, horizon, canvas.width, grain=0.12, stretch=rng.uniform(1.0, 2.5), centre=rng.uniform(0, 1))
    puffs = (noise[::-1] if rng.random() < 0.75 else fractal(rng, horizon, canvas.width, cells=2, stretch=2.5)) * 0.45
    puffs = puffs + 0.35 * fractal(rng, horizon, canvas.width, cells=1.5, octaves=2, stretch=2.0)
    mask = np.clip((puffs + cover - 0.45) * 1.8, 0.0, 0.95).astype(np.float32)
    bright: Colour = mix(light.horizon, (1.0, 1.0, 1.0), 0.5 if light.hour != "night" else 0.08)
    dark = mix(times(light.zenith, 0.85), light.horizon, 0.4)
    shade = np.clip(0.7 - 0.35 * puffs, 0.0, 1.0)[:, :, None]
    canvas.blend(0, 0, mask, np.asarray(dark, np.float32) * (1 - shade) + np.asarray(bright, np.float32) * shade)
    canvas.say("clouds")


def water(canvas: Canvas, top: int, bottom: int, colour: Colour, *, rough: float, mirror: float = 0.35) -> None:
    """A sheet of water between two rows: its own colour, waves, and the mirrored sky above it."""
    light, rng = canvas.light, canvas.rng
    bottom = min(bottom, canvas.height)
    height = bottom - top
    if height < 4:
        return
    waves = receding(rng, height, canvas.width, grain=rng.uniform(0.25, 0.6), stretch=rng.uniform(3, 7))
    nearness = np.linspace(0, 1, height, dtype=np.float32)[:, None, None]
    deep = canvas.lit(colour)
    far = canvas.lit(mix(colour, light.horizon, 0.5), 0.6)
    sheet = far + (deep - far) * nearness
    above = canvas.pixels[max(0, top - height) : top][::-1]
    if len(above) < height:
        above = np.concatenate([above, np.repeat(above[-1:], height - len(above), axis=0)])
    offset = np.clip(np.arange(height)[:, None] + (3.0 * rough * waves).astype(int), 0, height - 1)
    reflected = above[offset, np.arange(canvas.width)[None, :]]
    sheet = sheet + (reflected - sheet) * np.float32(mirror)
    sheet = sheet * (1.0 + 0.22 * rough * waves[:, :, None])
    crest = np.clip(waves - 1.3, 0.0, 0.8)[:, :, None] * nearness * np.float32(rough)
    sheet = sheet + (canvas.lit(SNOW) - sheet) * crest
    canvas.pixels[top:bottom] = sheet
    if light.weather in ("clear", "cloudy") and light.hour in ("dawn", "dusk", "afternoon", "night"):
        x = np.arange(canvas.width, dtype=np.float32)[None, :] / canvas.width - light.sun[0]
        glitter = np.exp(-(x * x) / 0.006) * np.clip(waves * 0.6 + 0.1, 0.0, 0.7)
        paint = np.asarray(mix(light.horizon, (1.0, 0.95, 0.8), 0.5), np.float32)
        canvas.blend(0, top, glitter.astype(np.float32), paint)


def ground(canvas: Canvas, top: int, near: Colour, far: Colour, *, texture: float = 0.16, stretch: float = 2.0) -> None:
    """Level ground from row `top` to the lower edge, snowed over if it snows."""
    height = canvas.height - top
    if height < 4:
        return
    if canvas.light.snowy:
        near, far, texture = mix(near, SNOW, 0.85), mix(far, SNOW, 0.85), texture * 0.5
        canvas.say("snow")
    plane = receding(canvas.rng, height, canvas.width, grain=canvas.rng.uniform(0.5, 0.9), stretch=stretch)
    nearness = (np.linspace(0, 1, height, dtype=np.float32) ** 0.7)[:, None, None]
    paint = canvas.lit(far, 0.75) * (1 - nearness) + canvas.lit(near) * nearness
    patches = 0.4 * fractal(canvas.rng, height, canvas.width, cells=2, octaves=3, stretch=3.0)
    canvas.pixels[top:] = np.maximum(paint * (1.0 + texture * (plane + patches)[:, :, None]), 0.0)


def hills(
    canvas: Canvas, base: float, rise: float, colour: Colour, *, depth: float, craggy: float = 0.35,
    texture: float = 0.08, cells: float = 2.5,
) -> Floats:  # fmt: skip
    """A ridge whose line swings `rise` pixels above `base`; returns the line."""
    line = base - rise * (0.5 + 0.5 * jagged(canvas.rng, canvas.width, cells=cells, octaves=6, decay=craggy))
    if canvas.light.snowy:
        colour = mix(colour, SNOW, 0.6)
    canvas.below(line, canvas.lit(colour, depth), texture=texture)
    return np.asarray(line, np.float32)


def treeline(canvas: Canvas, base: float, rise: float, colour: Colour, *, depth: float) -> None:
    """Distant woods: a finely ragged edge."""
    line = base - rise * (0.65 + 0.35 * jagged(canvas.rng, canvas.width, cells=24, octaves=4, decay=0.75))
    canvas.below(line, canvas.lit(colour, depth), texture=0.2)


def conifer(pen: Pen, colour: Colour) -> None:
    tiers = int(pen.rng.integers(4, 7))
    pen.box(-0.03, 0, 0.03, 0.2, (0.25, 0.17, 0.11))
    for tier in range(tiers):
        low = 0.1 + 0.85 * tier / tiers
        high = min(1.0, low + 1.6 / tiers)
        half = 0.24 * (1 - tier / tiers) + 0.05
        shade = times(colour, 0.75 + 0.45 * tier / tiers)
        if pen.canvas.light.snowy:
            shade = mix(shade, SNOW, 0.45)
        drop = float(pen.rng.uniform(0.0, 0.05))
        pen.polygon(
            [(-half, low), (-half * 0.5, low + drop), (0, low - 0.02), (half * 0.5, low + drop), (half, low), (0, high)],
            shade, texture=0.2, rounded=0.8,
        )  # fmt: skip


def broadleaf(pen: Pen, colour: Colour) -> None:
    pen.polygon([(-0.05, 0), (0.05, 0), (0.025, 0.5), (-0.025, 0.5)], (0.28, 0.20, 0.13), texture=0.2, rounded=0.8)
    if pen.canvas.light.snowy:
        colour = mix(colour, SNOW, 0.5)
    wide = pen.rng.uniform(0.2, 0.34)
    pen.tuft(0, 0.62, wide * 1.05, 0.3, times(colour, 0.6), ragged=0.6)
    for _ in range(int(pen.rng.integers(4, 8))):
        x, y = pen.rng.uniform(-wide, wide) * 0.8, pen.rng.uniform(0.48, 0.86)
        pen.tuft(x, y, wide * pen.rng.uniform(0.4, 0.7), pen.rng.uniform(0.1, 0.16), vary(pen.rng, colour, 0.04), ragged=0.6)


def palm(pen: Pen) -> None:
    lean = float(pen.rng.uniform(-0.15, 0.15))
    pen.line((0, 0), (lean, 0.8), 0.06, (0.45, 0.34, 0.22), taper=0.5)
    for turn in np.linspace(-0.4, np.pi + 0.4, 9):
        reach = pen.rng.uniform(0.26, 0.36)
        tip = (lean + reach * np.cos(turn), 0.8 + reach * 0.75 * np.sin(turn) - 0.08)
        bend = (lean + reach * 0.5 * np.cos(turn), 0.86 + reach * 0.6 * np.sin(turn))
        pen.polygon([(lean, 0.8), bend, tip, (bend[0], bend[1] - 0.06)], vary(pen.rng, (0.22, 0.42, 0.16)))


def rock(pen: Pen) -> None:
    colour = mix(vary(pen.rng, (0.42, 0.40, 0.38), 0.05), SNOW, 0.6 if pen.canvas.light.snowy else 0.0)
    pen.shadow(0.6)
    pen.tuft(0, 0.35, 0.65, 0.42, colour, ragged=0.25, texture=0.3)
    pen.tuft(0.3, 0.2, 0.4, 0.26, times(colour, 0.85), ragged=0.25, texture=0.3)


def trees(
    canvas: Canvas, count: int, span: tuple[float, float], base: tuple[float, float], tall: tuple[float, float], *,
    pines: float, autumn: bool, depth: tuple[float, float] = (0.5, 0.1),
) -> None:  # fmt: skip
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
