"""The street: two rows of houses in perspective, pavements, parked cars, people, a strip of sky."""

from __future__ import annotations

import itertools

import numpy as np

from mediarank.collections.demo.elements.scenery import ground, sky
from mediarank.collections.demo.elements.townscape import ASPHALT, WALLS, facade, person, street_lamp, tower
from mediarank.collections.demo.elements.trees import GREENS, broadleaf
from mediarank.collections.demo.elements.vehicles import car_behind
from mediarank.collections.demo.paint.canvas import Canvas
from mediarank.collections.demo.paint.light import Colour, pick, vary
from mediarank.collections.demo.paint.pen import Pen
from mediarank.collections.demo.props.cast import Cast


def street(canvas: Canvas, cast: Cast) -> None:
    """Between two rows of houses: pavements, parked cars, people, a strip of sky."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    horizon, meet = height * rng.uniform(0.42, 0.6), width * rng.uniform(0.3, 0.7)
    half = canvas.unit * rng.uniform(0.5, 1.2)
    sky(canvas, horizon)
    if rng.random() < 0.5:
        tower(canvas, meet - 0.1 * width, horizon + 2, 0.2 * width, canvas.unit * rng.uniform(0.1, 0.3), depth=0.8)
    ground(canvas, int(horizon), vary(rng, (0.52, 0.50, 0.48)), (0.5, 0.5, 0.5), texture=0.06)
    canvas.polygon(
        [(meet, horizon), (meet - 0.75 * half / 0.5, height * 1.02), (meet + 0.75 * half / 0.5, height * 1.02)],
        vary(rng, ASPHALT, 0.04),
        texture=0.05,
    )
    canvas.say("street", "road")
    brick = False
    tallest = int(rng.integers(2, 9))  # from a village to a city
    for side in (-1.0, 1.0):
        wall_set = WALLS if rng.random() < 0.7 else WALLS[:3]
        stops = 1.0 / np.linspace(0.09, rng.uniform(1.3, 2.0), int(rng.integers(5, 9)))
        for far, near in itertools.pairwise(stops):
            wall = pick(rng, wall_set)
            brick |= wall[0] > wall[2] + 0.2
            floors = int(rng.integers(1, tallest + 1))
            _house(canvas, side, float(far), float(near), horizon, meet, half, wall, floors)
    cast.enter(canvas, "sky", (meet / width - 0.1, meet / width + 0.1), (0.1, 0.3), grow=(0.5, 0.9), depth=(0.3, 0.3))
    canvas.say("building", *(["brick"] if brick else []))
    if cast.wants("wall"):
        cast.enter(
            canvas,
            "wall",
            (0.06, 0.2) if rng.random() < 0.5 else (0.8, 0.94),
            (0.3, 0.45),
            grow=(0.7, 1.0),
            depth=(0.1, 0.1),
        )
    ahead = np.clip(meet / width + np.asarray((-0.12, 0.12)), 0.15, 0.85)
    _clutter(canvas, horizon, meet, half)
    cast.enter(
        canvas,
        "road",
        (float(ahead[0]), float(ahead[1])),
        (horizon / height + 0.12, 0.95),
        grow=(0.6, 1.4),
        depth=(0.3, 0.0),
    )
    cast.enter(canvas, "ground", (0.1, 0.9), (0.8, 0.97), grow=(0.8, 1.2), depth=(0.1, 0.0))


def _house(
    canvas: Canvas,
    side: float,
    far: float,
    near: float,
    horizon: float,
    meet: float,
    half: float,
    wall: Colour,
    floors: int,
) -> None:
    """One house of the row, its front running from distance `far` to `near` (in units of the picture's near edge)."""
    rng = canvas.rng
    rise = canvas.unit * (0.13 * floors)
    eye = canvas.unit * 0.28
    front = facade(canvas, floors, int(rng.integers(3, 7)), wall, pane=rng.uniform(0.35, 0.6))
    front *= np.float32(0.92 if (canvas.light.sun[0] < 0.5) == (side < 0) else 1.08)
    inner, outer = meet + side * half / far, meet + side * half / near
    corners = [
        (inner, horizon - rise / far),
        (outer, horizon - rise / near),
        (outer, horizon + eye / near),
        (inner, horizon + eye / far),
    ]
    depth = min(0.8, far / 12)
    canvas.warp(front, corners, depth=depth)
    for share in (0.35, 0.7):
        if rng.random() < 0.55:
            middle = far + (near - far) * share
            end = far + (near - far) * (share + 0.22)
            x0, x1 = meet + side * half / middle, meet + side * half / end
            y0, y1 = horizon + eye * 0.45 / middle, horizon + eye * 0.45 / end
            out = -side * 0.1 * half
            shop = pick(rng, ((0.72, 0.16, 0.16), (0.16, 0.40, 0.30), (0.85, 0.80, 0.70), (0.18, 0.28, 0.52)))
            canvas.polygon(
                [
                    (x0, y0 - eye * 0.3 / middle),
                    (x1, y1 - eye * 0.3 / end),
                    (x1 + out / end, y1),
                    (x0 + out / middle, y0),
                ],
                shop,
                depth=depth,
                texture=0.08,
            )
            canvas.say("awning")


def _clutter(canvas: Canvas, horizon: float, meet: float, half: float) -> None:
    """Lamps, trees, parked cars and people along both pavements, far to near."""
    rng = canvas.rng
    for far in 1.0 / np.sort(rng.uniform(0.12, 1.0, int(rng.integers(8, 20)))):
        side = -1.0 if rng.random() < 0.5 else 1.0
        kind = rng.choice(["lamp", "tree", "car", "people"], p=[0.2, 0.15, 0.3, 0.35])
        offset = {"lamp": 0.78, "tree": 0.85, "car": 0.58, "people": rng.uniform(0.68, 0.95)}[str(kind)]
        y = horizon + canvas.unit * 0.28 / far
        pen = Pen(canvas, meet + side * offset * half / far, y, canvas.unit / far, min(0.6, far / 14), mirror=side > 0)
        if kind == "lamp":
            street_lamp(pen.resized(0.75))
            canvas.say("lamp")
        elif kind == "tree":
            broadleaf(pen.resized(0.7), pick(rng, GREENS))
            canvas.say("trees")
        elif kind == "car":
            car_behind(pen.resized(0.22))
            canvas.say("car")
        else:
            person(pen.resized(0.27), rng.uniform(0.02, 0.12))
            canvas.say("people")
