from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.features.hue import Hue
from mediarank.features.local_points import dense_points, harris_points
from mediarank.features.pixels import grey
from mediarank.features.sift import Sift
from mediarank.types import ConfigError


def corners() -> np.ndarray:
    levels = np.full((80, 100), 40, np.uint8)
    levels[20:50, 30:70] = 220
    return levels


def test_a_grid_is_centred_and_patches_fit() -> None:
    points = dense_points(32, 41, 8, (16,))
    assert sorted(set(points[:, 0])) == [7.5, 15.5, 23.5]
    assert sorted(set(points[:, 1])) == [8, 16, 24, 32]
    assert set(points[:, 2]) == {16}
    assert len(points) == 12


@given(st.integers(32, 90), st.integers(32, 90), st.integers(1, 20), st.integers(4, 32))
@settings(max_examples=60, deadline=None)
def test_patches_stay_inside_and_the_grid_is_full(height: int, width: int, step: int, patch: int) -> None:
    points = dense_points(height, width, step, (patch,))
    for axis, length in enumerate((height, width)):
        lines = np.unique(points[:, axis])
        assert lines[0] - patch / 2 >= -0.5 - 1e-3
        assert lines[-1] + patch / 2 <= length - 0.5 + 1e-3
        assert len(lines) == (length - patch) // step + 1
        if len(lines) > 1:
            np.testing.assert_allclose(np.diff(lines), step, atol=1e-3)


def test_a_patch_larger_than_the_picture_has_one_place() -> None:
    assert dense_points(20, 21, 4, (64,)).tolist() == [[9.5, 10, 64]]


def test_patches_follow_one_another() -> None:
    both = dense_points(40, 40, 8, (16, 32))
    np.testing.assert_array_equal(both, np.concatenate([dense_points(40, 40, 8, (p,)) for p in (16, 32)]))


def test_harris_finds_corners_not_edges() -> None:
    points = harris_points(corners(), 4, (16,))
    expected = [(y, x) for y in (19.5, 49.5) for x in (29.5, 69.5)]
    assert len(points) == 4
    for y, x in expected:
        assert np.hypot(points[:, 0] - y, points[:, 1] - x).min() < 5


def test_harris_keeps_the_strongest(picture: np.ndarray) -> None:
    levels = grey(picture)
    few, many = harris_points(levels, 10, (8,)), harris_points(levels, 60, (8,))
    np.testing.assert_array_equal(few, many[:10])
    assert len(many) > 10
    assert len(harris_points(levels, 20, (8, 16))) <= 20


def test_a_turned_picture_has_turned_corners(picture: np.ndarray) -> None:
    levels = grey(picture)
    points = harris_points(levels, 30, (16,))
    turned = harris_points(np.ascontiguousarray(levels[::-1, ::-1]), 30, (16,))
    back = np.array(levels.shape) - 1 - turned[:, :2]
    shared = sum(np.hypot(*(back - point[:2]).T).min() < 1.5 for point in points)
    assert shared >= 0.9 * len(points)


def test_a_flat_picture_has_no_corner() -> None:
    assert harris_points(np.full((40, 40), 90, np.uint8), 10, (16,)).shape == (0, 3)


@pytest.mark.parametrize("family", [Sift(sampling="harris"), Hue(sampling="harris")])
def test_no_corner_is_no_descriptor(family: Sift) -> None:
    described = family.describe(np.full((40, 40, 3), 90, np.uint8))
    assert described.values.shape == (0, len(family.descriptor_names()))
    assert described.places.shape == (0, 2)


@pytest.mark.parametrize("family", [Sift(), Hue()])
def test_a_patch_size_is_needed(family: Sift) -> None:
    with pytest.raises(ConfigError, match="patch"):
        type(family)(patches=())
