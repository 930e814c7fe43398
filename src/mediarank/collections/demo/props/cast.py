"""The props of one picture, waiting until their scene reaches the depth where they stand.

A scene is painted back to front and calls `enter` for each zone it has (sky, span, water, wall, road, ground), so that
later parts may hide part of a prop. A scene calls `wants` before it decides whether to have, for example, a lake.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mediarank.collections.demo.paint.canvas import Canvas
from mediarank.collections.demo.paint.pen import Pen

Range = tuple[float, float]


@dataclass(frozen=True)
class Prop:
    """Something to draw: where it stands, and how high it is as a share of the picture's shorter side."""

    word: str
    zone: str
    tall: float
    draw: Callable[[Pen], None]
    tilt: float = 0.0


class Cast:
    """The props that are still to be drawn."""

    def __init__(self, props: Sequence[Prop] = ()) -> None:
        self.waiting = list(props)

    def wants(self, zone: str) -> bool:
        return any(prop.zone == zone for prop in self.waiting)

    def enter(
        self, canvas: Canvas, zone: str, x: Range, y: Range, *, grow: Range = (0.7, 1.3), depth: Range = (0.5, 0.1)
    ) -> None:
        """Draw the props of this zone between the columns `x` and rows `y` (both in shares of the canvas).

        grow, depth : size factor and haze at the first and at the second row of `y`
        """
        rng = canvas.rng
        entering = [prop for prop in self.waiting if prop.zone == zone]
        self.waiting = [prop for prop in self.waiting if prop.zone != zone]
        for prop, nearness in zip(entering, np.sort(rng.random(len(entering))).tolist(), strict=True):
            foot = (y[0] + (y[1] - y[0]) * nearness) * canvas.height
            scale = prop.tall * canvas.unit * (grow[0] + (grow[1] - grow[0]) * nearness)
            scale *= float(np.exp(rng.uniform(-0.45, 0.45)))
            # The upper end stays in the picture: flying things are moved down, standing things are made smaller.
            if zone == "sky":
                scale = min(scale, 0.5 * canvas.height)
                foot = max(foot, scale)
            else:
                scale = min(scale, 0.9 * foot)
            pen = Pen(
                canvas,
                x=float(rng.uniform(*x)) * canvas.width,
                y=foot,
                scale=scale,
                depth=depth[0] + (depth[1] - depth[0]) * nearness,
                angle=float(rng.normal(0, prop.tilt)),
                mirror=bool(rng.random() < 0.5),
            )
            prop.draw(pen)
            canvas.say(prop.word)
