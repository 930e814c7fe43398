"""What a run over a folder will cost: time by what was measured here and in earlier runs, and disk.

`measure` times the feature types on one picture, `EarlierRun` holds the times of an earlier run, and `cost_lines` adds
them up for `mediarank init`.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mediarank import fanout
from mediarank.collections.listing import Listing
from mediarank.labels import Labels


@dataclass(frozen=True)
class Costs:
    """What describing one picture costs.

    seconds : per picture and core, of all feature types together
    numbers : per picture, of 4 bytes each
    """

    seconds: float = 0.0
    numbers: int = 0


@dataclass(frozen=True)
class EarlierRun:
    """How long the stages took in a whole run.

    seconds : by stage, such as `systems-concepts`, each on one core
    items : of that run's collection
    whose : which run that was, in words
    """

    seconds: Mapping[str, float]
    items: int
    whose: str

    def expected(self, systems: Collection[str], items: int) -> float:
        """Seconds of one core, without decoding and features, for a collection on which `systems` learn something.

        Every stage costs its start, which is what the shortest evaluation took; fitting and measuring grow with the
        items.
        """
        start = min((s for stage, s in self.seconds.items() if stage.startswith("evaluation-")), default=1.0)
        growing = 0.0
        for stage, seconds in self.seconds.items():
            kind, _, name = stage.partition("-")
            learning = kind in ("systems", "evaluation") and name in systems
            if learning or kind == "report" or (kind == "base_models" and "concepts" in systems):
                growing += max(seconds - start, 0.0)
        return start * len(self.seconds) + growing * items / max(self.items, 1)


OF_THE_DEMO: Final = EarlierRun(
    {
        **dict.fromkeys(("wire", "splits", "manifest", "frames", "collect", "check_manifest", "check_features"), 1.0),
        **{f"features-{k}": 1.0 for k in range(12)},
        **{f"base_models-{k}": 1.4 for k in range(7)},
        "systems-annotation": 10.2, "systems-attributes": 9.3, "systems-concepts": 8.4, "systems-events": 7.6,
        "systems-retrieval": 8.6, "evaluation-annotation": 0.7, "evaluation-attributes": 1.2,
        "evaluation-concepts": 0.7, "evaluation-events": 0.8, "evaluation-retrieval": 1.1, "report": 4.8,
    },
    850,
    "the demo collection's",
)  # fmt: skip
"""Where nothing was run yet: the times that a run of the demo on two cores left in `.mediarank/times.json`, rounded."""


def measure(families: Sequence[Any], picture: Any) -> Costs:
    """The cost of all feature types that see pictures, measured on `picture`."""
    from mediarank.features.base import LocalExtractor

    seconds, numbers = 0.0, 0
    for family in families:
        if family.modality == "image":
            work = family.describe if isinstance(family, LocalExtractor) else family.extract
            work(picture)  # the first call compiles
            start = time.perf_counter()
            work(picture)
            seconds += time.perf_counter() - start
            numbers += len(family.names())
    return Costs(seconds, numbers)


def cost_lines(
    listing: Listing, usable: float, seconds: float, size: float, costs: Costs, earlier: EarlierRun
) -> list[str]:
    """The cost in words.

    usable : how many files can be used
    seconds, size : of making one working copy, measured
    """
    originals = sum(path.stat().st_size for path in listing.files.values())
    cores = max(1, fanout.jobs())
    describing = usable * (seconds + costs.seconds) / cores
    learned = earlier.expected(_learned(listing.labels.restricted_to(listing.files)), round(usable)) / cores
    disk = originals + usable * (2 * size + 4 * costs.numbers)
    return [
        f"Cost: about {_time(describing + learned)} on {cores} cores for the first run, less afterwards: decoding and "
        f"features {_time(describing)}, measured on your pictures; stages and fitting {_time(learned)}, "
        f"by {earlier.whose} times",
        f"      about {in_bytes(disk)} of disk, of which {in_bytes(originals)} are DVC's copy of your files",
    ]


def _learned(labels: Labels) -> set[str]:
    """The systems that find something to learn from."""
    counts = {
        "retrieval": 1,
        "concepts": len(labels.looked_at),
        "annotation": len(labels["keywords"]),
        "events": len(labels["events"]),
        "attributes": len(labels["orderings"]) + len(labels["pairs"]),
    }
    return {system for system, count in counts.items() if count}


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{max(5, round(seconds / 5) * 5)} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def in_bytes(count: float) -> str:
    """A size in words."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count / 1e3:.0f} kB"
