from __future__ import annotations

import librosa
import numpy as np
import pytest

from mediarank.features import mfcc
from mediarank.features.mfcc import Mfcc, MfccStatistics, coefficients, mel_decibels
from mediarank.types import ConfigError, DataError


def sound(seconds: float = 0.8, seed: int = 0) -> np.ndarray:
    """Noise that swells and falls, with a whistle that climbs."""
    time = np.arange(int(16_000 * seconds)) / 16_000
    noise = np.random.default_rng(seed).normal(0, 0.05, len(time)) * np.abs(np.sin(9 * time))
    return (noise + 0.2 * np.sin(2 * np.pi * (400 + 900 * time) * time)).astype(np.float32)


def by_librosa(samples: np.ndarray) -> np.ndarray:
    cepstrum = librosa.feature.mfcc(
        y=samples, sr=16_000, n_mfcc=13, n_fft=512, win_length=400, hop_length=160, n_mels=40, htk=True, mel_norm=None
    )
    return np.concatenate([cepstrum, librosa.feature.delta(cepstrum), librosa.feature.delta(cepstrum, order=2)]).T


@pytest.mark.parametrize("length", [12_800, 12_799, 1_440, 5_001])
def test_equals_librosa(length: int) -> None:
    samples = sound()[:length]
    expected = by_librosa(samples)
    np.testing.assert_allclose(Mfcc().describe(samples).values, expected, atol=2e-3)
    assert np.abs(expected).max() > 50


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = mel_decibels(sound(), 16_000, 400, 160, 40)
    monkeypatch.setattr(mfcc, "_BLOCK", 7)
    np.testing.assert_allclose(mel_decibels(sound(), 16_000, 400, 160, 40), whole, atol=1e-4)


def test_a_tone_wakes_its_filter() -> None:
    tone = np.sin(2 * np.pi * 1000 * np.arange(8000) / 16_000).astype(np.float32)
    decibels = mel_decibels(tone, 16_000, 400, 160, 40)
    centres = librosa.mel_frequencies(42, fmin=0, fmax=8000, htk=True)[1:-1]
    assert np.argmax(decibels[25]) == np.argmin(np.abs(centres - 1000))


def test_silence_is_flat_and_loudness_moves_c0_alone() -> None:
    silence = coefficients(np.zeros(4000, np.float32), 16_000, 400, 160, 40)
    assert silence[:, 0] == pytest.approx(-100 * np.sqrt(40))  # the floor of 1e-10 in each of 40 filters
    np.testing.assert_allclose(silence[:, 1:], 0, atol=1e-3)
    change = coefficients(sound() / 2, 16_000, 400, 160, 40) - coefficients(sound(), 16_000, 400, 160, 40)
    np.testing.assert_allclose(change[:, 0], -20 * np.log10(2) * np.sqrt(40), atol=0.05)
    np.testing.assert_allclose(change[:, 1:], 0, atol=0.05)


def test_a_ramp_has_a_constant_slope() -> None:
    ramp = np.arange(20, dtype=np.float32)[:, None] * np.ones((1, 13), np.float32) * 3
    slope, curvature = mfcc._differences(ramp)
    np.testing.assert_allclose(slope, 3, rtol=1e-5)
    np.testing.assert_allclose(curvature, 0, atol=1e-5)
    slope, curvature = mfcc._differences(ramp**2 / 9)
    np.testing.assert_allclose(slope[10], 20, rtol=1e-5)
    np.testing.assert_allclose(curvature, 2, rtol=1e-4)


@pytest.mark.parametrize(("samples", "frames"), [(0, 1), (1, 1), (159, 1), (160, 2), (1279, 8), (1280, 9)])
def test_short_sounds_have_frames_too(samples: int, frames: int) -> None:
    described = Mfcc().describe(sound()[:samples])
    assert described.values.shape == (frames, 39)
    assert np.isfinite(described.values).all()
    assert described.places[:, 0].tolist() == pytest.approx([k / frames for k in range(frames)])


def test_statistics_are_means_and_spreads() -> None:
    family = MfccStatistics()
    frames = by_librosa(sound())
    expected = np.concatenate([frames.mean(axis=0), frames.std(axis=0)])
    np.testing.assert_allclose(family.extract(sound()), expected, atol=2e-3)
    assert family.names()[39] == "c0.spread"


def test_other_media_are_refused() -> None:
    with pytest.raises(DataError, match="mono"):
        Mfcc().describe(np.zeros((2, 100), np.float32))
    with pytest.raises(DataError, match="float64"):
        MfccStatistics().extract(np.zeros(100))


def test_too_many_filters_are_refused() -> None:
    with pytest.raises(ConfigError, match="mel filters"):
        Mfcc(sample_rate=60).describe(sound())
