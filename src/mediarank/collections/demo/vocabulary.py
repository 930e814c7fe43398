"""The tables behind the images' labels: scene classes, their hours and weathers, graded attributes; and concepts.

Tables only. How a scene is painted is in `scenes/`, a concept in `props/`; the events of clips are in `events.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

CLASSES: Final = ("coast", "field", "forest", "highway", "interior", "mountain", "skyline", "street")

HOURS: Final = ("dawn", "noon", "afternoon", "dusk", "night")
WEATHERS: Final = ("clear", "cloudy", "overcast", "fog", "rain", "snow")

HOUR_SHARES: Final[Mapping[str, tuple[float, ...]]] = {
    "coast": (0.15, 0.42, 0.25, 0.12, 0.06),
    "field": (0.15, 0.38, 0.27, 0.12, 0.08),
    "forest": (0.20, 0.25, 0.25, 0.20, 0.10),
    "highway": (0.12, 0.33, 0.22, 0.20, 0.13),
    "interior": (0.10, 0.30, 0.20, 0.15, 0.25),
    "mountain": (0.17, 0.37, 0.20, 0.16, 0.10),
    "skyline": (0.12, 0.18, 0.15, 0.25, 0.30),
    "street": (0.12, 0.25, 0.23, 0.20, 0.20),
}
"""The probability of each of HOURS in each scene; it makes some classes brighter than others."""

WEATHER_SHARES: Final = (0.36, 0.24, 0.14, 0.09, 0.10, 0.07)
"""The probability of each of WEATHERS, in every scene."""

ATTRIBUTES: Final[Mapping[str, str]] = {
    "openness": "interior < forest < street < skyline < mountain < highway < field < coast",
    "naturalness": "interior < street < skyline < highway < coast = field < forest = mountain",
    "depth": "interior < forest < skyline < coast < mountain < field < street < highway",
    "clutter": "coast < field < highway = mountain < interior < skyline < forest = street",
    "brightness": "forest < skyline < interior = street < highway = mountain < coast = field",
    "regularity": "coast = mountain < forest < field < highway < interior < street < skyline",
    "warmth": "coast = mountain = skyline < highway < street < field < forest < interior",
}
"""The classes in the order of each attribute, from the weakest to the strongest."""


def strengths(attribute: str) -> dict[str, int]:
    """The strength of the attribute in each class: its place in the order, from 1 up; equal classes share one."""
    ladder = ATTRIBUTES[attribute].split(" < ")
    return {name: place for place, step in enumerate(ladder, start=1) for name in step.split(" = ")}


@dataclass(frozen=True)
class Concept:
    """A rare thing to search for.

    share : of all images
    scenes : the probability of each scene to contain it
    hours, weathers : those that it needs, if any
    decoys : look-alikes, drawn about half as often, in the same scenes, without the label
    """

    share: float
    scenes: Mapping[str, float]
    decoys: tuple[str, ...]
    hours: tuple[str, ...] = ()
    weathers: tuple[str, ...] = ()

    @property
    def picky(self) -> bool:
        return bool(self.hours or self.weathers)


CONCEPTS: Final[Mapping[str, Concept]] = {
    "balloon": Concept(0.055, {"field": 5, "mountain": 4, "coast": 1, "skyline": 1}, ("kite",)),
    "bicycle": Concept(0.030, {"street": 5, "interior": 1, "forest": 1, "skyline": 1}, ("bench",)),
    "birds": Concept(
        0.085, {"coast": 5, "field": 3, "skyline": 2, "mountain": 1, "highway": 1}, ("aeroplane", "contrail")
    ),
    "boat": Concept(0.085, {"coast": 6, "mountain": 2, "skyline": 2}, ("buoy",)),
    "bridge": Concept(0.055, {"skyline": 5, "highway": 3, "mountain": 2, "coast": 1}, ("pipeline",)),
    "bus": Concept(0.050, {"street": 5, "highway": 3}, ("truck",)),
    "campfire": Concept(
        0.030, {"forest": 4, "mountain": 3, "coast": 2}, ("lantern",), hours=("dusk", "night", "dusk", "dawn")
    ),
    "cat": Concept(0.025, {"interior": 5, "street": 1}, ("cushion",)),
    "clock": Concept(0.040, {"interior": 5, "street": 2}, ("mirror",)),
    "fireworks": Concept(0.020, {"skyline": 5, "coast": 2, "street": 1}, ("searchlight",), hours=("night",)),
    "flag": Concept(0.040, {"skyline": 5, "coast": 3, "mountain": 1}, ("sign", "statue")),
    "horse": Concept(0.045, {"field": 7, "mountain": 2, "highway": 1}, ("cow", "boulder")),
    "lighthouse": Concept(0.035, {"coast": 7, "mountain": 1, "skyline": 1}, ("chimney",)),
    "plant": Concept(0.060, {"interior": 6, "street": 2}, ("statue", "bush")),
    "rainbow": Concept(
        0.030,
        {"field": 3, "mountain": 3, "coast": 2, "highway": 2},
        ("contrail",),
        hours=("noon", "afternoon"),
        weathers=("cloudy", "rain", "overcast"),
    ),
    "snowman": Concept(0.022, {"field": 3, "mountain": 3, "forest": 2, "skyline": 1}, ("boulder",), weathers=("snow",)),
    "tent": Concept(0.045, {"forest": 5, "mountain": 4, "coast": 1}, ("haystack", "boulder")),
    "train": Concept(0.030, {"mountain": 5, "field": 2, "skyline": 1}, ("pipeline",)),
    "umbrella": Concept(0.050, {"coast": 6, "street": 2}, ("bush",)),
    "windmill": Concept(0.040, {"field": 7, "coast": 1, "highway": 1}, ("turbine",)),
}
