"""A battery of checks for feature families, including your own: `check_extractor(MyFamily())`.

It gives the family ordinary media and difficult ones (one pixel, one colour, one sample, silence), and raises a
DataError that says what the family did and what it should do. A family of local descriptors is checked
twice: its descriptors, and the bag of words that a small codebook makes of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mediarank.features.bag_of_words import BagOfWords
from mediarank.features.base import Extractor, LocalExtractor, Modality
from mediarank.features.codebook import fit_codebook
from mediarank.types import DataError

_WORDS = 4


def check_extractor(family: Extractor | LocalExtractor) -> None:
    """Raise DataError unless `family` keeps the contract of `base.py`."""
    media = example_media(family.modality)
    if isinstance(family, LocalExtractor):
        _check_local(family, media)
        small = replace(family, words=_WORDS)
        descriptors = np.concatenate([small.describe(medium).values for medium in media.values()])
        family = BagOfWords(small, fit_codebook(descriptors, _WORDS, small.seed, small.standardise))
    _check_vectors(family, media)
    _check_refusals(family)


def example_media(modality: Modality) -> Mapping[str, Any]:
    """Ordinary and difficult media, by names for messages."""
    rng = np.random.default_rng(0)
    if modality == "sound":
        hiss = rng.normal(0, 0.1, 8000).astype(np.float32)
        sounds = {"hiss": hiss, "silence": np.zeros(4000, np.float32), "full scale": np.sign(hiss)}
        return {**sounds, "no sample": hiss[:0], "one sample": hiss[:1], "a few samples": hiss[:100]}
    noise = rng.integers(0, 256, (6, 48, 64, 3), dtype=np.uint8)
    ramp = np.broadcast_to(np.linspace(0, 255, 64).astype(np.uint8)[None, None, :, None], noise.shape)
    clips: dict[str, Any] = {
        "noise": noise,
        "a ramp": np.ascontiguousarray(ramp),
        "grey noise": np.repeat(noise[..., :1], 3, axis=3),
        "black": np.zeros_like(noise),
        "white": np.full_like(noise, 255),
        "one colour": np.broadcast_to(np.array([200, 30, 90], np.uint8), noise.shape).copy(),
        "one pixel": noise[:1, :1, :1],
        "one row": noise[:2, :1],
        "one column": noise[:2, :, :1],
        "3 x 5 pixels": noise[:3, :3, :5],
        "a mirrored view": noise[:, :, ::-1],
    }
    return clips if modality == "clip" else {name: clip[0] for name, clip in clips.items()}


def _check_vectors(extractor: Extractor, media: Mapping[str, Any]) -> None:
    family, names = _name(extractor), extractor.names()
    _require(len(set(names)) == len(names) > 0, f"{family}.names() must be one or more different names.")
    _require(all(isinstance(name, str) and name for name in names), f"{family}.names() must be non-empty strings.")
    for what, medium in media.items():
        before = medium.copy()
        vector = extractor.extract(medium)
        _require(np.array_equal(medium, before), f"{family} changed its input ({what}).")
        _require(
            isinstance(vector, np.ndarray) and vector.dtype == np.float32 and vector.shape == (len(names),),
            f"{family} gave {getattr(vector, 'dtype', type(vector))} {getattr(vector, 'shape', '')} for {what}, "
            f"but its {len(names)} names promise float32 ({len(names)},).",
        )
        _require(bool(np.isfinite(vector).all()), f"{family} gave NaN or infinity for {what}.")
        again = extractor.extract(medium.copy())
        _require(np.array_equal(vector, again), f"{family} gave another vector for the same medium ({what}).")


def _check_local(local: LocalExtractor, media: Mapping[str, Any]) -> None:
    family, width = _name(local), len(local.descriptor_names())
    _require(len(set(local.descriptor_names())) == width > 0, f"{family}.descriptor_names() must be different names.")
    for what, medium in media.items():
        described = local.describe(medium)
        count = len(described.values)
        _require(
            described.values.dtype == np.float32 and described.values.shape == (count, width),
            f"{family} described {what} by {described.values.dtype} {described.values.shape}, not float32 "
            f"(n, {width}).",
        )
        _require(bool(np.isfinite(described.values).all()), f"{family} described {what} by NaN or infinity.")
        places = described.places
        _require(
            places.dtype == np.float32 and places.shape == (count, 2),
            f"{family} placed {count} descriptors of {what} by {places.dtype} {places.shape}, not float32 (n, 2).",
        )
        _require(bool(((places >= 0) & (places < 1)).all()), f"{family} placed descriptors of {what} outside [0, 1).")


def _check_refusals(extractor: Extractor) -> None:
    wrong = np.zeros((4, 4)) if extractor.modality != "sound" else np.zeros((4, 2))
    try:
        extractor.extract(wrong)
    except DataError:
        return
    raise DataError(f"{_name(extractor)} must refuse {wrong.dtype} {wrong.shape} with a DataError.")


def _name(family: Extractor | LocalExtractor) -> str:
    return type(family.local).__name__ if isinstance(family, BagOfWords) else type(family).__name__


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise DataError(message)
