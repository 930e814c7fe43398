from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mediarank.features.colour_moments import ColourMoments
from mediarank.features.colour_space import SPACES


def test_moments_are_scipys(picture: np.ndarray) -> None:
    pixels = SPACES["lab"].convert(picture).reshape(-1, 3) / 255
    expected = np.stack([pixels.mean(axis=0), pixels.std(axis=0), np.cbrt(stats.moment(pixels, 3))], axis=1)
    np.testing.assert_allclose(ColourMoments().extract(picture), expected.ravel(), atol=1e-6)


def test_a_quarter_white_picture_by_hand() -> None:
    picture = np.zeros((2, 2, 3), dtype=np.uint8)
    picture[0, 0] = 255
    # mean 1/4, variance 3/16, third moment (27/64 - 3/64)/4 = 3/32
    expected = [0.25, np.sqrt(3) / 4, np.cbrt(3 / 32)] * 3
    np.testing.assert_allclose(ColourMoments(space="rgb").extract(picture), expected, rtol=1e-6)


def test_light_moves_the_mean_alone(picture: np.ndarray) -> None:
    dim = (picture // 2).astype(np.uint8)
    change = ColourMoments(space="rgb").extract(dim + 51) - ColourMoments(space="rgb").extract(dim)
    np.testing.assert_allclose(change, [0.2, 0, 0] * 3, atol=1e-6)


def test_inverting_turns_the_skew(picture: np.ndarray) -> None:
    skew = ColourMoments(space="rgb").extract(picture)[2::3]
    assert np.abs(skew).max() > 0.01
    np.testing.assert_allclose(ColourMoments(space="rgb").extract(255 - picture)[2::3], -skew, atol=1e-5)


@pytest.mark.parametrize("space", ["rgb", "hsv", "lab"])
def test_names_tell_channel_and_moment(space: str) -> None:
    assert ColourMoments(space=space).names()[:3] == tuple(f"{space[0]}.{m}" for m in ("mean", "spread", "skew"))
