"""Sound of any coding, layout and rate becomes one channel at one rate."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from making_media import scene, tone, write_clip, write_sound

from mediarank.media.container import Damage
from mediarank.media.limits import Limits
from mediarank.media.sound import SoundCollector, decode_sound
from mediarank.media.working import encode_sound
from mediarank.types import MediaError

LIMITS = Limits()


def pitch(samples: np.ndarray, rate: int) -> float:
    middle = samples[len(samples) // 4 : 3 * len(samples) // 4]
    return float(np.argmax(np.abs(np.fft.rfft(middle * np.hanning(len(middle))))) * rate / len(middle))


@pytest.mark.parametrize(
    ("name", "codec", "rate"),
    [
        ("a.wav", "pcm_s16le", 44100),
        ("a.wav", "pcm_f32le", 8000),
        ("a.wav", "pcm_u8", 22050),
        ("a.flac", "flac", 96000),
        ("a.mp3", "libmp3lame", 44100),
        ("a.ogg", "libopus", 48000),
        ("a.m4a", "aac", 32000),
    ],
)
def test_codings_and_rates(tmp_path: Path, name: str, codec: str, rate: int) -> None:
    samples = decode_sound(write_sound(tmp_path / name, tone(1.0, rate, 700), rate, codec), LIMITS)
    assert samples.dtype == np.float32
    assert samples.ndim == 1
    assert len(samples) == pytest.approx(16000, abs=1600)
    assert pitch(samples, 16000) == pytest.approx(700, abs=5)
    assert np.abs(samples[4000:12000]).max() == pytest.approx(0.5, abs=0.05)


def test_16_khz_mono_passes_through_unchanged(tmp_path: Path) -> None:
    wave = np.round(tone(0.5, 16000) * 32768) / 32768
    samples = decode_sound(write_sound(tmp_path / "a.wav", wave, 16000), LIMITS)
    assert np.abs(samples - wave).max() <= 1 / 32768


def test_channels_are_averaged(tmp_path: Path) -> None:
    left, right = tone(0.5, 16000), -0.5 * tone(0.5, 16000)
    samples = decode_sound(write_sound(tmp_path / "a.wav", np.stack([left, right]), 16000, layout="stereo"), LIMITS)
    assert np.abs(samples - (left + right) / 2).max() < 0.001


def test_five_channels_and_a_subwoofer(tmp_path: Path) -> None:
    channels = np.stack([2 * tone(0.5, 16000)] * 6)
    samples = decode_sound(write_sound(tmp_path / "a.wav", channels, 16000, layout="5.1"), LIMITS)
    assert np.abs(samples - 2 * tone(0.5, 16000)).max() < 0.001  # neither louder nor clipped


def test_another_rate(tmp_path: Path) -> None:
    samples = decode_sound(write_sound(tmp_path / "a.wav", tone(1.0, 44100), 44100), LIMITS, sample_rate=8000)
    assert len(samples) == pytest.approx(8000, abs=80)


def test_nonsense_samples_become_finite(tmp_path: Path) -> None:
    wave = tone(0.5, 16000)
    wave[100], wave[200], wave[300] = np.nan, np.inf, 50
    samples = decode_sound(write_sound(tmp_path / "a.wav", wave, 16000, "pcm_f32le"), LIMITS)
    assert np.isfinite(samples).all()
    assert np.abs(samples).max() <= 1


@pytest.mark.parametrize(("name", "codec"), [("a.wav", "pcm_s16le"), ("a.flac", "flac"), ("a.mp3", "libmp3lame")])
def test_a_broken_tail_costs_the_tail_only(tmp_path: Path, name: str, codec: str) -> None:
    path = write_sound(tmp_path / name, tone(2.0, 44100), codec=codec)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
    samples = decode_sound(path, LIMITS)
    assert 0.8 < len(samples) / 16000 < 1.5
    assert pitch(samples, 16000) == pytest.approx(440, abs=5)


def test_nothing_to_hear_is_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(encode_sound(np.zeros(0, np.float32), 16000))
    with pytest.raises(MediaError, match="No sound could be decoded"):
        decode_sound(path, LIMITS)
    path.write_bytes(write_clip(tmp_path / "a.mp4", [scene(1)] * 5).read_bytes())
    with pytest.raises(MediaError, match="no sound in a coding"):
        decode_sound(path, LIMITS)


def test_a_length_beyond_the_limit_is_refused_by_header_and_on_the_way(tmp_path: Path) -> None:
    path = write_sound(tmp_path / "a.wav", tone(2.0, 16000), 16000)
    with pytest.raises(MediaError, match="max_seconds"):
        decode_sound(path, Limits(max_seconds=1.0))
    collector = SoundCollector(16000, Limits(max_seconds=1.0), Damage())
    frames = [frame_of(tone(0.6, 16000), 16000) for _ in range(2)]
    collector.add_all(frames[:1])
    with pytest.raises(MediaError, match="max_seconds"):
        collector.add_all(frames[1:])


def frame_of(samples: np.ndarray, rate: int, layout: str = "mono") -> av.AudioFrame:
    frame = av.AudioFrame.from_ndarray(np.atleast_2d(samples), format="fltp", layout=layout)
    frame.sample_rate = rate
    return frame


def test_a_stream_may_change_its_mind() -> None:
    damage = Damage()
    collector = SoundCollector(16000, LIMITS, damage)
    collector.add_all([frame_of(tone(0.5, 44100), 44100), frame_of(tone(0.5, 16000), 16000)])
    collector.add_all([frame_of(np.stack([tone(0.5, 48000)] * 2), 48000, "stereo")])
    samples = collector.finish()
    assert len(samples) == pytest.approx(24000, abs=100)
    assert pitch(samples, 16000) == pytest.approx(440, abs=5)
    assert damage.packets == 0


def test_an_absurd_rate_is_damage(tmp_path: Path) -> None:
    path = write_sound(tmp_path / "a.wav", tone(0.1, 16000), 16000)
    data = bytearray(path.read_bytes())
    for rate in (1, 2**31 - 1):
        data[24:28] = rate.to_bytes(4, "little")
        path.write_bytes(data)
        with pytest.raises(MediaError, match="No sound could be decoded"):
            decode_sound(path, LIMITS)


def test_no_frames_no_samples() -> None:
    assert len(SoundCollector(16000, LIMITS, Damage()).finish()) == 0


def test_a_resampler_that_failed_is_not_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    """FFmpeg crashes (SIGSEGV) when a half-built graph of filters is flushed."""

    class Failing:
        def __init__(self, **_: object) -> None:
            """As PyAV's, whose graph is built with the first frame."""

        def resample(self, frame: object) -> list[object]:
            assert frame is not None, "drained"
            raise ValueError("no such layout")

    monkeypatch.setattr(av, "AudioResampler", Failing)
    damage = Damage()
    collector = SoundCollector(16000, Limits(), damage)
    frame = av.AudioFrame.from_ndarray(np.zeros((1, 64), np.float32), format="flt", layout="mono")
    frame.sample_rate = 16000
    collector.add_all([frame])
    assert len(collector.finish()) == 0
    assert damage.packets == 1
