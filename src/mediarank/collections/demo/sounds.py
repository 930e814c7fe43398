"""Sound tracks, synthesised: each takes a random stream, a length and cues, and returns mono samples from −1 to 1.

`cues` are the moments (in seconds) at which something happens in the picture: a ball lands, a rocket bursts, a van is
nearest. `SOUNDS` names them all; `mixed` mixes the main sound with ambience.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from scipy import fft

from mediarank.types import Floats

RATE: Final = 22050
Cues = Floats


def _time(seconds: float) -> Floats:
    return np.arange(int(seconds * RATE), dtype=np.float32) / np.float32(RATE)


def _band(rng: np.random.Generator, seconds: float, low: float, high: float) -> Floats:
    """Noise between two frequencies, falling off softly outside."""
    length = int(seconds * RATE)
    padded = fft.next_fast_len(length, real=True)  # a length with a large prime factor takes ten times longer
    spectrum = fft.rfft(rng.standard_normal(padded, dtype=np.float32))
    hertz = np.arange(len(spectrum), dtype=np.float32) * np.float32(RATE / padded)
    spectrum *= 1 / (1 + (np.float32(low) / np.maximum(hertz, 1)) ** 4) / (1 + (hertz / np.float32(high)) ** 4)
    noise = fft.irfft(spectrum, padded)[:length]
    return np.asarray(noise / (np.abs(noise).max() + 1e-9), np.float32)


def _decays(time: Floats, cues: Cues, rate: float) -> Floats:
    """An envelope that jumps to 1 at every cue and dies away."""
    total = np.zeros_like(time)
    for cue in cues:
        after = time - cue
        total += np.where(after >= 0, np.exp(-rate * np.maximum(after, 0)), 0).astype(np.float32)
    return total


def _passing(time: Floats, cues: Cues) -> Floats:
    """The loudness of a thing that is nearest at the first cue."""
    nearest = float(cues[0]) if len(cues) else float(time[-1]) / 2
    return np.asarray(1 / (1 + 1.5 * (time - nearest) ** 2), np.float32)


def _tone(time: Floats, hertz: Floats, harmonics: tuple[float, ...]) -> Floats:
    turns = np.cumsum(hertz.astype(np.float64)) / RATE
    phase = (2 * np.pi * (turns % 1)).astype(np.float32)  # float32 sines are several times faster
    total = np.zeros_like(phase)
    for n, loud in enumerate(harmonics, start=1):
        total += np.float32(loud) * np.sin(np.float32(n) * phase)
    return total


def siren(rng: np.random.Generator, seconds: float, cues: Cues) -> Floats:
    """Two alternating tones or a wail, louder and higher as it approaches."""
    time = _time(seconds)
    pace, low = rng.uniform(0.9, 2.2), rng.uniform(500, 750)
    swing = np.sin(2 * np.pi * pace * time + rng.uniform(0, 6))
    if rng.random() < 0.5:
        swing = np.sign(swing)
    doppler = 1 - 0.04 * np.tanh(2 * (time - (cues[0] if len(cues) else seconds / 2)))
    hertz = low * (1.25 + 0.25 * swing) * doppler
    return _tone(time, hertz.astype(np.float32), (0.6, 0.3, 0.15)) * (0.3 + 0.7 * _passing(time, cues))


def jingle(rng: np.random.Generator, seconds: float, cues: Cues) -> Floats:
    """A tune of chimes: notes of a pentatonic scale, each ringing out."""
    time = _time(seconds)
    scale = rng.uniform(500, 750) * 2 ** (np.asarray([0, 2, 4, 7, 9, 12]) / 12)
    step = rng.uniform(0.18, 0.3)
    total = np.zeros_like(time)
    for start in np.arange(rng.uniform(0, 0.2), seconds, step):
        first, last = int(start * RATE), min(len(time), int((start + 3 * step) * RATE))
        since = time[first:last] - time[first] if first < len(time) else time[:0]
        note = float(rng.choice(scale))
        ring = np.sin(2 * np.pi * note * since) + 0.4 * np.sin(2 * np.pi * 2.76 * note * since)
        total[first:last] += (ring * np.exp(-5 * since)).astype(np.float32)
    return np.asarray(0.5 * total * (0.3 + 0.7 * _passing(time, cues)), np.float32)


def thuds(rng: np.random.Generator, seconds: float, cues: Cues) -> Floats:
    """A ball that lands, and a few people who cheer."""
    time = _time(seconds)
    hit = _decays(time, cues, 22) * np.sin(2 * np.pi * rng.uniform(80, 140) * time)
    slap = _decays(time, cues, 60) * _band(rng, seconds, 300, 2500)
    return np.asarray(0.7 * hit + 0.4 * slap + 0.25 * murmur(rng, seconds, cues), np.float32)


def gusts(rng: np.random.Generator, seconds: float, cues: Cues) -> Floats:
    """Wind in a microphone."""
    time = _time(seconds)
    swell = 0.55 + 0.45 * np.sin(2 * np.pi * rng.uniform(0.3, 0.9) * time + rng.uniform(0, 6))
    return np.asarray(_band(rng, seconds, 40, rng.uniform(250, 600)) * swell, np.float32)


def bangs(rng: np.random.Generator, seconds: float, cues: Cues) -> Floats:
    """Rockets: a crack and a rattle at every cue."""
    time = _time(seconds)
    crack = _decays(time, cues, rng.uniform(10, 18)) * _band(rng, seconds, 60, 1800)
    rattle = (rng.random(len(time)) > 0.9985).astype(np.float32)
    crackle = np.convolve(rattle, np.exp(-np.arange(160, dtype=np.float32) / 25), mode="same")
    return np.asarray(crack + 0.25 * crackle * _decays(time, cues, 3), np.float32)


def thunder(rng: np.random.Generator, seconds: float, cues: Cues) -> Floats:
    """Thunder: a long low roll after every cue."""
    time = _time(seconds)
    roll = _decays(time, cues + np.float32(rng.uniform(0.05, 0.3)), rng.uniform(1.5, 3.0))
    return np.asarray(roll * _band(rng, seconds, 30, rng.uniform(180, 700)), np.float32)


def engine(rng: np.random.Generator, seconds: float, cues: Cues) -> Floats:
    """A motor that passes by."""
    time = _time(seconds)
    hertz = rng.uniform(45, 110) * (1 - 0.06 * np.tanh(2 * (time - (cues[0] if len(cues) else seconds / 2))))
    motor = _tone(time, hertz.astype(np.float32), (0.5, 0.4, 0.3, 0.2, 0.15, 0.1))
    return np.asarray((0.5 * motor + 0.4 * _band(rng, seconds, 80, 1200)) * _passing(time, cues), np.float32)


def birdsong(rng: np.random.Generator, seconds: float, cues: Cues) -> Floats:
    """Chirps that slide up and down."""
    time = _time(seconds)
    total = np.zeros_like(time)
    for start in np.sort(rng.uniform(0, seconds, int(rng.integers(4, 12)))):
        length = rng.uniform(0.06, 0.2)
        first, last = int(start * RATE), min(len(time), int((start + length) * RATE))
        share = np.linspace(0, 1, max(last - first, 0), dtype=np.float32)
        hertz = rng.uniform(2500, 5000) * (1 + rng.uniform(-0.3, 0.3) * np.sin(np.pi * share * rng.integers(1, 4)))
        total[first:last] += np.sin(np.pi * share) * _tone(share, hertz.astype(np.float32), (0.6,))
    return total


def surf(rng: np.random.Generator, seconds: float, cues: Cues) -> Floats:
    """Waves that break on a beach."""
    time = _time(seconds)
    swell = 0.5 + 0.5 * np.sin(2 * np.pi * rng.uniform(0.2, 0.45) * time + rng.uniform(0, 6))
    return np.asarray(_band(rng, seconds, 200, 3500) * swell**2, np.float32)


def murmur(rng: np.random.Generator, seconds: float, cues: Cues) -> Floats:
    """Voices too far away to be understood, a cheer now and then."""
    time = _time(seconds)
    total = np.zeros_like(time)
    for centre in rng.uniform(300, 900, 2):
        syllables = np.clip(np.sin(2 * np.pi * rng.uniform(2.5, 4.5) * time + rng.uniform(0, 6)), 0, 1)
        total += (syllables * _band(rng, seconds, centre * 0.8, centre * 1.5)).astype(np.float32)
    return np.asarray(0.6 * total, np.float32)


def hum(rng: np.random.Generator, seconds: float, cues: Cues) -> Floats:
    """A city at night: mains, fans and tyres."""
    time = _time(seconds)
    mains = _tone(time, np.full(len(time), 50.0, np.float32), (0.3, 0.25, 0.1))
    return np.asarray(0.5 * mains + 0.5 * _band(rng, seconds, 50, 500), np.float32)


SOUNDS: Final[Mapping[str, Callable[[np.random.Generator, float, Cues], Floats]]] = {
    "bangs": bangs,
    "birdsong": birdsong,
    "engine": engine,
    "gusts": gusts,
    "hum": hum,
    "jingle": jingle,
    "murmur": murmur,
    "siren": siren,
    "surf": surf,
    "thuds": thuds,
    "thunder": thunder,
}

AMBIENCE: Final[Mapping[str, tuple[str, ...]]] = {
    "coast": ("surf", "surf", "gusts", "murmur"),
    "field": ("birdsong", "gusts", "murmur", "murmur"),
    "highway": ("engine", "gusts", "hum"),
    "mountain": ("gusts", "birdsong"),
    "skyline": ("hum", "engine", "gusts"),
    "street": ("engine", "murmur", "hum", "engine"),
}
"""Background sounds of each scene."""


def mixed(rng: np.random.Generator, name: str, scene: str, seconds: float, cues: Cues) -> Floats:
    """The named sound over the scene's ambience and the microphone's hiss, at a random balance."""
    bed = SOUNDS[str(rng.choice(AMBIENCE[scene]))](rng, seconds, np.zeros(0, np.float32))
    front = SOUNDS[name](rng, seconds, cues)
    balance = np.float32(rng.uniform(0.15, 0.85))
    hiss = rng.standard_normal(len(front), dtype=np.float32) * np.float32(rng.uniform(0.002, 0.03))
    total = balance * front / (np.abs(front).max() + 1e-6) + (1 - balance) * bed / (np.abs(bed).max() + 1e-6) + hiss
    return np.asarray(total * (rng.uniform(0.35, 0.9) / (np.abs(total).max() + 1e-6)), np.float32)
