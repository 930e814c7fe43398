"""The highway: a road that runs to the horizon through open land."""

from __future__ import annotations

import numpy as np

from mediarank.collections.demo.elements.scenery import ground, hills, sky
from mediarank.collections.demo.elements.townscape import ASPHALT, signboard, street_lamp, tower
from mediarank.collections.demo.elements.trees import AUTUMN, GREENS, treeline, trees
from mediarank.collections.demo.elements.vehicles import car_behind, truck
from mediarank.collections.demo.paint.canvas import Canvas
from mediarank.collections.demo.paint.light import Colour, pick, times, vary
from mediarank.collections.demo.paint.pen import Pen
from mediarank.collections.demo.props.cast import Cast


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
        hills(
            canvas, horizon, rise, vary(rng, times(land, 0.8)), depth=0.85 - 0.2 * layer, craggy=rng.uniform(0.3, 0.55)
        )
        canvas.say("hills")
    ground(canvas, horizon, land, land, texture=0.2)
    if rng.random() < 0.2:
        for _ in range(int(rng.integers(5, 14))):
            wide, tall = canvas.unit * rng.uniform(0.04, 0.1), canvas.unit * rng.uniform(0.05, 0.3)
            tower(canvas, width * rng.uniform(0, 1), horizon + 3, wide, tall, depth=0.7)
        canvas.say("city")
    if rng.random() < 0.5:
        treeline(canvas, horizon + 3, canvas.unit * rng.uniform(0.03, 0.3), pick(rng, GREENS), depth=0.5)
        ground(canvas, horizon + 3, land, land, texture=0.2)
    cast.enter(canvas, "span", (0.2, 0.8), (edge + 0.01, edge + 0.05), depth=(0.5, 0.4))
    lanes = int(rng.integers(2, 6))
    spread = width * rng.uniform(0.14, 0.24) * lanes
    foot = meet + rng.uniform(-0.35, 0.35) * width
    bend = rng.normal(0, 0.12) * width
    _carriageway(canvas, horizon, meet, foot, spread, bend, lanes)
    trees(
        canvas,
        int(rng.integers(0, 6)),
        (0, width * 0.25),
        (horizon + 4, height * 0.8),
        (0.08 * canvas.unit, 0.4 * canvas.unit),
        pines=0.4,
        autumn=False,
    )
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
    cast.enter(
        canvas,
        "road",
        (np.clip(middle / width - 0.1, 0.1, 0.8), np.clip(middle / width + 0.1, 0.2, 0.9)),
        (edge + 0.2, 0.9),
        grow=(0.5, 1.3),
        depth=(0.3, 0.0),
    )
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
