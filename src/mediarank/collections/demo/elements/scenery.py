"""The large surfaces of nature that scenes are built on: sky, water, ground, hills; and rocks."""

from __future__ import annotations

import numpy as np

from mediarank.collections.demo.paint.canvas import CIRCLE, Canvas
from mediarank.collections.demo.paint.light import Colour, mix, rgb, times, vary
from mediarank.collections.demo.paint.pen import Pen
from mediarank.collections.demo.paint.textures import fractal, jagged, receding

SNOW: Colour = (0.92, 0.94, 0.98)


def sky(canvas: Canvas, horizon: float) -> None:
    """Gradient, sun or moon or stars, and clouds that shrink towards the horizon, over the whole canvas."""
    light, rng = canvas.light, canvas.rng
    rows = np.clip(np.arange(canvas.height, dtype=np.float32) / max(horizon, 1.0), 0.0, 1.0)[:, None] ** 1.3
    canvas.planes[:] = rgb(light.zenith) + (rgb(light.horizon) - rgb(light.zenith)) * rows
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
        for brightness in (0.4, 0.6, 0.9):
            places = canvas.rng.random((count // 3, 2), dtype=np.float32) * (canvas.width, horizon)
            canvas.polygons(
                [CIRCLE * np.float32(0.8 * brightness) + p for p in places.astype(np.float32)],
                (1.0, 1.0, 1.0),
                glow=True,
                opacity=brightness,
            )
        canvas.say("stars")
    elif y > 1.05 * horizon or light.hour == "noon":
        return
    warm = light.hour != "night"
    colour: Colour = (1.0, 0.93, 0.74) if warm else (0.86, 0.89, 0.95)
    reach = canvas.unit * (0.27 if warm else 0.11)
    canvas.halo(x, y, reach, mix(light.horizon, colour, 0.6), 0.55)
    radius = canvas.unit * canvas.rng.uniform(0.02, 0.045)
    canvas.ellipse(x, y, radius, radius, colour, glow=True)
    canvas.say("sun" if warm else "moon")


def _clouds(canvas: Canvas, horizon: int, cover: float) -> None:
    light, rng = canvas.light, canvas.rng
    noise = receding(
        canvas.tile, horizon, canvas.width, grain=0.12, stretch=rng.uniform(1.0, 2.5), centre=rng.uniform(0, 1)
    )
    puffs = (noise[::-1] if rng.random() < 0.75 else fractal(rng, horizon, canvas.width, cells=2, stretch=2.5)) * 0.45
    puffs = puffs + 0.35 * fractal(rng, horizon, canvas.width, cells=1.5, octaves=2, stretch=2.0)
    mask = np.clip((puffs + cover - 0.45) * 1.8, 0.0, 0.95).astype(np.float32)
    bright: Colour = mix(light.horizon, (1.0, 1.0, 1.0), 0.5 if light.hour != "night" else 0.08)
    dark = mix(times(light.zenith, 0.85), light.horizon, 0.4)
    shade = np.clip(0.7 - 0.35 * puffs, 0.0, 1.0)
    canvas.blend(0, 0, mask, rgb(dark) + (rgb(bright) - rgb(dark)) * shade)
    canvas.say("clouds")


def water(canvas: Canvas, top: int, bottom: int, colour: Colour, *, rough: float, mirror: float = 0.35) -> None:
    """A sheet of water between two rows: its own colour, waves, and the mirrored sky above it."""
    light, rng = canvas.light, canvas.rng
    bottom = min(bottom, canvas.height)
    height = bottom - top
    if height < 4:
        return
    waves = receding(canvas.tile, height, canvas.width, grain=rng.uniform(0.25, 0.6), stretch=rng.uniform(3, 7))
    nearness = np.linspace(0, 1, height, dtype=np.float32)[:, None]
    deep = canvas.lit(colour)
    far = canvas.lit(mix(colour, light.horizon, 0.5), 0.6)
    sheet = far + (deep - far) * nearness
    # The mirror image in a row lies as far above the edge as the row lies below it; waves shift it up and down.
    rows = np.arange(height, dtype=np.float32)[:, None] + 3.0 * rough * waves
    rows = np.clip(top - 1 - rows, 0, top - 1).astype(np.intp)
    reflected = canvas.planes[:, rows, np.arange(canvas.width)[None, :]]
    sheet = sheet + (reflected - sheet) * np.float32(mirror)
    sheet = sheet * (1.0 + np.float32(0.22 * rough) * waves)
    crest = np.clip(waves - 1.3, 0.0, 0.8) * nearness * np.float32(rough)
    sheet = sheet + (canvas.lit(SNOW) - sheet) * crest
    canvas.planes[:, top:bottom] = sheet
    if light.weather in ("clear", "cloudy") and light.hour in ("dawn", "dusk", "afternoon", "night"):
        x = np.arange(canvas.width, dtype=np.float32)[None, :] / canvas.width - light.sun[0]
        glitter = np.exp(-(x * x) / 0.006) * np.clip(waves * 0.6 + 0.1, 0.0, 0.7)
        canvas.blend(0, top, glitter.astype(np.float32), rgb(mix(light.horizon, (1.0, 0.95, 0.8), 0.5)))


def ground(canvas: Canvas, top: int, near: Colour, far: Colour, *, texture: float = 0.16, stretch: float = 2.0) -> None:
    """Level ground from row `top` to the lower edge, snowed over if it snows."""
    height = canvas.height - top
    if height < 4:
        return
    if canvas.light.snowy:
        near, far, texture = mix(near, SNOW, 0.85), mix(far, SNOW, 0.85), texture * 0.5
        canvas.say("snow")
    plane = receding(canvas.tile, height, canvas.width, grain=canvas.rng.uniform(0.5, 0.9), stretch=stretch)
    nearness = (np.linspace(0, 1, height, dtype=np.float32) ** 0.7)[:, None]
    paint = canvas.lit(far, 0.75) * (1 - nearness) + canvas.lit(near) * nearness
    patches = 0.4 * fractal(canvas.rng, height, canvas.width, cells=2, octaves=3, stretch=3.0)
    canvas.planes[:, top:] = paint * np.maximum(1.0 + np.float32(texture) * (plane + patches), 0.0)


def hills(
    canvas: Canvas,
    base: float,
    rise: float,
    colour: Colour,
    *,
    depth: float,
    craggy: float = 0.35,
    texture: float = 0.08,
    cells: float = 2.5,
) -> None:
    """A ridge whose line swings `rise` pixels above `base`."""
    line = base - rise * (0.5 + 0.5 * jagged(canvas.rng, canvas.width, cells=cells, octaves=6, decay=craggy))
    if canvas.light.snowy:
        colour = mix(colour, SNOW, 0.6)
    canvas.below(line, canvas.lit(colour, depth), texture=texture)


def rock(pen: Pen) -> None:
    colour = mix(vary(pen.rng, (0.42, 0.40, 0.38), 0.05), SNOW, 0.6 if pen.canvas.light.snowy else 0.0)
    pen.shadow(0.6)
    pen.tuft(0, 0.35, 0.65, 0.42, colour, ragged=0.1, texture=0.2)
    pen.tuft(0.3, 0.2, 0.4, 0.26, times(colour, 0.85), ragged=0.1, texture=0.2)
