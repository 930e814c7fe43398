"""Shots of a clip, and one key frame for each.

A frame is described by a smoothed colour histogram and by where its edges lie. Two stretches of frames belong to
different shots when both have changed: light alone leaves the edges, motion alone leaves the colours. Stretches are
represented by their medians, so that a flash or a dropped frame changes nothing, and a dissolve is found where the
medians on its two sides differ most. Everything looks ahead by a fixed number of frames only, so that a clip is
decoded once and never held in memory.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import cv2
import numpy as np

from mediarank.media.image import Pixels
from mediarank.types import Floats

WINDOW: Final = 12
"""Frames on either side that are compared; also the shortest shot."""

THRESHOLD: Final = 0.15
"""Stretches whose `difference` exceeds this are different shots. Steady shots stay well below half of it; different
scenes exceed it, and so do the two sides of a dissolve of up to a second."""

THUMBNAIL: Final = (64, 48)
"""Width and height of the pictures that `describe` takes."""

_BINS: Final = 32
_CELLS: Final = (8, 6)
_FLAT: Final = 4.0  # edge strength added to each cell, so that noise in a flat picture does not count as structure
_SMOOTH: Final = np.array([0.25, 0.5, 0.25], np.float32)
_KEPT: Final = 8


@dataclass(frozen=True)
class Candidate:
    """A frame to choose from: when it is shown, its thumbnail, and how to get the picture itself."""

    seconds: float
    thumbnail: Pixels
    take: Callable[[], Pixels]


def describe(thumbnail: Pixels) -> Floats:
    """Three LAB histograms, then the share of edges in each cell of a grid; each half sums to 1."""
    lab = cv2.cvtColor(thumbnail, cv2.COLOR_RGB2LAB)
    histograms = [cv2.calcHist([lab], [channel], None, [_BINS], [0, 256]).ravel() for channel in range(3)]
    colours = np.concatenate([np.convolve(h, _SMOOTH, mode="same") for h in histograms])
    lightness = lab[..., 0].astype(np.float32)
    strength = np.abs(cv2.Sobel(lightness, cv2.CV_32F, 1, 0)) + np.abs(cv2.Sobel(lightness, cv2.CV_32F, 0, 1))
    edges = cv2.resize(strength, _CELLS, interpolation=cv2.INTER_AREA).ravel() + _FLAT
    return np.concatenate([colours / colours.sum(), edges / edges.sum()]).astype(np.float32)


def difference(one: Floats, other: Floats) -> float:
    """Between two descriptions, 0 to 1: the geometric mean of the changes in colours and in edges."""
    gap = np.abs(one - other)
    colours, edges = gap[: 3 * _BINS].sum() / 2, gap[3 * _BINS :].sum() / 2
    return float(np.sqrt(colours * edges))


def shot_starts(descriptions: Iterable[Floats]) -> Iterator[bool]:
    """For each frame, in order, whether a shot starts with it; looks at most `2 * WINDOW` frames ahead."""
    window: deque[Floats] = deque(maxlen=2 * WINDOW)
    changes: list[float] = [0.0] * WINDOW  # of each frame against those before it; 0 if there are too few
    decided = seen = 0
    for description in descriptions:
        seen += 1
        window.append(description)
        if len(window) == 2 * WINDOW:
            changes.append(_change(np.stack(window)))
        while decided + WINDOW < len(changes) - 1:
            yield _is_peak(changes, decided)
            decided += 1
    changes.extend([0.0] * (seen - len(changes)))  # too few frames follow the last ones
    for frame in range(decided, seen):
        yield _is_peak(changes, frame)


def key_frames(candidates: Iterable[Candidate], count: int) -> list[tuple[float, Pixels]]:
    """(seconds, picture) of a frame near the middle of each shot, in order; of the `count` longest if too many."""
    waiting: deque[Candidate] = deque()

    def descriptions() -> Iterator[Floats]:
        for candidate in candidates:
            waiting.append(candidate)
            yield describe(candidate.thumbnail)

    longest: list[tuple[int, float, Pixels]] = []
    shot = _Shot()
    for starts in shot_starts(descriptions()):
        if starts:
            _keep_longest(longest, shot, count)
            shot = _Shot()
        shot.add(waiting.popleft())
    if shot.length:
        _keep_longest(longest, shot, count)
    return sorted(((seconds, picture) for _, seconds, picture in longest), key=lambda pair: pair[0])


def _change(window: Floats) -> float:
    """How much the second half of a window differs from the first; 0 below the threshold.

    The step between the two middle frames is added, which places a cut on the exact frame: medians alone would not
    notice a few frames on the wrong side.
    """
    before, after = np.median(window[:WINDOW], axis=0), np.median(window[WINDOW:], axis=0)
    change = difference(before, after)
    return change + difference(window[WINDOW - 1], window[WINDOW]) if change > THRESHOLD else 0.0


def _is_peak(changes: list[float], frame: int) -> bool:
    start = max(0, frame - WINDOW)
    around = changes[start : frame + WINDOW + 1]
    return changes[frame] > 0 and start + around.index(max(around)) == frame


def _keep_longest(longest: list[tuple[int, float, Pixels]], shot: _Shot, count: int) -> None:
    seconds, picture = shot.middle()
    heapq.heappush(longest, (shot.length, seconds, picture))
    if len(longest) > count:
        heapq.heappop(longest)


@dataclass
class _Shot:
    """Frames of one shot, thinned out evenly as it grows: every one, then every second, every fourth, …"""

    length: int = 0
    _stride: int = 1
    _kept: list[tuple[int, float, Pixels]] = field(default_factory=list)

    def add(self, candidate: Candidate) -> None:
        if self.length % self._stride == 0:
            self._kept.append((self.length, candidate.seconds, candidate.take()))
            if len(self._kept) > _KEPT:
                self._kept = self._kept[::2]
                self._stride *= 2
        self.length += 1

    def middle(self) -> tuple[float, Pixels]:
        _, seconds, picture = min(self._kept, key=lambda kept: abs(kept[0] - (self.length - 1) / 2))
        return seconds, picture
