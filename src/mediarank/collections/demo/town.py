"""Three scenes of roads and towns: highway, street and skyline. Each paints its canvas back to front around its cast."""

from __future__ import annotations

import numpy as np

from mediarank.collections.demo.canvas import Canvas
from mediarank.collections.demo.cast import Cast
from mediarank.collections.demo.light import Colour, times, vary
from mediarank.collections.demo.pen import Pen
from mediarank.collections.demo.scenery import AUTUMN, GREENS, broadleaf, ground, hills, pick, sky, treeline, trees, water
from mediarank.collections.demo.townscape import WALLS, facade, person, signboard, street_lamp, tower
from mediarank.collections.demo.vehicles import car_behind, truck

ASPHALT: Colour = (0.30, 0.30, 0.31)


def highway(canvas: Canvas, cast: Cast) -> None:
    """A road that runs to the horizon through open land."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    horizon = int(height * rng.uniform(0.34, 0.56))
    meet = width * rng.uniform(0.25, 0.75)
    edge = horizon / height
    sky(canvas, horizon)
    cast.enter(canvas, "sky", (0.1, 0.9), (0.08, 0.75 * edge), depth=(0.3, 0.3))
    land = pick(rng, (*GREENS, (0.66, 0.54, 0.36), (0.52, 0.46, 0.28), AUTUMN[3]))
    for layer in range(int(rng.integers(0, 3))):
        rise = canvas.unit * rng.uniform(0.06, 0.26) / (layer + 1)
        hills(canvas, horizon, rise, vary(rng, times(land, 0.8)), depth=0.85 - 0.2 * layer, craggy=rng.uniform(0.3, 0.55))
        canvas.say("hills")
    ground(canvas, horizon, land, land, texture=0.2)
    if rng.random() < 0.5:
        treeline(canvas, horizon + 3, canvas.unit * rng.uniform(0.03, 0.14), pick(rng, GREENS), depth=0.5)
        ground(canvas, horizon + 3, land, land, texture=0.2)
    cast.enter(canvas, "span", (0.2, 0.8), (edge + 0.01, edge + 0.05), depth=(0.5, 0.4))
    lanes = int(rng.integers(2, 6))
    spread = width * rng.uniform(0.14, 0.24) * lanes
    foot = meet + rng.uniform(-0.35, 0.35) * width
    bend = rng.normal(0, 0.12) * width
    _carriageway(canvas, horizon, meet, foot, spread, bend, lanes)
    trees(canvas, int(rng.integers(0, 6)), (0, width * 0.25), (horizon + 4, height * 0.8),
          (0.08 * canvas.unit, 0.4 * canvas.unit), pines=0.4, autumn=False)  # fmt: skip
    if rng.random() < 0.4:
        _poles(canvas, horizon, meet, foot - spread * 0.75)
    if rng.random() < 0.35:
        signboard(Pen(canvas, width * rng.uniform(0.05, 0.95), height * rng.uniform(0.5, 0.7), canvas.unit * 0.25))
        canvas.say("sign")
    for nearness in np.sort(rng.random(int(rng.integers(0, 7)))):
        share = 0.05 + 0.8 * nearness
        x = meet + (foot - meet + spread * rng.uniform(-0.35, 0.35)) * share + bend * share * (1 - share)
        pen = Pen(canvas, x, horizon + (height - horizon) * share, canvas.unit * 0.26 * share, 0.6 * (1 - share))
        if rng.random() < 0.15:
            truck(pen)
            canvas.say("truck")
        else:
            car_behind(pen)
            canvas.say("car")
    middle = meet + 0.4 * (foot - meet)
    cast.enter(canvas, "road", (np.clip(middle / width - 0.1, 0.1, 0.8), np.clip(middle / width + 0.1, 0.2, 0.9)),
               (edge + 0.2, 0.9), grow=(0.5, 1.3), depth=(0.3, 0.0))  # fmt: skip
    cast.enter(canvas, "ground", (0.08, 0.92), (edge + 0.15, 0.9), grow=(0.5, 1.1), depth=(0.3, 0.0))


def _carriageway(
    canvas: Canvas, horizon: int, meet: float, foot: float, spread: float, bend: float, lanes: int
) -> None:
    """The road surface with its lines, curving by `bend`; lines are broken between lanes and whole at the edges."""
    height = canvas.height
    shares = np.linspace(0.0, 1.0, 25) ** 1.6

    def at(across: float, share: float) -> tuple[float, float]:
        x = meet + (foot - meet) * share + bend * share * (1 - share) * 2 + across * spread * share
        return (float(x), float(horizon + (height - horizon) * share + 1))

    def strip(across: float, half: float, colour: Colour, first: int, last: int, texture: float) -> None:
        left = [at(across - half, s) for s in shares[first:last]]
        right = [at(across + half, s) for s in shares[first:last][::-1]]
        canvas.polygon(left + right, colour, texture=texture)

    asphalt = vary(canvas.rng, ASPHALT, 0.05)
    strip(0.0, 0.56, times(asphalt, 1.25), 0, 25, 0.12)
    strip(0.0, 0.5, asphalt, 0, 25, 0.08)
    white: Colour = (0.88, 0.87, 0.80)
    for lane in range(lanes + 1):
        across = lane / lanes - 0.5
        if lane in (0, lanes):
            strip(across * 0.96, 0.008, white, 0, 25, 0.0)
            continue
        for dash in range(4, 24, 2):
            strip(across, 0.008, white, dash, dash + 2, 0.0)
    canvas.say("road")
    if canvas.rng.random() < 0.4:
        side = -0.6 if canvas.rng.random() < 0.5 else 0.6
        for share in shares[6::2]:
            x, y = at(side, share)
            canvas.line((x, y), (x, y - 0.07 * canvas.unit * share), 0.012 * canvas.unit * share, (0.6, 0.6, 0.62))
        rail = [at(side, s) for s in shares[4:]]
        lift = [0.07 * canvas.unit * s for s in shares[4:]]
        top = [(x, y - up) for (x, y), up in zip(rail, lift, strict=True)]
        low = [(x, y - up * 0.6) for (x, y), up in zip(rail, lift, strict=True)]
        canvas.polygon(top + low[::-1], (0.70, 0.71, 0.73), texture=0.05)


def _poles(canvas: Canvas, horizon: int, meet: float, foot: float) -> None:
    """A row of lamps or telegraph poles beside the road."""
    lit = canvas.rng.random() < 0.5
    for share in (0.08, 0.14, 0.24, 0.42, 0.75):
        x, y = meet + (foot - meet) * share, horizon + (canvas.height - horizon) * share
        pen = Pen(canvas, x, y, canvas.unit * 0.9 * share, 0.5 * (1 - share))
        if lit:
            street_lamp(pen)
        else:
            pen.line((0, 0), (0, 1), 0.03, (0.35, 0.28, 0.22))
            pen.line((-0.15, 0.9), (0.15, 0.9), 0.02, (0.35, 0.28, 0.22))
    canvas.say("lamp" if lit else "pole")


def street(canvas: Canvas, cast: Cast) -> None:
    """Between two rows of houses: pavements, parked cars, people, a strip of sky."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    horizon, meet = height * rng.uniform(0.42, 0.6), width * rng.uniform(0.3, 0.7)
    half = canvas.unit * rng.uniform(0.5, 0.95)
    sky(canvas, horizon)
    cast.enter(canvas, "sky", (meet / width - 0.1, meet / width + 0.1), (0.06, 0.25), grow=(0.5, 0.9), depth=(0.3, 0.3))
    if rng.random() < 0.5:
        tower(canvas, meet - 0.1 * width, horizon + 2, 0.2 * width, canvas.unit * rng.uniform(0.1, 0.3), depth=0.8)
    ground(canvas, int(horizon), vary(rng, (0.52, 0.50, 0.48)), (0.5, 0.5, 0.5), texture=0.06)
    canvas.polygon(
        [(meet, horizon), (meet - 0.75 * half / 0.5, height * 1.02), (meet + 0.75 * half / 0.5, height * 1.02)],
        vary(rng, ASPHALT, 0.04), texture=0.08,
    )  # fmt: skip
    canvas.say("street", "road")
    brick = False
    for side in (-1.0, 1.0):
        wall_set = WALLS if rng.random() < 0.7 else WALLS[:3]
        stops = 1.0 / np.linspace(0.09, rng.uniform(1.3, 2.0), int(rng.integers(5, 9)))
        for far, near in zip(stops[:-1], stops[1:], strict=True):
            wall = pick(rng, wall_set)
            brick |= wall[0] > wall[2] + 0.2
            _house(canvas, side, float(far), float(near), horizon, meet, half, wall)
    canvas.say("building", *(["brick"] if brick else []))
    if cast.wants("wall"):
        cast.enter(canvas, "wall", (0.06, 0.2) if rng.random() < 0.5 else (0.8, 0.94), (0.3, 0.45), grow=(0.7, 1.0),
                   depth=(0.1, 0.1))  # fmt: skip
    ahead = np.clip(meet / width + np.asarray((-0.12, 0.12)), 0.15, 0.85)
    clutter(canvas, horizon, meet, half)
    cast.enter(canvas, "road", (float(ahead[0]), float(ahead[1])), (horizon / height + 0.12, 0.95), grow=(0.6, 1.4),
               depth=(0.3, 0.0))  # fmt: skip
    cast.enter(canvas, "ground", (0.1, 0.9), (0.8, 0.97), grow=(0.8, 1.2), depth=(0.1, 0.0))


def _house(
    canvas: Canvas, side: float, far: float, near: float, horizon: float, meet: float, half: float, wall: Colour
) -> None:
    """One house of the row, its front running from distance `far` to `near` (in units of the picture's near edge)."""
    rng = canvas.rng
    floors = int(rng.integers(3, 8))
    rise = canvas.unit * (0.13 * floors)
    eye = canvas.unit * 0.28
    front = facade(canvas, floors, int(rng.integers(3, 7)), wall, pane=rng.uniform(0.35, 0.6))
    front *= np.float32(0.92 if (canvas.light.sun[0] < 0.5) == (side < 0) else 1.08)
    inner, outer = meet + side * half / far, meet + side * half / near
    corners = [(inner, horizon - rise / far), (outer, horizon - rise / near), (outer, horizon + eye / near),
               (inner, horizon + eye / far)]  # fmt: skip
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
                [(x0, y0 - eye * 0.3 / middle), (x1, y1 - eye * 0.3 / end), (x1 + out / end, y1),
                 (x0 + out / middle, y0)], shop, depth=depth, texture=0.08,
            )  # fmt: skip
            canvas.say("awning")


def clutter(canvas: Canvas, horizon: float, meet: float, half: float) -> None:
    """Lamps, trees, parked cars and people along both pavements, far to near."""
    rng = canvas.rng
    for far in 1.0 / np.sort(rng.uniform(0.12, 1.0, int(rng.integers(8, 20)))):
        side = -1.0 if rng.random() < 0.5 else 1.0
        kind = rng.choice(["lamp", "tree", "car", "people"], p=[0.2, 0.15, 0.3, 0.35])
        offset = {"lamp": 0.78, "tree": 0.85, "car": 0.58, "people": rng.uniform(0.68, 0.95)}[str(kind)]
        y = horizon + canvas.unit * 0.28 / far
        pen = Pen(canvas, meet + side * offset * half / far, y, canvas.unit / far, min(0.6, far / 14), mirror=side > 0)
        if kind == "lamp":
            street_lamp(_resized(pen, 0.75))
            canvas.say("lamp")
        elif kind == "tree":
            broadleaf(_resized(pen, 0.7), pick(rng, GREENS))
            canvas.say("trees")
        elif kind == "car":
            car_behind(_resized(pen, 0.22))
            canvas.say("car")
        else:
            person(_resized(pen, 0.27), rng.uniform(0.02, 0.12))
            canvas.say("people")


def _resized(pen: Pen, factor: float) -> Pen:
    return Pen(pen.canvas, pen.x, pen.y, pen.scale * factor, pen.depth, pen.angle, pen.mirror)


def skyline(canvas: Canvas, cast: Cast) -> None:
    """A city from outside: towers behind towers, above water, a park or roofs."""
    rng, height, width = canvas.rng, canvas.height, canvas.width
    base = int(height * rng.uniform(0.6, 0.85))
    sky(canvas, base)
    cast.enter(canvas, "sky", (0.1, 0.9), (0.06, 0.3), grow=(0.6, 1.0), depth=(0.3, 0.3))
    if rng.random() < 0.3:
        hills(canvas, base, canvas.unit * rng.uniform(0.1, 0.3), pick(rng, GREENS), depth=0.9)
    layers = int(rng.integers(2, 4))
    peak = rng.uniform(0.25, 0.75)
    for layer in range(layers):
        x = -rng.uniform(0, 0.1) * width
        while x < width:
            wide = canvas.unit * rng.uniform(0.06, 0.17)
            centre = np.exp(-(((x + wide / 2) / width - peak) ** 2) / 0.08)
            tall = canvas.unit * (0.12 + rng.uniform(0.1, 0.55) * centre + rng.uniform(0, 0.12)) * (1 - 0.22 * layer)
            if rng.random() < 0.85:
                tower(canvas, x, base + 2, wide, tall, depth=0.75 - 0.65 * layer / layers)
            x += wide * rng.uniform(0.7, 1.3)
    canvas.say("city", "building", "tower")
    front = "water" if cast.wants("water") else "park" if cast.wants("ground") else rng.choice(["water", "park", "roofs"])
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
        trees(canvas, int(rng.integers(6, 16)), (0, width), (base, height * 0.97),
              (0.08 * canvas.unit, 0.2 * canvas.unit), pines=0.1, autumn=bool(rng.random() < 0.3), depth=(0.2, 0.0))
        canvas.say("park")
    else:
        for _ in range(int(rng.integers(5, 10))):
            wide = canvas.unit * rng.uniform(0.15, 0.4)
            tower(canvas, rng.uniform(-0.1, 0.95) * width, height + 5, wide, height - base + canvas.unit * 0.05, depth=0.05)
        canvas.say("roofs")
    cast.enter(canvas, "ground", (0.12, 0.88), (min(edge + 0.1, 0.92), 0.97), grow=(0.7, 1.1), depth=(0.1, 0.0))
