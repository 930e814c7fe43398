"""The battery of checks finds faulty families: each test breaks one rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from mediarank.features.base import Descriptors, Extractor, ImageExtractor, LocalExtractor, Modality
from mediarank.features.check import check_extractor, example_media
from mediarank.features.hue import Hue
from mediarank.types import DataError


@dataclass(frozen=True)
class Mean(ImageExtractor):
    """A family that is right; the broken ones below are this one with one thing wrong."""

    def region_names(self) -> tuple[str, ...]:
        return ("mean",)

    def extract_region(self, picture: np.ndarray) -> np.ndarray:
        return np.array([picture.mean()], dtype=np.float32)


class Nameless(Mean):
    def region_names(self) -> tuple[str, ...]:
        return ("mean", "mean")


class TooLong(Mean):
    def extract_region(self, picture: np.ndarray) -> np.ndarray:
        return np.zeros(2, np.float32)


class NotFinite(Mean):
    def extract_region(self, picture: np.ndarray) -> np.ndarray:
        spread = picture.std()
        with np.errstate(all="ignore"):
            return np.array([picture.mean() / spread], dtype=np.float32)


class Moody(Mean):
    def extract_region(self, picture: np.ndarray) -> np.ndarray:
        return np.random.default_rng().normal(size=1).astype(np.float32)


class Careless(Mean):
    def extract(self, medium: np.ndarray) -> np.ndarray:
        medium //= 2
        return super().extract(medium)


class Double(Mean):
    def extract(self, medium: np.ndarray) -> np.ndarray:
        return super().extract(medium).astype(np.float64)


class Gullible(Extractor):
    modality: ClassVar[Modality] = "image"

    def names(self) -> tuple[str, ...]:
        return ("mean",)

    def extract(self, medium: Any) -> np.ndarray:
        return np.array([medium.mean()], dtype=np.float32)


def test_a_sound_family_passes() -> None:
    check_extractor(Mean())


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (Nameless(), "different names"),
        (TooLong(), "promise float32"),
        (NotFinite(), "NaN or infinity"),
        (Moody(), "another vector"),
        (Careless(), "changed its input"),
        (Double(), "float64"),
        (Gullible(), "must refuse"),
    ],
)
def test_a_broken_promise_is_caught(broken: Extractor, message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_extractor(broken)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: Descriptors(d.values[:, :-1], d.places), "not float32"),
        (lambda d: Descriptors(d.values * np.float32(np.nan), d.places), "NaN or infinity"),
        (lambda d: Descriptors(d.values, d.places[:, :1]), "placed"),
        (lambda d: Descriptors(d.values, d.places + 1), "outside"),
    ],
)
def test_a_local_familys_broken_promise_is_caught(change: Any, message: str) -> None:
    class Broken(Hue):
        def describe(self, medium: np.ndarray) -> Descriptors:
            return change(super().describe(medium))

    with pytest.raises(DataError, match=message):
        check_extractor(Broken())


def test_local_families_are_checked_as_bags_too() -> None:
    class Loud(Hue):
        def names(self) -> tuple[str, ...]:
            return ("one", "too few")

    with pytest.raises(DataError, match="promise"):
        check_extractor(Loud())
    assert issubclass(Loud, LocalExtractor)


@pytest.mark.parametrize("modality", ["image", "clip", "sound"])
def test_examples_hold_the_awkward_cases(modality: Modality) -> None:
    media = example_media(modality)
    assert len(media) > 5
    sizes = [medium.size for medium in media.values()]
    assert min(sizes) <= 3
