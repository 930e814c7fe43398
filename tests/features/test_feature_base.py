from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from mediarank.features.base import ImageExtractor, require_picture
from mediarank.features.colour_moments import ColourMoments
from mediarank.features.hog import Hog
from mediarank.features.sift import Sift
from mediarank.types import DataError


def test_regions_are_described_one_by_one(picture: np.ndarray) -> None:
    halves = ColourMoments(granularity="2x2").extract(picture).reshape(4, 9)
    np.testing.assert_array_equal(halves[1], ColourMoments().extract(picture[:48, 64:]))
    assert ColourMoments(granularity="2x2").names()[9] == "2x2.0.1/l.mean"


def test_an_extractor_can_not_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Hog().cell = 4


def test_identity_follows_what_decides_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    identity = Hog().identity()
    assert identity == Hog().identity()
    assert replace(Hog(), pool="max").identity() == identity
    assert replace(Hog(), cell=8).identity() != identity
    assert replace(Hog(), granularity="2x2").identity() != identity
    monkeypatch.setattr(Hog, "version", 99)
    assert Hog().identity() != identity


def test_families_with_the_same_fields_differ() -> None:
    class Other(ColourMoments):
        pass

    assert Other().identity() != ColourMoments().identity()


def test_a_description_does_not_depend_on_the_words() -> None:
    one = Sift().description_identity()
    assert Sift(words=9, assignment="soft", granularity="2x2", items=7).description_identity() == one
    assert Sift(step=4).description_identity() != one
    assert Sift(root=False).description_identity() != one


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((4, 4, 3)),
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
    ],
)
def test_what_is_no_picture_is_refused(wrong: np.ndarray) -> None:
    with pytest.raises(DataError, match="uint8 RGB"):
        require_picture(wrong)


def test_a_family_must_say_what_it_measures() -> None:
    with pytest.raises(TypeError, match="abstract"):
        ImageExtractor()
