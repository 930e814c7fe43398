"""Motion in clips: each action sets up its actors once and then draws them frame by frame.

Actors that keep their shape are sprites, drawn once with a Pen and then only moved. An action also gives the cues
that its sound follows. `ACTIONS` names them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import cv2
import numpy as np

from mediarank.collections.demo.elements.townscape import person
from mediarank.collections.demo.elements.vehicles import PAINTS, boat, car_beside, van
from mediarank.collections.demo.paint.light import Colour, mix, pick, times
from mediarank.collections.demo.paint.pen import Pen
from mediarank.collections.demo.props.far import balloon, birds
from mediarank.collections.demo.props.lookalikes import kite
from mediarank.collections.demo.sprites import Sprite, Stage, disc, sparks
from mediarank.types import Floats

Draw = Callable[[Floats, float], None]
"""Draws on a frame (rows × columns × 3, from 0 to 1) at a time in seconds."""


@dataclass(frozen=True)
class Action:
    """How to draw it, and the moments (in seconds) that its sound follows; empty for continuous sounds."""

    draw: Draw
    cues: Floats


def passing(stage: Stage, draw: Callable[[Pen], None], wide: float) -> Action:
    """Something drives through the picture from one side to the other, sometimes slower, sometimes nearer."""
    rng = stage.rng
    leftwards = bool(rng.random() < 0.5)
    scale = stage.height * rng.uniform(0.2, 0.36)
    sprite = Sprite(stage, draw, scale, wide=wide, mirror=leftwards)
    middle = float(rng.uniform(0.3, 0.7) * stage.seconds)
    speed = stage.width * rng.uniform(0.45, 0.9) * (-1 if leftwards else 1)
    y = stage.height * rng.uniform(0.75, 0.93)

    def step(frame: Floats, time: float) -> None:
        sprite.paste(frame, stage.width / 2 + speed * (time - middle), y + 0.4 * np.sin(11 * time))

    return Action(step, np.asarray([middle], np.float32))


def van_passes(stage: Stage) -> Action:
    paint: Colour = pick(stage.rng, ((0.93, 0.93, 0.93), (0.95, 0.92, 0.82), (0.90, 0.90, 0.60)))
    stripe: Colour = pick(stage.rng, ((0.80, 0.15, 0.15), (0.90, 0.45, 0.60), (0.15, 0.35, 0.70), (0.85, 0.60, 0.10)))
    return passing(stage, lambda pen: van(pen, paint, stripe), 2.4)


def car_passes(stage: Stage) -> Action:
    paint = pick(stage.rng, PAINTS)
    return passing(stage, lambda pen: car_beside(pen, paint), 3.2)


def walkers(stage: Stage) -> Action:
    """A few people who stroll about."""
    rng = stage.rng
    people = []
    for _ in range(int(rng.integers(1, 5))):
        draw = partial(person, stride=float(rng.uniform(0.04, 0.14)))
        sprite = Sprite(stage, draw, stage.height * rng.uniform(0.16, 0.34), wide=0.8)
        x, y = stage.width * rng.uniform(0, 1), stage.height * rng.uniform(0.75, 0.97)
        people.append((sprite, x, stage.width * rng.normal(0, 0.09), y))

    def step(frame: Floats, time: float) -> None:
        for sprite, x, speed, y in people:
            sprite.paste(frame, x + speed * time, y - abs(1.2 * np.sin(6 * time)))

    return Action(step, np.zeros(0, np.float32))


def bouncing(stage: Stage) -> Action:
    """A ball that bounces across, thrown between two players who jump."""
    rng = stage.rng
    players = [Sprite(stage, person, stage.height * rng.uniform(0.22, 0.34), wide=0.8) for _ in range(2)]
    floor = stage.height * rng.uniform(0.8, 0.95)
    posts = (stage.width * rng.uniform(0.08, 0.3), stage.width * rng.uniform(0.7, 0.92))
    pace, hop = rng.uniform(0.9, 1.6), stage.height * rng.uniform(0.25, 0.5)
    radius, paint = stage.height * rng.uniform(0.018, 0.05), pick(rng, (*PAINTS, (0.95, 0.55, 0.15)))
    phase = float(rng.uniform(0, 1))
    red, green, blue = stage.light.ambient
    lit = (paint[0] * red, paint[1] * green, paint[2] * blue)

    def step(frame: Floats, time: float) -> None:
        for n, (sprite, x) in enumerate(zip(players, posts, strict=True)):
            sprite.paste(frame, x + 4 * np.sin(2.1 * time + n), floor - 5 * abs(np.sin(2.6 * time + 1.3 * n)))
        share = (time * pace + phase) % 2
        across = share if share < 1 else 2 - share
        bounce = (2 * time * pace + 2 * phase) % 1
        y = floor - radius - hop * 4 * bounce * (1 - bounce)
        disc(frame, posts[0] + (posts[1] - posts[0]) * across, y, radius, lit)

    beat = 1 / (2 * pace)
    first = (1 - (2 * phase) % 1) % 1 * beat
    return Action(step, np.arange(first, stage.seconds, beat, dtype=np.float32))


def swaying(stage: Stage) -> Action:
    """A kite that swings on its line above whoever holds it."""
    rng = stage.rng
    sprite = Sprite(stage, kite, stage.height * rng.uniform(0.08, 0.26), wide=1.4)
    holder = Sprite(stage, person, stage.height * rng.uniform(0.2, 0.3), wide=0.8)
    hand = (stage.width * rng.uniform(0.15, 0.85), stage.height * rng.uniform(0.82, 0.95))
    centre = (stage.width * rng.uniform(0.3, 0.7), stage.height * rng.uniform(0.3, 0.5))
    pace, reach, phase = rng.uniform(0.8, 2.2), stage.width * rng.uniform(0.03, 0.2), rng.uniform(0, 6)

    def step(frame: Floats, time: float) -> None:
        swing = np.sin(pace * time + phase)
        x, y = centre[0] + reach * swing, centre[1] + 0.35 * reach * np.sin(2 * (pace * time + phase))
        holder.paste(frame, *hand)
        ends = np.asarray([(hand[0], hand[1] - 0.2 * stage.height), (x, y - 0.05 * stage.height)])
        start, end = np.round(ends * 16).astype(int).tolist()
        cv2.line(frame, start, end, (0.85, 0.85, 0.85), 1, cv2.LINE_AA, 4)
        sprite.paste(frame, x, y, angle=-25 * swing)

    return Action(step, np.zeros(0, np.float32))


def soaring(stage: Stage) -> Action:
    """Birds or a balloon that drift and circle: a kite's motion without its line."""
    rng = stage.rng
    prop, tall, wide = ((birds, 0.14, 5.0), (balloon, 0.3, 1.2))[int(rng.integers(2))]
    sprite = Sprite(stage, prop, stage.height * tall * rng.uniform(0.6, 1.2), wide=wide)
    x, y = stage.width * rng.uniform(0.3, 0.7), stage.height * rng.uniform(0.25, 0.5)
    drift, pace, reach = rng.normal(0, 0.12) * stage.width, rng.uniform(0.5, 2.0), stage.width * rng.uniform(0.02, 0.14)

    def step(frame: Floats, time: float) -> None:
        turn, away = pace * time, drift * (time - stage.seconds / 2)
        sprite.paste(frame, x + away + reach * np.sin(turn), y + 0.3 * reach * np.cos(turn))

    return Action(step, np.zeros(0, np.float32))


def bursting(stage: Stage) -> Action:
    """Rockets that burst into falling sparks and light up the ground."""
    rng = stage.rng
    cues = np.sort(rng.uniform(0, stage.seconds * 0.85, int(rng.integers(2, 5)))).astype(np.float32)
    reach = float(rng.uniform(0.08, 0.45))  # a display overhead, or one across the river
    shells = []
    for cue in cues:
        angle = rng.uniform(0, 2 * np.pi, 40)
        speed = rng.uniform(0.5, 1.0, 40) * stage.height * reach
        colour = pick(rng, ((1.0, 0.45, 0.35), (0.5, 0.95, 0.5), (1.0, 0.85, 0.4), (0.6, 0.7, 1.0)))
        start = (stage.width * rng.uniform(0.2, 0.8), stage.height * rng.uniform(0.12, 0.4))
        shells.append((float(cue), start, np.cos(angle) * speed, np.sin(angle) * speed, colour))

    def step(frame: Floats, time: float) -> None:
        for cue, (x, y), across, down, colour in shells:
            age = time - cue
            if not 0 <= age < 1.6:
                continue
            spread, fade = 1 - np.exp(-2.2 * age), float(np.exp(-1.6 * age))
            frame += np.float32(0.3 * reach * fade) * np.asarray(colour, np.float32)
            spark = times(mix(colour, (1, 1, 1), 0.4 * fade), fade)
            fall = 12 * age * age
            sparks(frame, x + across * spread, y + down * spread + fall, 0.3 + (0.3 + reach) * fade, spark)

    return Action(step, cues)


def flashing(stage: Stage) -> Action:
    """Lightning: the whole picture flares up, twice or thrice at each strike."""
    rng = stage.rng
    cues = np.sort(rng.uniform(0, stage.seconds * 0.8, int(rng.integers(1, 4)))).astype(np.float32)
    x = stage.width * rng.uniform(0.15, 0.85, len(cues))
    bolts = [x0 + np.cumsum(rng.normal(0, stage.width * 0.03, 9)) for x0 in x]

    def step(frame: Floats, time: float) -> None:
        for cue, bolt in zip(cues.tolist(), bolts, strict=True):
            age = time - cue
            if 0 <= age < 0.5:
                flare = float(np.exp(-7 * age) * (0.6 + 0.4 * np.cos(40 * age)))
                frame += np.float32(0.4 * flare) * np.asarray((0.85, 0.9, 1.0), np.float32)
                if age < 0.25:
                    rows = np.linspace(0, stage.height * 0.55, len(bolt))
                    path = np.round(np.stack([bolt, rows], axis=1) * 16).astype(np.int32)
                    cv2.polylines(frame, [path], False, (0.95, 0.95, 1.0), 1, cv2.LINE_AA, 4)

    return Action(step, cues)


def bobbing(stage: Stage) -> Action:
    """A boat at anchor, or one that sails slowly by."""
    rng = stage.rng
    sprite = Sprite(stage, boat, stage.height * rng.uniform(0.25, 0.45), wide=1.6)
    x, y = stage.width * rng.uniform(0.25, 0.75), stage.height * rng.uniform(0.55, 0.75)
    speed = stage.width * float(rng.choice([0.0, rng.uniform(-0.25, 0.25)]))
    pace = rng.uniform(1.2, 2.6)

    def step(frame: Floats, time: float) -> None:
        sprite.paste(frame, x + speed * time, y + 2.5 * np.sin(pace * time), angle=4 * np.sin(pace * time + 1))

    return Action(step, np.zeros(0, np.float32))


ACTIONS: Final[Mapping[str, Callable[[Stage], Action]]] = {
    "bobbing": bobbing,
    "bouncing": bouncing,
    "bursting": bursting,
    "car_passes": car_passes,
    "flashing": flashing,
    "soaring": soaring,
    "swaying": swaying,
    "van_passes": van_passes,
    "walkers": walkers,
}
