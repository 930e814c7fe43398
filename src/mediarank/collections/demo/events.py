"""The events of the clips: for each event, and for clips without one, the place, the motion and the sound.

The recipes overlap on purpose. Ambulance and ice-cream van share street and motion and differ in sound; ball game and
kite flying share the meadow and differ in motion; fireworks stand out by motion, but storms light up the same cities;
and sirens, cheers and wind also sound in clips that show no such thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

DAY: Final = ("dawn", "noon", "noon", "afternoon", "afternoon", "dusk")
NIGHT: Final = ("dusk", "night", "night")
ANY: Final = (*DAY, "night")


@dataclass(frozen=True)
class Recipe:
    """Scenes with their weights; actions, sounds and hours are each drawn uniformly."""

    scenes: Mapping[str, float]
    actions: tuple[str, ...]
    sounds: tuple[str, ...]
    hours: tuple[str, ...] = DAY


EVENTS: Final[Mapping[str, Recipe]] = {
    "ambulance": Recipe({"street": 4, "highway": 1}, ("van_passes",), ("siren",), ANY),
    "ball_game": Recipe({"field": 3, "coast": 1, "street": 1}, ("bouncing",), ("thuds",)),
    "fireworks": Recipe({"skyline": 3, "coast": 1, "street": 1}, ("bursting",), ("bangs",), NIGHT),
    "ice_cream_van": Recipe({"street": 4, "highway": 1}, ("van_passes",), ("jingle",)),
    "kite_flying": Recipe({"field": 3, "coast": 2}, ("swaying",), ("gusts",)),
}

BACKGROUND: Final = (
    Recipe({"street": 3, "highway": 2}, ("car_passes",), ("engine", "engine", "hum", "jingle"), ANY),
    Recipe({"street": 3, "highway": 2}, ("van_passes",), ("engine", "engine", "hum", "murmur"), ANY),
    Recipe({"street": 1}, ("walkers",), ("murmur", "engine", "siren"), ANY),
    Recipe({"field": 1}, ("walkers",), ("birdsong", "murmur", "thuds")),
    Recipe({"field": 2, "coast": 1}, ("soaring",), ("gusts", "gusts", "birdsong")),
    Recipe({"coast": 1}, ("bobbing",), ("surf", "gusts", "murmur")),
    Recipe({"skyline": 2, "coast": 1, "street": 1}, ("flashing",), ("thunder",), NIGHT),
    Recipe({"skyline": 1}, ("walkers",), ("hum", "bangs"), NIGHT),
    Recipe({"mountain": 1}, ("walkers", "soaring"), ("gusts", "birdsong")),
)

EVENT_SHARE: Final = 0.11
"""The share of each event among all clips; the rest are background."""
