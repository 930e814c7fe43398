"""A clip's sampled frames, short bursts of consecutive frames, and its sound, in one pass over the file.

Frames are sampled at uniform times or one per shot; bursts begin at some of them, for families that look at motion
(bursts of shots need a second pass). A damaged clip gives what can be decoded, and a note of what is
lost. Frames are turned upright as the container says and shrunk as soon as they are taken, so that memory does not grow
with the clip. Pixels are treated as square; colours follow the stream's own tags.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal

import av
import numpy as np

from mediarank.media.container import (
    Damage,
    audio_stream,
    declared_seconds,
    decode_packet,
    open_container,
    read_packets,
    video_stream,
)
from mediarank.media.files import File
from mediarank.media.image import Pixels
from mediarank.media.limits import Limits
from mediarank.media.shots import THUMBNAIL, Candidate, key_frames
from mediarank.media.sound import SoundCollector
from mediarank.media.timeline import Stamps, Timeline, read_timeline
from mediarank.media.working import fit_inside
from mediarank.types import Floats, MediaError, UnsupportedMedia

Sampling = Literal["uniform", "shots"]

_CLOCK_SLACK: Final = 0.5  # seconds by which headers and packets of undamaged files may differ


@dataclass(frozen=True)
class Bursts:
    """How many bursts of consecutive frames a clip gives, of how many frames, and the side they are shrunk to fit."""

    count: int
    frames: int
    side: int

    def starts(self, sampled: int) -> list[int]:
        """Which of `sampled` frames a burst begins at: evenly spread, without repeats."""
        return sorted({round(place) for place in np.linspace(0, sampled - 1, min(self.count, sampled))})


NO_BURSTS: Final = Bursts(0, 0, 0)


@dataclass(frozen=True)
class Clip:
    """A decoded clip.

    pictures : (seconds, RGB picture) of the sampled frames in order
    bursts : place in `pictures` -> (frames, height, width, 3) of the burst that begins there
    sound : if there is any
    note : of what was lost
    """

    pictures: tuple[tuple[float, Pixels], ...]
    sound: Floats | None
    seconds: float
    note: str
    bursts: Mapping[int, Pixels] = field(default_factory=dict)


def decode_clip(
    path: File,
    limits: Limits,
    count: int,
    sampling: Sampling,
    max_side: int,
    sample_rate: int = 16000,
    bursts: Bursts = NO_BURSTS,
) -> Clip:
    """Decode `count` frames (fewer if the clip has fewer frames or shots), bursts and the first sound track.

    max_side : pictures are shrunk to fit a square of this side
    Raises MediaError if no frame can be decoded.
    """
    with open_container(path, limits) as container:
        video, audio = video_stream(container), audio_stream(container)
        if video is None:
            raise UnsupportedMedia("It has no moving pictures in a coding that can be decoded here; convert it to MP4.")
        limits.check_pixels(video.width, video.height)
        video.codec_context.options = {"max_pixels": str(limits.max_pixels)}  # the size may change within the stream
        declared = declared_seconds(container, video)
        limits.check_seconds(declared)
        damage = Damage()
        timeline = read_timeline(container, video, limits, damage)
        if timeline is None:
            raise MediaError("It holds no frame; the file is damaged or cut off.")
        for stream in (video, audio):
            if stream is not None:
                stream.codec_context.thread_count = 1  # the pool of workers uses the cores
        container.seek(0)
        sound = SoundCollector(sample_rate, limits, damage)
        if sampling == "uniform":
            sampled = timeline.uniform(count)
            wanted = _Wanted(sampled, _bursts(timeline, sampled, bursts), max_side, bursts.side)
            frames = _frames(container, video, audio, timeline, wanted.stamps, sound, damage)
            pictures, in_a_row = wanted.taken(frames, timeline)
        else:
            frames = _frames(container, video, audio, timeline, None, sound, damage)
            pictures = key_frames(_candidates(frames, timeline, max_side), count)
            in_a_row = {}
        samples = sound.finish()
        if sampling == "shots" and bursts.count and pictures:
            container.seek(0)
            sampled = np.array([timeline.stamp_at(seconds) for seconds, _ in pictures])
            wanted = _Wanted(sampled, _bursts(timeline, sampled, bursts), 1, bursts.side)
            frames = _frames(container, video, None, timeline, wanted.stamps, sound, Damage())
            in_a_row = wanted.taken(frames, timeline)[1]
    if not pictures:
        raise MediaError("None of its frames can be decoded; the file is damaged.")
    # A length declared for the whole file, not for the video stream, may be that of the sound.
    found = timeline.seconds if video.duration else max(timeline.seconds, len(samples) / sample_rate)
    note = _note(found, declared, damage)
    return Clip(tuple(pictures), samples if len(samples) else None, timeline.seconds, note, in_a_row)


def _bursts(timeline: Timeline, sampled: Stamps, bursts: Bursts) -> dict[int, Stamps]:
    """Stamp of a sampled frame -> those of the burst that begins there."""
    if not bursts.count or not len(sampled):
        return {}
    starts = [int(sampled[place]) for place in bursts.starts(len(sampled))]
    return dict(zip(starts, timeline.following(starts, bursts.frames), strict=True))


@dataclass(frozen=True)
class _Wanted:
    """Which frames become pictures, and which belong to the burst that begins at one of them."""

    sampled: Stamps
    bursts: Mapping[int, Stamps]
    max_side: int
    burst_side: int

    @property
    def stamps(self) -> Stamps:
        return np.unique(np.concatenate([self.sampled, *self.bursts.values()]))

    def taken(
        self, frames: Iterable[tuple[int, Any]], timeline: Timeline
    ) -> tuple[list[tuple[float, Pixels]], dict[int, Pixels]]:
        """The pictures with their seconds, and place of a picture -> its burst."""
        sampled = set(self.sampled.tolist())
        moving = {stamp for burst in self.bursts.values() for stamp in burst.tolist()}
        pictures: dict[int, Pixels] = {}
        place: dict[int, int] = {}
        small: dict[int, Pixels] = {}
        for wanted, stamp, frame in _at(frames, self.stamps):
            if wanted in sampled:
                if stamp not in pictures:  # a lost frame is replaced by the one before, which counts once
                    pictures[stamp] = _picture(frame, self.max_side)
                place[wanted] = len(pictures) - 1
            if wanted in moving:
                small[wanted] = _picture(frame, self.burst_side)
        bursts = {}
        for start, burst in self.bursts.items():
            found = [small[stamp] for stamp in burst.tolist() if stamp in small]
            if start in place and found:
                alike = [picture for picture in found if picture.shape == found[0].shape]  # the size may change
                bursts[place[start]] = np.stack(alike)
        return [(timeline.seconds_at(stamp), picture) for stamp, picture in pictures.items()], bursts


def _frames(
    container: Any,
    video: Any,
    audio: Any | None,
    timeline: Timeline,
    wanted: Stamps | None,
    sound: SoundCollector,
    damage: Damage,
) -> Iterator[tuple[int, Any]]:
    """(stamp, frame) in the order of display, of the wanted frames and those they depend on; sound is collected too."""
    not_needed: frozenset[int] = timeline.not_needed(wanted) if wanted is not None else frozenset()
    choosing = set(wanted.tolist()) if wanted is not None and timeline.timed else None
    shown = 0

    def stamped(frames: list[Any]) -> Iterator[tuple[int, Any]]:
        nonlocal shown
        for frame in frames:
            if frame.is_corrupt:
                damage.packets += choosing is None or frame.pts in choosing
                continue
            yield (frame.pts if timeline.timed else shown), frame
            shown += 1

    for packet in read_packets(container, (video,) if audio is None else (video, audio), damage):
        if packet.stream_index != video.index:
            sound.add_all(decode_packet(audio, packet, damage))
        elif packet.pts not in not_needed:
            if choosing is not None:
                # Decoders can skip frames that no other frame refers to; with a single thread they do so at once.
                video.codec_context.skip_frame = "DEFAULT" if packet.pts in choosing else "NONREF"
            yield from stamped(decode_packet(video, packet, damage))
    yield from stamped(decode_packet(video, None, damage))
    if audio is not None:
        sound.add_all(decode_packet(audio, None, damage))


def _at(frames: Iterable[tuple[int, Any]], wanted: Stamps) -> Iterator[tuple[int, int, Any]]:
    """(wanted stamp, own stamp, frame): the frame shown at each wanted stamp, or if it is lost, the last one before."""
    last: tuple[int, Any] | None = None
    position = 0
    for stamp, frame in frames:
        while position < len(wanted) and last is not None and wanted[position] < stamp:
            yield (int(wanted[position]), *last)
            position += 1
        last = (stamp, frame)
    if last is not None:
        for stamp in wanted[position:].tolist():
            yield (stamp, *last)


def _candidates(frames: Iterable[tuple[int, Any]], timeline: Timeline, max_side: int) -> Iterator[Candidate]:
    shrink = av.video.reformatter.VideoReformatter()
    width, height = THUMBNAIL
    for stamp, frame in frames:
        small = shrink.reformat(frame, width, height, "rgb24", interpolation="AREA", threads=1)
        yield Candidate(timeline.seconds_at(stamp), small.to_ndarray(), partial(_picture, frame, max_side))


def _picture(frame: Any, max_side: int) -> Pixels:
    image = fit_inside(frame.to_ndarray(format="rgb24", threads=1), max_side)
    return np.ascontiguousarray(np.rot90(image, round(frame.rotation / 90)))


def _note(found: float, declared: float, damage: Damage) -> str:
    notes = []
    if found < declared - max(_CLOCK_SLACK, 0.05 * declared):
        notes.append(f"only {found:.1f} of {declared:.1f} s are in the file")
    elif damage.cut_off:
        notes.append(f"it can be read up to {found:.1f} s only")
    if damage.packets:
        notes.append(f"{damage.packets} damaged packets were left out")
    return "; ".join(notes)
