"""Light and weather: what the hour and the weather do to every colour in a scene.

`HOURS` and `WEATHERS` are the tables; `light_for` draws one Light from them, with some chance in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

Colour = tuple[float, float, float]
"""Red, green and blue from 0 to 1."""


@dataclass(frozen=True)
class Light:
    """What lights a scene: colours of the sky, a factor for every lit colour, and the air's haze.

    haze_strength : share of the haze's colour in a thing at the horizon (depth 1)
    sun : where the sun or moon stands, as shares of width and height
    lamps : how strongly lamps and lit windows shine, 0 to 1
    """

    hour: str
    weather: str
    zenith: Colour
    horizon: Colour
    ambient: Colour
    haze: Colour
    haze_strength: float
    sun: tuple[float, float]
    lamps: float

    @property
    def snowy(self) -> bool:
        return self.weather == "snow"


HOURS: Final[Mapping[str, Light]] = {
    "dawn": Light(
        "dawn", "clear", (0.38, 0.48, 0.70), (0.99, 0.78, 0.66), (0.88, 0.76, 0.76), (0.94, 0.80, 0.76), 0.75,
        (0.5, 0.4), 0.3,
    ),
    "noon": Light(
        "noon", "clear", (0.20, 0.45, 0.82), (0.74, 0.87, 0.97), (1.02, 1.00, 0.96), (0.76, 0.86, 0.94), 0.55,
        (0.5, 0.1), 0.0,
    ),
    "afternoon": Light(
        "afternoon", "clear", (0.30, 0.50, 0.78), (0.99, 0.89, 0.70), (1.06, 0.93, 0.76), (0.93, 0.86, 0.74), 0.55,
        (0.5, 0.25), 0.0,
    ),
    "dusk": Light(
        "dusk", "clear", (0.17, 0.16, 0.40), (0.97, 0.50, 0.28), (0.58, 0.46, 0.50), (0.66, 0.44, 0.44), 0.65,
        (0.5, 0.42), 0.7,
    ),
    "night": Light(
        "night", "clear", (0.02, 0.03, 0.10), (0.11, 0.15, 0.28), (0.27, 0.31, 0.45), (0.10, 0.14, 0.24), 0.6,
        (0.5, 0.18), 1.0,
    ),
}  # fmt: skip

GREY: Final[Mapping[str, tuple[float, float]]] = {
    "clear": (0.0, 0.0), "cloudy": (0.15, 0.05), "overcast": (0.75, 0.15), "fog": (0.65, 0.9), "rain": (0.8, 0.35),
    "snow": (0.6, 0.3),
}  # fmt: skip
"""Weather: how much grey it mixes into the light, and how much haze it adds."""

WEATHERS: Final = tuple(GREY)


def mix(a: Colour, b: Colour, share: float) -> Colour:
    """`share` of `b` in `a`."""
    return (a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share)


def times(a: Colour, factor: float) -> Colour:
    return (a[0] * factor, a[1] * factor, a[2] * factor)


def vary(rng: np.random.Generator, colour: Colour, amount: float = 0.06) -> Colour:
    """The colour, a little lighter or darker and a little off in hue."""
    shift = rng.normal(0, amount) + rng.normal(0, amount / 2, 3)
    r, g, b = np.clip(np.asarray(colour) + shift, 0.0, 1.0).tolist()
    return (r, g, b)


def light_for(rng: np.random.Generator, hour: str, weather: str) -> Light:
    """The hour's light under this weather, with the sun somewhere and the colours not quite the table's."""
    base = HOURS[hour]
    grey, fog = GREY[weather]
    level = float(np.mean(base.horizon)) * 0.92

    def greyed(colour: Colour, of: float) -> Colour:
        return mix(colour, (of * 0.97, of, of * 1.03), grey)

    cast = vary(rng, (0.5, 0.5, 0.5), 0.03)
    ambient = greyed(base.ambient, float(np.mean(base.ambient)) * 0.92)
    exposure = float(rng.uniform(0.85, 1.1))
    return replace(
        base,
        weather=weather,
        zenith=vary(rng, greyed(base.zenith, level * 0.8), 0.03),
        horizon=vary(rng, greyed(base.horizon, level), 0.03),
        ambient=tuple(2.0 * exposure * a * c for a, c in zip(ambient, cast, strict=True)),
        haze=vary(rng, greyed(base.haze, level), 0.02),
        haze_strength=min(1.0, base.haze_strength * float(rng.uniform(0.7, 1.2)) + 0.5 * fog),
        sun=(float(rng.uniform(0.05, 0.95)), base.sun[1] + float(rng.uniform(-0.07, 0.07))),
    )
