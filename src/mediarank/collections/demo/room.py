"""The scene indoors: a room in perspective with windows, pictures and furniture, lit by day or by lamps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mediarank.collections.demo.canvas import Canvas
from mediarank.collections.demo.cast import Cast
from mediarank.collections.demo.light import Colour, mix, times, vary
from mediarank.collections.demo.pen import Pen
from mediarank.collections.demo.scenery import pick
from mediarank.collections.demo.textures import fractal
from mediarank.collections.demo.townscape import CLOTHES, LAMPLIGHT

PLASTER: tuple[Colour, ...] = (
    (0.86, 0.82, 0.74), (0.70, 0.76, 0.72), (0.78, 0.66, 0.54), (0.62, 0.66, 0.74), (0.90, 0.88, 0.84),
    (0.74, 0.52, 0.44), (0.56, 0.62, 0.50),
)  # fmt: skip
WOOD: tuple[Colour, ...] = ((0.52, 0.34, 0.20), (0.38, 0.24, 0.14), (0.66, 0.48, 0.30), (0.30, 0.20, 0.14))


@dataclass(frozen=True)
class Back:
    """The far wall, in pixels."""

    left: float
    top: float
    right: float
    bottom: float


def interior(canvas: Canvas, cast: Cast) -> None:
    """A living room, an office, a kitchen or a corridor: what differs is the box and what stands in it."""
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
        middle - shrink * width / 2, level - shrink * height * 0.42, middle + shrink * width / 2,
        level + shrink * height * 0.36,
    )  # fmt: skip
    _shell(canvas, back)
    if rng.random() < 0.75:
        for _ in range(int(rng.integers(1, 3))):
            _window(canvas, back, outside.zenith, outside.horizon)
    for _ in range(int(rng.integers(0, 4))):
        _picture(canvas, back)
    cast.enter(canvas, "wall", (back.left / width + 0.08, back.right / width - 0.08),
               ((back.top + 0.3 * (back.bottom - back.top)) / height, level / height), grow=(0.8, 1.2),
               depth=(0, 0))  # fmt: skip
    pieces = list(FURNITURE)
    for nearness in np.sort(rng.random(int(rng.integers(3, 7)))):
        piece = pieces[int(rng.integers(len(pieces)))]
        y = back.bottom + (height * 1.03 - back.bottom) * (0.08 + 0.85 * nearness)
        reach = 0.5 * (shrink + (1.25 - shrink) * nearness)
        x = middle + width * rng.uniform(-reach, reach)
        FURNITURE[piece](Pen(canvas, x, y, canvas.unit * (0.42 * shrink + 0.38 * nearness), 0.0, 0.0, rng.random() < 0.5))
        canvas.say(piece)
    cast.enter(canvas, "ground", (0.15, 0.85), (back.bottom / height + 0.12, 0.96), grow=(0.9, 1.4), depth=(0, 0))
    _fall_off(canvas)


def _shell(canvas: Canvas, back: Back) -> None:
    """Floor, ceiling and three walls; the floor is boards, tiles or carpet."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    wall = pick(rng, PLASTER, 0.05)
    canvas.polygon([(0, 0), (width, 0), (back.right, back.top), (back.left, back.top)], mix(wall, (1, 1, 1), 0.6), texture=0.02)
    kind = str(rng.choice(["wood", "tiles", "carpet"]))
    colour = pick(rng, WOOD if kind == "wood" else PLASTER if kind == "tiles" else CLOTHES)
    floor = _flooring(canvas, kind, colour)
    stretch = (width - (back.right - back.left)) / 2 + width * 0.1
    canvas.warp(floor, [(back.left, back.bottom), (back.right, back.bottom), (width + stretch, height), (-stretch, height)])
    canvas.say("room", kind)
    for side, shade in ((0, 0.82), (width, 0.92)):
        edge = back.left if side == 0 else back.right
        over = -width * 0.1 if side == 0 else width * 1.1
        canvas.polygon([(over, -0.1 * height), (edge, back.top), (edge, back.bottom), (over, height * 1.05)],
                       times(wall, shade), texture=0.03)  # fmt: skip
    canvas.polygon([(back.left, back.top), (back.right, back.top), (back.right, back.bottom), (back.left, back.bottom)],
                   wall, texture=0.03)  # fmt: skip
    if rng.random() < 0.35:
        stripes = int(rng.integers(6, 18))
        pitch = (back.right - back.left) / stripes
        for stripe in range(stripes):
            x = back.left + pitch * stripe
            canvas.polygon([(x, back.top), (x + pitch / 2, back.top), (x + pitch / 2, back.bottom), (x, back.bottom)],
                           times(wall, 0.88))  # fmt: skip
        canvas.say("wallpaper")
    canvas.line((back.left, back.bottom), (back.right, back.bottom), canvas.unit * 0.015, mix(wall, (1, 1, 1), 0.5))


def _flooring(canvas: Canvas, kind: str, colour: Colour) -> np.ndarray:
    rng = canvas.rng
    base = canvas.lit(colour)
    if kind == "wood":
        boards = 1 + 0.12 * rng.standard_normal((1, 14, 1), dtype=np.float32).repeat(12, axis=1)
        grain = 1 + 0.06 * fractal(rng, 128, 168, cells=6, octaves=3, stretch=0.2)[:, :, None]
        return np.asarray(base * boards * grain, np.float32)
    if kind == "tiles":
        other = canvas.lit(mix(colour, (0.2, 0.2, 0.2), rng.uniform(0.1, 0.7)))
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
    canvas.warp(np.ascontiguousarray(pane.repeat(16, axis=1)), [(x, y), (x + wide, y), (x + wide, y + tall), (x, y + tall)])
    canvas.line((x + wide / 2, y), (x + wide / 2, y + tall), 2.5, frame)
    canvas.line((x, y + tall / 2), (x + wide, y + tall / 2), 2.5, frame)
    canvas.say("window")
    if rng.random() < 0.5:
        cloth = pick(rng, CLOTHES)
        for left in (x - 0.16 * wide, x + 0.86 * wide):
            canvas.polygon([(left, y - 6), (left + 0.3 * wide, y - 6), (left + 0.26 * wide, y + tall * 1.25),
                            (left + 0.02 * wide, y + tall * 1.25)], cloth, texture=0.12, rounded=0.8)  # fmt: skip
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
    pen.polygon([(0.08, 0.08), (long - 0.08, 0.08), (long - 0.08, rng.uniform(0.2, 0.6)), (0.08, rng.uniform(0.2, 0.6))],
                pick(rng, CLOTHES))  # fmt: skip
    canvas.say("painting")


def _fall_off(canvas: Canvas) -> None:
    """Rooms are unevenly lit: brighter around a lamp or window."""
    x, y = canvas.rng.uniform(0.2, 0.8) * canvas.width, canvas.rng.uniform(0.1, 0.6) * canvas.height
    dx = (np.arange(canvas.width, dtype=np.float32) - x)[None, :] / canvas.unit
    dy = (np.arange(canvas.height, dtype=np.float32) - y)[:, None] / canvas.unit
    canvas.pixels *= (0.6 + 0.5 * np.exp(-(dx * dx + dy * dy) / 0.5))[:, :, None].astype(np.float32)


def sofa(pen: Pen) -> None:
    cloth = pick(pen.rng, CLOTHES + PLASTER, 0.06)
    pen.shadow(1.1)
    pen.box(-1.0, 0.1, 1.0, 0.85, times(cloth, 0.9), texture=0.08)
    pen.box(-1.0, 0.08, 1.0, 0.42, cloth, texture=0.08)
    for x in (-1.15, 0.9):
        pen.box(x, 0.05, x + 0.25, 0.6, times(cloth, 1.1), texture=0.08, rounded=0.5)
    for x in (-0.5, 0.4):
        pen.box(x, 0.4, x + 0.35, 0.72, pick(pen.rng, CLOTHES), texture=0.06)


def table(pen: Pen) -> None:
    wood = pick(pen.rng, WOOD)
    pen.shadow(0.9)
    for x in (-0.8, 0.72, -0.6, 0.54):
        pen.box(x, 0.0 if abs(x) > 0.7 else 0.12, x + 0.07, 0.6, times(wood, 0.8))
    pen.polygon([(-0.9, 0.58), (0.9, 0.58), (0.7, 0.78), (-0.7, 0.78)], wood, texture=0.12)
    pen.box(-0.9, 0.52, 0.9, 0.59, times(wood, 0.75))
    for _ in range(int(pen.rng.integers(0, 3))):
        x = pen.rng.uniform(-0.5, 0.5)
        pen.box(x, 0.66, x + 0.12, 0.66 + pen.rng.uniform(0.1, 0.25), pick(pen.rng, CLOTHES), rounded=0.8)


def chair(pen: Pen) -> None:
    wood = pick(pen.rng, WOOD + CLOTHES)
    pen.shadow(0.4)
    for x in (-0.25, 0.2):
        pen.box(x, 0, x + 0.05, 1.0 if x < 0 else 0.45, times(wood, 0.8))
    pen.box(-0.28, 0.42, 0.28, 0.5, wood)
    pen.box(-0.28, 0.65, 0.0, 1.0, wood)


def shelf(pen: Pen) -> None:
    wood = pick(pen.rng, WOOD)
    pen.box(-0.5, 0, 0.5, 1.5, times(wood, 0.6), texture=0.1)
    for row in np.linspace(0.05, 1.2, int(pen.rng.integers(3, 6))):
        x = -0.45
        while x < 0.38:
            wide = float(pen.rng.uniform(0.03, 0.09))
            pen.box(x, row, x + wide, row + pen.rng.uniform(0.14, 0.24), pick(pen.rng, CLOTHES), texture=0.0)
            x += wide + 0.01
        pen.box(-0.5, row - 0.04, 0.5, row, wood)


def rug(pen: Pen) -> None:
    cloth = pick(pen.rng, CLOTHES)
    for share in (1.0, 0.8, 0.55):
        pen.polygon([(-1.1 * share, -0.16 * share), (1.1 * share, -0.16 * share), (0.85 * share, 0.16 * share),
                     (-0.85 * share, 0.16 * share)], times(cloth, 1.6 - 0.7 * share), texture=0.12)  # fmt: skip


def cabinet(pen: Pen) -> None:
    wood = pick(pen.rng, WOOD + PLASTER)
    pen.shadow(0.8)
    pen.box(-0.75, 0, 0.75, 0.8, wood, texture=0.08)
    for x in (-0.7, 0.04):
        pen.box(x, 0.06, x + 0.66, 0.74, times(wood, 0.88), texture=0.08)
        pen.ellipse(x + 0.33, 0.55, 0.03, 0.03, (0.8, 0.75, 0.5))


def floor_lamp(pen: Pen) -> None:
    pen.line((0, 0), (0, 1.1), 0.035, (0.3, 0.28, 0.26))
    if pen.canvas.light.lamps > 0.2:
        pen.ellipse(0, 1.2, 0.6, 0.6, LAMPLIGHT, glow=True, opacity=0.18)
    pen.polygon([(-0.22, 1.05), (0.22, 1.05), (0.13, 1.4), (-0.13, 1.4)], (0.98, 0.86, 0.62),
                glow=pen.canvas.light.lamps > 0.2)  # fmt: skip


FURNITURE = {
    "sofa": sofa, "table": table, "chair": chair, "books": shelf, "rug": rug, "cabinet": cabinet, "lamp": floor_lamp,
}  # fmt: skip
