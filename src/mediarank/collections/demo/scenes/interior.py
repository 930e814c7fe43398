"""The room: a box in perspective with windows, pictures and furniture, lit by day or by lamps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mediarank.collections.demo.elements.furniture import FURNITURE, PLASTER, WOOD
from mediarank.collections.demo.elements.townscape import CLOTHES
from mediarank.collections.demo.paint.canvas import Canvas
from mediarank.collections.demo.paint.light import Colour, mix, pick, times
from mediarank.collections.demo.paint.pen import Pen
from mediarank.collections.demo.paint.textures import fractal
from mediarank.collections.demo.props.cast import Cast


@dataclass(frozen=True)
class Back:
    """The far wall, in pixels."""

    left: float
    top: float
    right: float
    bottom: float


def interior(canvas: Canvas, cast: Cast) -> None:
    """A living room, an office, a kitchen or a corridor, with different walls and furniture."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    outside = canvas.light
    warm: Colour = (1.0, 0.88, 0.70)
    lamp = 0.35 + 0.5 * outside.lamps
    canvas.light = replace(
        outside, haze_strength=0.0, ambient=times(mix(outside.ambient, warm, lamp), float(rng.uniform(0.65, 1.0)))
    )
    shrink = rng.uniform(0.3, 0.75)
    middle, level = width * rng.uniform(0.38, 0.62), height * rng.uniform(0.4, 0.5)
    back = Back(
        middle - shrink * width / 2,
        level - shrink * height * 0.42,
        middle + shrink * width / 2,
        level + shrink * height * 0.36,
    )
    _shell(canvas, back)
    if rng.random() < 0.75:
        for _ in range(int(rng.integers(1, 3))):
            _window(canvas, back, outside.zenith, outside.horizon)
    for _ in range(int(rng.integers(0, 5))):
        _picture(canvas, back)
    cast.enter(
        canvas,
        "wall",
        (back.left / width + 0.08, back.right / width - 0.08),
        ((back.top + 0.3 * (back.bottom - back.top)) / height, level / height),
        grow=(0.8, 1.2),
        depth=(0, 0),
    )
    pieces = list(FURNITURE)
    for nearness in np.sort(rng.random(int(rng.integers(4, 9)))):
        piece = pieces[int(rng.integers(len(pieces)))]
        y = back.bottom + (height * 1.03 - back.bottom) * (0.08 + 0.85 * nearness)
        reach = 0.5 * (shrink + (1.25 - shrink) * nearness)
        x = middle + width * rng.uniform(-reach, reach)
        FURNITURE[piece](
            Pen(canvas, x, y, canvas.unit * (0.36 * shrink + 0.28 * nearness), 0.0, 0.0, rng.random() < 0.5)
        )
        canvas.say(piece)
    cast.enter(canvas, "ground", (0.15, 0.85), (back.bottom / height + 0.12, 0.96), grow=(0.9, 1.4), depth=(0, 0))
    _fall_off(canvas)


def _shell(canvas: Canvas, back: Back) -> None:
    """Floor, ceiling and three walls; the floor is boards, tiles or carpet."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    wall = pick(rng, PLASTER, 0.05)
    canvas.polygon([(0, 0), (width, 0), (width, height), (0, height)], mix(wall, (1, 1, 1), 0.6), texture=0.02)
    kind = str(rng.choice(["wood", "tiles", "carpet"]))
    colour = pick(rng, WOOD if kind == "wood" else PLASTER if kind == "tiles" else CLOTHES)
    floor = _flooring(canvas, kind, colour)
    stretch = (width - (back.right - back.left)) / 2 + width * 0.1
    canvas.warp(
        floor, [(back.left, back.bottom), (back.right, back.bottom), (width + stretch, height), (-stretch, height)]
    )
    canvas.say("room", kind)
    for side, shade in ((0, 0.82), (width, 0.92)):
        edge = back.left if side == 0 else back.right
        over = -width * 0.1 if side == 0 else width * 1.1
        canvas.polygon(
            [(over, -0.1 * height), (edge, back.top), (edge, back.bottom), (over, height * 1.05)],
            times(wall, shade),
            texture=0.03,
        )
    canvas.polygon(
        [(back.left, back.top), (back.right, back.top), (back.right, back.bottom), (back.left, back.bottom)],
        wall,
        texture=0.03,
    )
    if rng.random() < 0.35:
        stripes = int(rng.integers(6, 18))
        pitch = (back.right - back.left) / stripes
        for stripe in range(stripes):
            x = back.left + pitch * stripe
            canvas.polygon(
                [(x, back.top), (x + pitch / 2, back.top), (x + pitch / 2, back.bottom), (x, back.bottom)],
                times(wall, 0.88),
            )
        canvas.say("wallpaper")
    canvas.line((back.left, back.bottom), (back.right, back.bottom), canvas.unit * 0.015, mix(wall, (1, 1, 1), 0.5))


def _flooring(canvas: Canvas, kind: str, colour: Colour) -> np.ndarray:
    rng = canvas.rng
    base = canvas.lit(colour).reshape(3)
    if kind == "wood":
        boards = 1 + 0.12 * rng.standard_normal((1, 14, 1), dtype=np.float32).repeat(12, axis=1)
        grain = 1 + 0.06 * fractal(rng, 128, 168, cells=6, octaves=3, stretch=0.2)[:, :, None]
        return np.asarray(base * boards * grain, np.float32)
    if kind == "tiles":
        other = canvas.lit(mix(colour, (0.2, 0.2, 0.2), rng.uniform(0.1, 0.7))).reshape(3)
        check = (np.indices((10, 12)).sum(axis=0) % 2)[:, :, None].repeat(14, axis=0).repeat(14, axis=1)
        return np.asarray(base + (other - base) * check, np.float32)
    weave = 1 + 0.07 * rng.standard_normal((128, 160, 1), dtype=np.float32)
    return np.asarray(base * weave, np.float32)


def _window(canvas: Canvas, back: Back, zenith: Colour, horizon: Colour) -> None:
    rng = canvas.rng
    wide, tall = (back.right - back.left) * rng.uniform(0.18, 0.4), (back.bottom - back.top) * rng.uniform(0.35, 0.6)
    x = rng.uniform(back.left, back.right - wide)
    y = back.top + (back.bottom - back.top) * rng.uniform(0.1, 0.2)
    frame: Colour = (0.92, 0.91, 0.88)
    canvas.polygon([(x - 3, y - 3), (x + wide + 3, y - 3), (x + wide + 3, y + tall + 3), (x - 3, y + tall + 3)], frame)
    view = np.linspace(0, 1, 16, dtype=np.float32)[:, None, None]
    pane = np.asarray(zenith, np.float32) * (1 - view) + np.asarray(horizon, np.float32) * view
    canvas.warp(
        np.ascontiguousarray(pane.repeat(16, axis=1)), [(x, y), (x + wide, y), (x + wide, y + tall), (x, y + tall)]
    )
    canvas.line((x + wide / 2, y), (x + wide / 2, y + tall), 2.5, frame)
    canvas.line((x, y + tall / 2), (x + wide, y + tall / 2), 2.5, frame)
    canvas.say("window")
    if rng.random() < 0.5:
        cloth = pick(rng, CLOTHES)
        for left in (x - 0.16 * wide, x + 0.86 * wide):
            canvas.polygon(
                [
                    (left, y - 6),
                    (left + 0.3 * wide, y - 6),
                    (left + 0.26 * wide, y + tall * 1.25),
                    (left + 0.02 * wide, y + tall * 1.25),
                ],
                cloth,
                texture=0.12,
                rounded=0.8,
            )
        canvas.say("curtain")


def _picture(canvas: Canvas, back: Back) -> None:
    rng = canvas.rng
    tall = (back.bottom - back.top) * rng.uniform(0.15, 0.35)
    wide = tall * rng.uniform(0.7, 1.5)
    x = rng.uniform(back.left, max(back.left + 1, back.right - wide))
    y = back.top + (back.bottom - back.top) * rng.uniform(0.15, 0.3)
    pen = Pen(canvas, x, y + tall, tall)
    long = wide / tall
    pen.box(0, 0, long, 1, pick(rng, WOOD))
    pen.box(0.08, 0.08, long - 0.08, 0.92, pick(rng, PLASTER))
    pen.polygon(
        [(0.08, 0.08), (long - 0.08, 0.08), (long - 0.08, rng.uniform(0.2, 0.6)), (0.08, rng.uniform(0.2, 0.6))],
        pick(rng, CLOTHES),
    )
    canvas.say("painting")


def _fall_off(canvas: Canvas) -> None:
    """Rooms are unevenly lit: brighter around a lamp or window."""
    x, y = canvas.rng.uniform(0.2, 0.8) * canvas.width, canvas.rng.uniform(0.1, 0.6) * canvas.height
    dx = (np.arange(canvas.width, dtype=np.float32) - x)[None, :] / canvas.unit
    dy = (np.arange(canvas.height, dtype=np.float32) - y)[:, None] / canvas.unit
    canvas.planes *= 0.6 + np.float32(0.5) * np.exp(-2 * dx * dx) * np.exp(-2 * dy * dy)
