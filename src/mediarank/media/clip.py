"""A clip's sampled frames and its sound, in one pass over the file.

Frames are sampled at uniform times or one per shot. A damaged clip gives what can be decoded, and a note of what is
lost. Frames are turned upright as the container says and shrunk as soon as they are taken, so that memory does not grow
with the clip. Pixels are treated as square; colours follow the stream's own tags.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
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
class Clip:
    """A decoded clip.

    (seconds, RGB picture) of the sampled frames in order, the sound if there is any, and a note of what was lost.
    """

    pictures: tuple[tuple[float, Pixels], ...]
    sound: Floats | None
    seconds: float
    note: str


def decode_clip(
    path: Path, limits: Limits, count: int, sampling: Sampling, max_side: int, sample_rate: int = 16000
) -> Clip:
    """Decode `count` frames (fewer if the clip has fewer frames or shots) and the first sound track.

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
        container.seek(0)
        sound = SoundCollector(sample_rate, limits, damage)
        wanted = timeline.uniform(count) if sampling == "uniform" else None
        frames = _frames(container, video, audio, timeline, wanted, sound, damage)
        if wanted is not None:
            pictures = [(timeline.seconds_at(s), _picture(f, max_side)) for s, f in _at(frames, wanted)]
        else:
            pictures = key_frames(_candidates(frames, timeline, max_side), count)
        samples = sound.finish()
    if not pictures:
        raise MediaError("None of its frames can be decoded; the file is damaged.")
    # A length declared for the whole file, not for the video stream, may be that of the sound.
    found = timeline.seconds if video.duration else max(timeline.seconds, len(samples) / sample_rate)
    note = _note(found, declared, damage)
    return Clip(tuple(pictures), samples if len(samples) else None, timeline.seconds, note)


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
    for stream in (video, audio):
        if stream is not None:
            stream.codec_context.thread_count = 1  # the pool of workers uses the cores
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


def _at(frames: Iterable[tuple[int, Any]], wanted: Stamps) -> Iterator[tuple[int, Any]]:
    """The frame shown at each wanted stamp, or if it is lost, the last one before; no repeats."""
    last: tuple[int, Any] | None = None
    given: int | None = None
    position = 0
    for stamp, frame in frames:
        while position < len(wanted) and last is not None and wanted[position] < stamp:
            if last[0] != given:
                yield last
            given = last[0]
            position += 1
        last = (stamp, frame)
    if last is not None and position < len(wanted) and last[0] != given:
        yield last


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
