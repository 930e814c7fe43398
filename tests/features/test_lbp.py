from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.feature import local_binary_pattern

from mediarank.features import lbp
from mediarank.features.lbp import Lbp, pattern_codes, uniform_bins
from mediarank.features.pixels import grey
from mediarank.types import ConfigError


@pytest.mark.parametrize(("radius", "agreement"), [(1.0, 1.0), (2.0, 0.99), (3.0, 0.99), (1.5, 0.99)])
def test_codes_are_scikit_images(picture: np.ndarray, radius: float, agreement: float) -> None:
    levels = grey(picture)
    ours = pattern_codes(levels, radius)
    theirs = local_binary_pattern(levels, 8, radius, "default").astype(int)
    inner = np.s_[4:-4, 4:-4]  # theirs has black beyond the edge
    # both interpolate; where a neighbour equals the centre exactly, rounding decides theirs
    assert (ours[inner] == theirs[inner]).mean() >= agreement


def test_histogram_is_scikit_images(picture: np.ndarray) -> None:
    levels = grey(picture)
    codes = pattern_codes(levels, 1.0)
    theirs = local_binary_pattern(np.pad(levels, 2, mode="edge"), 8, 1, "nri_uniform")[2:-2, 2:-2]
    expected = np.sort(np.bincount(theirs.astype(int).ravel(), minlength=59))  # they number patterns otherwise
    got = Lbp(radii=(1.0,), normalisation="none").extract(picture)
    np.testing.assert_array_equal(np.sort(got), expected)
    assert got.sum() == codes.size
    rotated = local_binary_pattern(np.pad(levels, 2, mode="edge"), 8, 1, "uniform")[2:-2, 2:-2]
    invariant = Lbp(radii=(1.0,), normalisation="none", rotation_invariant=True).extract(picture)
    np.testing.assert_array_equal(invariant, np.bincount(rotated.astype(int).ravel(), minlength=10))


def test_a_pixel_by_hand() -> None:
    levels = np.array([[9, 9, 1], [1, 5, 5], [1, 1, 9]], dtype=np.uint8)
    # right (bit 0) equals the centre; up (bit 2) 9; left and down are darker. Diagonals lie at .707 of the way:
    # 5 + .707 * .707 * ... is read off the four pixels around them
    code = pattern_codes(levels, 1.0)[1, 1]
    w = np.sqrt(0.5)
    up_right = (1 - w) ** 2 * 5 + (1 - w) * w * (5 + 9) + w * w * 1
    down_right = (1 - w) ** 2 * 5 + (1 - w) * w * (5 + 1) + w * w * 9
    up_left = (1 - w) ** 2 * 5 + (1 - w) * w * (1 + 9) + w * w * 9
    expected = 1 | (up_right >= 5) << 1 | 1 << 2 | (up_left >= 5) << 3 | (down_right >= 5) << 7
    assert code == expected == 0b10001101


def test_there_are_58_uniform_patterns() -> None:
    table, names = uniform_bins(False)
    assert len(names) == 59
    assert (np.bincount(table) == [1] * 58 + [198]).all()
    assert names[table[0b00011100]] == "00011100"
    assert names[table[0b01010101]] == "other"
    table, names = uniform_bins(True)
    assert names[table[0b11100000]] == "3 ones"
    assert names[table[0b10000011]] == "3 ones"


@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 2.0, 2.5, 3.0]), st.integers(-40, 40))
@settings(max_examples=30, deadline=None)
def test_brightness_changes_nothing(seed: int, radius: float, light: int) -> None:
    levels = np.random.default_rng(seed).integers(60, 190, (12, 15), dtype=np.uint8)
    brighter = (levels.astype(int) + light).astype(np.uint8)
    np.testing.assert_array_equal(pattern_codes(levels, radius), pattern_codes(brighter, radius))


def test_a_flat_area_has_one_pattern() -> None:
    # with rounding noise in the interpolation it would have many
    for level in (0, 1, 77, 254, 255):
        for radius in (1.0, 1.7, 3.0):
            assert (pattern_codes(np.full((9, 9), level, np.uint8), radius) == 255).all()


def test_a_quarter_turn_turns_codes(picture: np.ndarray) -> None:
    levels = grey(picture)
    codes, turned = pattern_codes(levels, 2.0), pattern_codes(np.rot90(levels).copy(), 2.0)
    expected = np.rot90((codes << 2 | codes >> 6).astype(np.uint8))  # counter-clockwise by two of eight neighbours
    assert (turned == expected).mean() > 0.999
    invariant = Lbp(rotation_invariant=True)
    np.testing.assert_allclose(invariant.extract(np.rot90(picture)), invariant.extract(picture), atol=0.01)


def test_cells_tile_the_picture(picture: np.ndarray) -> None:
    whole = Lbp(radii=(1.0, 2.0), normalisation="none").extract(picture).reshape(2, 59)
    cells = Lbp(radii=(1.0, 2.0), cells=5, normalisation="none").extract(picture).reshape(2, 25, 59)
    np.testing.assert_array_equal(cells.sum(axis=1), whole)
    corner = np.bincount(uniform_bins(False)[0][pattern_codes(grey(picture), 1.0)[:20, :26]].ravel(), minlength=59)
    np.testing.assert_array_equal(cells[0, 0], corner)


def test_each_cell_is_normalised(picture: np.ndarray) -> None:
    vector = Lbp(cells=2, normalisation="sqrt").extract(picture).reshape(3 * 4, 59)
    np.testing.assert_allclose(np.linalg.norm(vector, axis=1), 1, rtol=1e-5)


def test_a_radius_is_needed() -> None:
    with pytest.raises(ConfigError, match="radius"):
        Lbp(radii=())


def test_kernels_as_plain_python(small: np.ndarray) -> None:
    levels = grey(small)
    codes, table = pattern_codes(levels, 1.0), uniform_bins(False)[0]
    corners, weights = lbp._circle(1.5)
    padded = np.pad(levels, 3, mode="edge")
    compiled, plain = np.zeros_like(levels), np.zeros_like(levels)
    lbp._compare(padded, 3, corners, weights, compiled)
    lbp._compare.py_func(padded, 3, corners, weights, plain)
    np.testing.assert_array_equal(compiled, plain)
    counts, plain_counts = np.zeros((3, 3, 59)), np.zeros((3, 3, 59))
    lbp._count(codes, table, counts)
    lbp._count.py_func(codes, table, plain_counts)
    np.testing.assert_array_equal(counts, plain_counts)
