"""When each frame of a clip is shown, and which packets must be decoded to get some of them.

Reading a clip's packets without decoding them costs a hundredth of decoding. Their times also hold for variable frame
rates and for truncated files, where the header's length and rate do not. They also show which packets no wanted frame
depends on, so that eight frames of an hour do not need an hour of decoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mediarank.media.container import Damage, read_packets
from mediarank.media.limits import Limits

Stamps = npt.NDArray[np.int64]
BURST_RATE: Final = 15
"""Frames per second of bursts, about; a slower clip gives every frame."""


@dataclass(frozen=True)
class Timeline:
    """One entry per frame, in the order in which frames are coded.

    stamps : when it is shown, in units of `time_base`; 0, 1, 2, … if the file does not say
    is_key : whether it can be decoded without any earlier frame
    timed : whether the file says when frames are shown
    end : when the last frame is no longer shown
    """

    stamps: Stamps
    is_key: npt.NDArray[np.bool_]
    timed: bool
    time_base: Fraction
    end: int

    @property
    def start(self) -> int:
        return int(self.stamps.min())

    @property
    def seconds(self) -> float:
        return float((self.end - self.start) * self.time_base)

    def seconds_at(self, stamp: int) -> float:
        return float((stamp - self.start) * self.time_base)

    def stamp_at(self, seconds: float) -> int:
        """Undo `seconds_at`."""
        return self.start + round(seconds / self.time_base)

    def uniform(self, count: int) -> Stamps:
        """Stamps of the frames on screen in the middle of each of `count` equal parts of the clip, without repeats."""
        ordered = np.sort(self.stamps)
        middles = self.start + (2 * np.arange(count) + 1) * (self.end - self.start) // (2 * count)
        return np.unique(ordered[np.searchsorted(ordered, middles, side="right") - 1])

    def following(self, stamps: Sequence[int], count: int) -> list[Stamps]:
        """For each stamp, those of `count` frames in a row from it on, and earlier ones where the clip ends before.

        Above `BURST_RATE` frames per second every second, third, … frame is taken, so that a burst spans a similar
        time in every clip.
        """
        ordered = np.sort(self.stamps)
        rate = len(ordered) / max(self.seconds, 1e-6)
        step = max(1, round(rate / BURST_RATE))
        bursts = []
        for stamp in stamps:
            first = int(np.searchsorted(ordered, stamp))
            first = max(0, min(first, len(ordered) - 1 - step * (count - 1)))
            bursts.append(ordered[first : first + step * (count - 1) + 1 : step])
        return bursts

    def not_needed(self, wanted: Stamps) -> frozenset[int]:
        """Stamps of packets on which no wanted frame depends.

        A frame depends at most on those coded before it, back to a key frame. Only frames that are coded after a key
        frame but shown before it may reach further back: to the key frame before that.
        """
        if not self.timed:
            return frozenset()
        keys = np.flatnonzero(self.is_key)
        needed = np.zeros(len(self.stamps), dtype=bool)
        for last in np.flatnonzero(np.isin(self.stamps, wanted)):
            before = int(np.searchsorted(keys, last, side="right")) - 1  # the key frame that `last` builds on
            if before >= 0 and self.stamps[last] < self.stamps[keys[before]]:
                before -= 1
            first = keys[before] if before >= 0 else 0
            needed[first : last + 1] = True
        return frozenset(self.stamps[~needed].tolist())


def read_timeline(container: Any, stream: Any, limits: Limits, damage: Damage) -> Timeline | None:
    """Read all packets of a video stream; None if there are none."""
    stamps: list[int | None] = []
    keys: list[bool] = []
    duration = 0
    for packet in read_packets(container, (stream,), damage):
        stamps.append(packet.pts)
        keys.append(packet.is_keyframe)
        duration = packet.duration or duration
        limits.check_frames(len(stamps))
    if not stamps:
        return None
    known = [stamp for stamp in stamps if stamp is not None]
    if len(set(known)) == len(stamps):
        shown = np.array(known, dtype=np.int64)
        timeline = Timeline(shown, np.array(keys), True, stream.time_base, int(shown.max()) + max(duration, 1))
    else:
        rate = stream.average_rate or stream.guessed_rate or Fraction(25)
        count = len(stamps)
        timeline = Timeline(np.arange(count, dtype=np.int64), np.array(keys), False, 1 / Fraction(rate), count)
    limits.check_seconds(timeline.seconds)
    return timeline
