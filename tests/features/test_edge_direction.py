from __future__ import annotations

import cv2
import numpy as np
import pytest

from mediarank.features.edge_direction import EdgeDirection
from mediarank.features.pixels import grey
from mediarank.types import ConfigError


def step(height: int = 32, width: int = 32) -> np.ndarray:
    picture = np.zeros((height, width, 3), dtype=np.uint8)
    picture[:, width // 2 :] = 200
    return picture


def test_a_step_up_to_the_right_points_right() -> None:
    vector = EdgeDirection().extract(step())
    # Canny keeps a line one pixel wide
    assert vector[0] == pytest.approx(1 / 32)
    assert vector[-1] == pytest.approx(31 / 32)
    assert vector[1:-1].sum() == 0


@pytest.mark.parametrize(("turns", "bin_"), [(1, 27), (2, 18), (3, 9)])
def test_turning_moves_bins(turns: int, bin_: int) -> None:
    # np.rot90 turns counter-clockwise, bins run clockwise
    vector = EdgeDirection().extract(np.rot90(step(), turns))
    assert np.argmax(vector[:-1]) == bin_
    assert vector[bin_] == pytest.approx(1 / 32)


def test_a_natural_picture_turns_with_its_histogram(picture: np.ndarray) -> None:
    vector = EdgeDirection().extract(picture)
    turned = EdgeDirection().extract(np.rot90(picture, 2))
    # Canny breaks ties between equal neighbours to one side, so a few pixels differ
    assert vector[:-1].sum() > 0.02
    assert np.abs(np.roll(turned[:-1], 18) - vector[:-1]).sum() < 0.2 * vector[:-1].sum()


def test_counts_are_those_of_a_plain_loop(picture: np.ndarray) -> None:
    levels = grey(picture)
    dx = cv2.Sobel(levels, cv2.CV_16S, 1, 0, borderType=cv2.BORDER_REPLICATE)
    dy = cv2.Sobel(levels, cv2.CV_16S, 0, 1, borderType=cv2.BORDER_REPLICATE)
    expected = np.zeros(9)
    for y, x in zip(*np.nonzero(cv2.Canny(dx, dy, 60, 150)), strict=True):
        place = np.degrees(np.arctan2(float(dy[y, x]), float(dx[y, x]))) % 360 / 45
        lower = int(place) % 8
        expected[lower] += 1 - (place - int(place))
        expected[(lower + 1) % 8] += place - int(place)
    expected[8] = levels.size - expected.sum()
    np.testing.assert_allclose(EdgeDirection(bins=8).extract(picture), expected / levels.size, atol=1e-5)


def test_light_leaves_directions_alone(picture: np.ndarray) -> None:
    dim = (picture // 2).astype(np.uint8)
    np.testing.assert_allclose(EdgeDirection().extract(dim + 50), EdgeDirection().extract(dim), atol=0.002)


def test_a_flat_picture_is_no_edge() -> None:
    assert EdgeDirection().extract(np.full((9, 9, 3), 70, np.uint8)).tolist() == [0] * 36 + [1]


def test_thresholds_must_be_in_order() -> None:
    with pytest.raises(ConfigError, match="low threshold"):
        EdgeDirection(low=200, high=100)
