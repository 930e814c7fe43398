from __future__ import annotations

import numpy as np

from mediarank.features.pixels import grey, resized


def test_grey_weighs_green_most() -> None:
    primaries = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]], dtype=np.uint8)
    np.testing.assert_allclose(grey(primaries)[0], [76, 150, 29, 255], atol=1)


def test_shrinking_averages_areas() -> None:
    pixels = np.array([[0, 4, 8, 8], [4, 8, 8, 8]], dtype=np.uint8)
    assert resized(pixels, 1, 2).tolist() == [[4, 8]]


def test_the_right_shape_is_left_alone() -> None:
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert resized(pixels, 3, 4) is pixels


def test_one_pixel_fills_any_shape() -> None:
    assert (resized(np.full((1, 1, 3), 7, np.uint8), 5, 6) == 7).all()
    assert resized(np.full((1, 9, 3), 7, np.uint8), 4, 4).shape == (4, 4, 3)
