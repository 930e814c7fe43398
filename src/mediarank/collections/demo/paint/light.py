"""Light and weather: how the hour and the weather change every colour in a scene.

`PALETTES` and `GREY` are the tables; `light_for` draws one Light from them, with some randomness.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from mediarank.types import Floats

Colour = tuple[float, float, float]
"""Red, green and blue from 0 to 1."""


@dataclass(frozen=True)
class Light:
    """The light of a scene: colours of the sky, a factor for every lit colour, and the air's haze.

    haze_strength : share of the haze's colour at the horizon (depth 1)
    sun : position of the sun or moon, as shares of width and height
    lamps : how strongly lamps and lit windows shine, 0 to 1
    """

    hour: str
    zenith: Colour
    horizon: Colour
    ambient: Colour
    haze: Colour
    haze_strength: float
    sun: tuple[float, float]
    lamps: float
    weather: str = "clear"

    @property
    def snowy(self) -> bool:
        return self.weather == "snow"


PALETTES: Final[Mapping[str, Light]] = {
    "dawn": Light(
        hour="dawn",
        zenith=(0.38, 0.48, 0.70),
        horizon=(0.99, 0.78, 0.66),
        ambient=(0.88, 0.76, 0.76),
        haze=(0.94, 0.80, 0.76),
        haze_strength=0.75,
        sun=(0.5, 0.40),
        lamps=0.3,
    ),
    "noon": Light(
        hour="noon",
        zenith=(0.20, 0.45, 0.82),
        horizon=(0.74, 0.87, 0.97),
        ambient=(1.02, 1.00, 0.96),
        haze=(0.76, 0.86, 0.94),
        haze_strength=0.55,
        sun=(0.5, 0.10),
        lamps=0.0,
    ),
    "afternoon": Light(
        hour="afternoon",
        zenith=(0.30, 0.50, 0.78),
        horizon=(0.99, 0.89, 0.70),
        ambient=(1.06, 0.93, 0.76),
        haze=(0.93, 0.86, 0.74),
        haze_strength=0.55,
        sun=(0.5, 0.25),
        lamps=0.0,
    ),
    "dusk": Light(
        hour="dusk",
        zenith=(0.17, 0.16, 0.40),
        horizon=(0.97, 0.50, 0.28),
        ambient=(0.58, 0.46, 0.50),
        haze=(0.66, 0.44, 0.44),
        haze_strength=0.65,
        sun=(0.5, 0.42),
        lamps=0.7,
    ),
    "night": Light(
        hour="night",
        zenith=(0.02, 0.03, 0.10),
        horizon=(0.11, 0.15, 0.28),
        ambient=(0.27, 0.31, 0.45),
        haze=(0.10, 0.14, 0.24),
        haze_strength=0.60,
        sun=(0.5, 0.18),
        lamps=1.0,
    ),
}

GREY: Final[Mapping[str, tuple[float, float]]] = {
    "clear": (0.0, 0.0),
    "cloudy": (0.15, 0.05),
    "overcast": (0.75, 0.15),
    "fog": (0.65, 0.9),
    "rain": (0.8, 0.35),
    "snow": (0.6, 0.3),
}
"""Weather: how much grey it mixes into the light, and how much haze it adds."""


def rgb(colour: Colour) -> Floats:
    """The colour as an array that broadcasts over planes: (3, 1, 1)."""
    return np.array(colour, np.float32).reshape(3, 1, 1)


def mix(a: Colour, b: Colour, share: float) -> Colour:
    """`share` of `b` in `a`."""
    return (a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share)


def times(a: Colour, factor: float) -> Colour:
    return (a[0] * factor, a[1] * factor, a[2] * factor)


def vary(rng: np.random.Generator, colour: Colour, amount: float = 0.06) -> Colour:
    """The colour, slightly lighter or darker and slightly changed in hue."""
    lighter, *off = (rng.standard_normal(4) * amount).tolist()
    red, green, blue = (min(1.0, max(0.0, c + lighter + 0.5 * d)) for c, d in zip(colour, off, strict=True))
    return (red, green, blue)


def light_for(rng: np.random.Generator, hour: str, weather: str) -> Light:
    """The hour's light under this weather, with a random sun and slightly varied colours."""
    base = PALETTES[hour]
    grey, fog = GREY[weather]
    level = float(np.mean(base.horizon)) * 0.92

    def greyed(colour: Colour, of: float) -> Colour:
        return mix(colour, (of * 0.97, of, of * 1.03), grey)

    cast = vary(rng, (0.5, 0.5, 0.5), 0.03)
    ambient = greyed(base.ambient, float(np.mean(base.ambient)) * 0.92)
    gain = 2.0 * float(rng.uniform(0.85, 1.1))
    return replace(
        base,
        weather=weather,
        zenith=vary(rng, greyed(base.zenith, level * 0.8), 0.03),
        horizon=vary(rng, greyed(base.horizon, level), 0.03),
        ambient=(gain * ambient[0] * cast[0], gain * ambient[1] * cast[1], gain * ambient[2] * cast[2]),
        haze=vary(rng, greyed(base.haze, level), 0.02),
        haze_strength=min(1.0, base.haze_strength * float(rng.uniform(0.7, 1.2)) + 0.5 * fog),
        sun=(float(rng.uniform(0.05, 0.95)), base.sun[1] + float(rng.uniform(-0.07, 0.07))),
    )


def pick(rng: np.random.Generator, colours: tuple[Colour, ...], amount: float = 0.04) -> Colour:
    """One of the colours, varied."""
    return vary(rng, colours[int(rng.integers(len(colours)))], amount)
