"""Sound as one channel of float32 samples at one rate, from a sound file or from the sound track of a clip."""

from __future__ import annotations

from typing import Any, Final

import av
import numpy as np

from mediarank.media.container import (
    Damage,
    audio_stream,
    declared_seconds,
    decode_packet,
    open_container,
    read_packets,
)
from mediarank.media.files import File
from mediarank.media.limits import Limits
from mediarank.types import Floats, MediaError, UnsupportedMedia

_SANE_RATES: Final = range(1000, 1_000_001)  # other rates mean damage, and would make the resampler's filters huge


class SoundCollector:
    """Takes decoded frames of any layout and rate one by one; `finish` gives the samples, in [-1, 1].

    A stream may change its layout or rate: each stretch gets a new resampler.
    """

    def __init__(self, sample_rate: int, limits: Limits, damage: Damage) -> None:
        self._sample_rate = sample_rate
        self._limits = limits
        self._damage = damage
        self._resampler: Any = None
        self._setting: tuple[Any, ...] = ()
        self._chunks: list[Floats] = []
        self._samples = 0

    def add_all(self, frames: list[Any]) -> None:
        for frame in frames:
            try:
                self._add(frame)
            except (av.FFmpegError, ValueError):  # a layout or rate that no resampler takes
                self._damage.packets += 1

    def _add(self, frame: Any) -> None:
        if frame.sample_rate not in _SANE_RATES:
            raise ValueError(f"a sample rate of {frame.sample_rate} Hz")
        setting = (frame.format.name, frame.layout.name, frame.sample_rate)
        if setting != self._setting:
            self._drain()
            # Weights that add up to 1 at most: by default two equal channels would add up to 1.4 and be clipped.
            options = {"rematrix_maxval": "1.0"}
            self._resampler = av.AudioResampler(format="flt", layout="mono", rate=self._sample_rate, options=options)
            self._setting = setting
        frame.pts = None  # gaps in a damaged stream's clock are closed, not filled with silence
        try:
            self._keep(self._resampler.resample(frame))
        except (av.FFmpegError, ValueError):
            # Its graph of filters may be half built, and draining that crashes FFmpeg.
            self._resampler, self._setting = None, ()
            raise

    def finish(self) -> Floats:
        self._drain()
        if not self._chunks:
            return np.zeros(0, np.float32)
        samples = np.concatenate(self._chunks)
        return np.clip(np.nan_to_num(samples, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)

    def _drain(self) -> None:
        if self._resampler is not None:
            self._keep(self._resampler.resample(None))
            self._resampler = None

    def _keep(self, frames: list[Any]) -> None:
        for frame in frames:
            if frame is None:  # a resampler with nothing left returns None
                continue
            chunk = frame.to_ndarray().reshape(-1).astype(np.float32)
            self._samples += len(chunk)
            self._limits.check_seconds(self._samples / self._sample_rate)
            self._chunks.append(chunk)


def decode_sound(path: File, limits: Limits, sample_rate: int = 16000) -> Floats:
    """The first sound track of a sound or clip, mixed to one channel.

    Packets that can't be decoded are skipped. Raises MediaError if nothing is left, or if it is too long.
    """
    with open_container(path, limits) as container:
        stream = audio_stream(container)
        if stream is None:
            raise UnsupportedMedia("It has no sound in a coding that can be decoded here; convert it to WAV or FLAC.")
        limits.check_seconds(declared_seconds(container, stream))
        stream.codec_context.thread_count = 1
        damage = Damage()
        collector = SoundCollector(sample_rate, limits, damage)
        for packet in read_packets(container, (stream,), damage):
            collector.add_all(decode_packet(stream, packet, damage))
        collector.add_all(decode_packet(stream, None, damage))
        samples = collector.finish()
    if not len(samples):
        raise MediaError("No sound could be decoded from it; it is empty or damaged.")
    return samples
