"""Mel-frequency cepstral coefficients: 13 per frame, 39 with their first and second differences.

Follows librosa's definitions with an HTK mel scale and unnormalised triangles:
1. Frames of `window` samples every `hop`, Hann-windowed, centred, silence beyond the ends; power spectrum.
2. Energies of `mels` triangular filters, in decibels, no lower than 80 below the sound's peak.
3. An orthonormal cosine transform; its first 13 coefficients.
4. Δ and ΔΔ: slope and curvature over nine frames (Savitzky-Golay).

`Mfcc` gives one descriptor per frame, for a bag of words; `MfccStatistics` gives their means and spreads. All in
float32, which is several times faster than librosa's double precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar, Final

import numpy as np
import numpy.typing as npt
from pydantic import Field

from mediarank.features.base import Count, Descriptors, Extractor, LocalExtractor, Modality
from mediarank.types import ConfigError, DataError, Floats

_COEFFICIENTS: Final = 13
_REACH: Final = 4
"""Frames on either side that a slope is fitted to."""
_FLOOR: Final = 1e-10
_RANGE_DB: Final = 80.0
_NAMES: Final = tuple(f"{kind}{i}" for kind in ("c", "Δ", "ΔΔ") for i in range(_COEFFICIENTS))
_BLOCK: Final = 64
"""Frames transformed at a time: they fit the processor's cache, and memory is bounded for any sound."""
Sound = npt.NDArray[np.float32]
"""(samples,) float32, mono."""


@dataclass(frozen=True)
class Mfcc(LocalExtractor):
    """Mel-frequency cepstral coefficients, one descriptor per frame.

    sample_rate : of the working copies; set by the frames stage
    window, hop : of a frame, in samples; 400 and 160 are 25 and 10 ms
    mels : filters of the bank
    """

    modality: ClassVar[Modality] = "sound"
    standardise: ClassVar[bool] = True
    words: Count = 200
    sample_rate: Count = 16_000
    window: Annotated[int, Field(ge=16)] = 400
    hop: Count = 160
    mels: Annotated[int, Field(ge=_COEFFICIENTS)] = 40

    def descriptor_names(self) -> tuple[str, ...]:
        return _NAMES

    def describe(self, medium: Sound) -> Descriptors:
        values = coefficients(medium, self.sample_rate, self.window, self.hop, self.mels)
        places = np.zeros((len(values), 2), dtype=np.float32)
        places[:, 0] = np.arange(len(values)) / len(values)
        return Descriptors(values, places)


@dataclass(frozen=True)
class MfccStatistics(Extractor):
    """Means and spreads of the 39 numbers over all frames; parameters as in `Mfcc`."""

    modality: ClassVar[Modality] = "sound"
    sample_rate: Count = 16_000
    window: Annotated[int, Field(ge=16)] = 400
    hop: Count = 160
    mels: Annotated[int, Field(ge=_COEFFICIENTS)] = 40

    def names(self) -> tuple[str, ...]:
        return tuple(f"{name}.{statistic}" for statistic in ("mean", "spread") for name in _NAMES)

    def extract(self, medium: Sound) -> Floats:
        values = coefficients(medium, self.sample_rate, self.window, self.hop, self.mels)
        means, spreads = values.mean(axis=0, dtype=np.float64), values.std(axis=0, dtype=np.float64)
        return np.concatenate([means, spreads]).astype(np.float32)


def coefficients(sound: Sound, sample_rate: int, window: int, hop: int, mels: int) -> Floats:
    """(frames, 39) float32; one frame every `hop` samples, and at least one."""
    from scipy import fft  # importing takes a third of a second; other families do not need it

    if sound.dtype != np.float32 or sound.ndim != 1:
        raise DataError(f"A sound is (samples,) float32, mono, not {sound.dtype} {sound.shape}.")
    decibels = mel_decibels(sound, sample_rate, window, hop, mels)
    cepstrum = fft.dct(decibels, type=2, axis=1, norm="ortho")[:, :_COEFFICIENTS]
    return np.concatenate([cepstrum, *_differences(cepstrum)], axis=1, dtype=np.float32)


def mel_decibels(sound: Sound, sample_rate: int, window: int, hop: int, mels: int) -> Floats:
    """(frames, mels) float32."""
    from scipy import fft

    length, bank, taper = _analysis(sample_rate, window, mels)
    padded = np.pad(sound, window // 2)
    # librosa centres the window in a longer frame; the power spectrum does not depend on the place in the frame
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(padded, (0, window % 2)), window)[::hop]
    frames = frames[: 1 + len(sound) // hop]
    energies = np.empty((len(frames), mels), dtype=np.float32)
    # zeros are appended here, because scipy's own padding takes longer than the transform
    buffer = np.zeros((min(_BLOCK, len(frames)), length), dtype=np.float32)
    for start in range(0, len(frames), _BLOCK):
        block = frames[start : start + _BLOCK]
        np.multiply(block, taper, out=buffer[: len(block), :window])
        spectrum = fft.rfft(buffer[: len(block)], axis=1)
        power = np.square(spectrum.real) + np.square(spectrum.imag)
        energies[start : start + _BLOCK] = power @ bank
    decibels = 10 * np.log10(np.maximum(energies, np.float32(_FLOOR)))
    return np.asarray(np.maximum(decibels, decibels.max() - np.float32(_RANGE_DB)), dtype=np.float32)


def _differences(cepstrum: Floats) -> tuple[Floats, Floats]:
    """Least-squares slope and second derivative over nine frames.

    The first and last four frames share the values of the first and last nine, as in librosa. A sound of fewer than
    nine frames, which librosa refuses, is extended by repeating its first and last frame.
    """
    n = np.arange(-_REACH, _REACH + 1, dtype=np.float32)
    square = n**2 - np.mean(n**2)
    short = len(cepstrum) <= 2 * _REACH
    padded = np.pad(cepstrum, ((_REACH, _REACH), (0, 0)), mode="edge") if short else cepstrum
    runs = np.lib.stride_tricks.sliding_window_view(padded, len(n), axis=0)
    both = []
    for weights in (n / np.sum(n**2), 2 * square / np.sum(square**2)):
        fitted = runs @ weights
        both.append(fitted if short else np.pad(fitted, ((_REACH, _REACH), (0, 0)), mode="edge"))
    return both[0], both[1]


@lru_cache(maxsize=8)
def _analysis(sample_rate: int, window: int, mels: int) -> tuple[int, Floats, Floats]:
    """FFT length, (bins, mels) filter bank and Hann window."""
    from librosa.filters import get_window, mel  # importing takes most of a second; only sounds need it

    length = 1 << (window - 1).bit_length()
    if sample_rate < 2 * mels:
        raise ConfigError(f"{mels} mel filters do not fit below {sample_rate / 2} Hz: lower `mels`.")
    bank = mel(sr=sample_rate, n_fft=length, n_mels=mels, htk=True, norm=None)
    taper = get_window("hann", window)
    return length, np.ascontiguousarray(bank.T, dtype=np.float32), np.asarray(taper, dtype=np.float32)
