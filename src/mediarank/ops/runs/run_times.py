"""How long stages took last time, which to start first, and how much of a run is left.

The times of the last runs are in `.mediarank/times.json`. The urgency of a stage is the time of the longest chain from
it to the end of the pipeline; the time left is estimated by simulating the rest of the run with those times.
"""

from __future__ import annotations

import heapq
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mediarank.ops.runs.dag import Stage

FILE = "times.json"


class Progress:
    """The progress of one run of `stages`, which are in plan order.

    folder : where the times are kept
    places : how many stages run at a time; called when first needed
    """

    def __init__(self, folder: Path, stages: Sequence[Stage], places: Callable[[], int]) -> None:
        self._path = folder / FILE
        self._stages = {stage.address: stage for stage in stages}
        self._places = places
        self._mutex = threading.Lock()
        self._last = read_times(self._path)
        self._new: dict[str, float] = {}
        self._running: dict[str, float] = {}
        self._over: set[str] = set()
        self._urgency = _longest_ways(stages, self._last)

    def urgency(self, address: str) -> float:
        """Seconds from the start of this stage to the end of the longest chain of stages that waits for it."""
        return self._urgency[address]

    def begin(self, address: str) -> str:
        """Note that a stage begins; returns a line with its name, the progress of the run and the time left."""
        with self._mutex:
            self._running[address] = time.monotonic()
            number = len(self._over) + len(self._running)
            left = self._left()
        about = f", about {in_words(left)} left" if left is not None else ""
        return f"stage {number} of {len(self._stages)}{about}: {address}"

    def skip(self, address: str) -> None:
        """Note that a stage need not run."""
        with self._mutex:
            self._over.add(address)

    def end(self, address: str, seconds: float) -> None:
        """Note that a stage has succeeded."""
        with self._mutex:
            self._running.pop(address, None)
            self._over.add(address)
            self._new[address] = seconds

    def save(self) -> None:
        """Write the times for the next run."""
        from mediarank import store

        kept = {address: seconds for address, seconds in self._last.items() if address in self._stages}
        store.write_json(self._path, {k: round(v, 2) for k, v in {**kept, **self._new}.items()}, sealed=False)

    def _left(self) -> float | None:
        known = [self._last[address] for address in self._stages if address in self._last]
        if not known:
            return None
        typical = sum(known) / len(known)
        now = time.monotonic()
        expected = {
            address: max(self._last.get(address, typical) - (now - self._running.get(address, now)), 0.0)
            for address in self._stages
            if address not in self._over
        }
        return time_left(list(self._stages.values()), expected, self._running, self._places())


def time_left(
    stages: Sequence[Stage], expected: Mapping[str, float], running: Mapping[str, object], places: int
) -> float:
    """Seconds until the last stage ends, given their expected times and `places` of them running at a time.

    running : those that already run
    """
    urgency = _longest_ways(stages, expected)
    waits = {s.address: {u for u in s.upstream if u in expected} for s in stages if s.address in expected}
    ends = [(expected[address], address) for address in running if address in expected]
    ready = [(-urgency[a], a) for a, upstream in waits.items() if not upstream and a not in running]
    heapq.heapify(ends)
    heapq.heapify(ready)
    now = 0.0
    while ends or ready:
        while ready and len(ends) < max(places, 1):
            address = heapq.heappop(ready)[1]
            heapq.heappush(ends, (now + expected[address], address))
        now, ended = heapq.heappop(ends)
        for address, upstream in waits.items():
            if ended in upstream:
                upstream.discard(ended)
                if not upstream:
                    heapq.heappush(ready, (-urgency[address], address))
    return now


def in_words(seconds: float) -> str:
    """A length of time, roughly: `40 s`, `2 min`."""
    return f"{max(5, round(seconds / 5) * 5)} s" if seconds < 90 else f"{round(seconds / 60)} min"


def _longest_ways(stages: Sequence[Stage], times: Mapping[str, float]) -> dict[str, float]:
    """For each stage, the time of the longest chain that begins with it; unknown times count as one second."""
    ways = {stage.address: times.get(stage.address, 1.0) for stage in stages}
    for stage in reversed(stages):  # plan order: a stage comes after all that it waits for
        for upstream in stage.upstream:
            if upstream in ways:
                ways[upstream] = max(ways[upstream], times.get(upstream, 1.0) + ways[stage.address])
    return ways


def read_times(path: Path) -> dict[str, float]:
    """Stage -> seconds; empty where no times were kept."""
    try:
        return {str(k): float(v) for k, v in json.loads(path.read_text()).items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
