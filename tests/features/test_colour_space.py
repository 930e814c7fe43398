from __future__ import annotations

import numpy as np
import pytest
from skimage.color import rgb2hsv, rgb2lab

from mediarank.features.colour_space import SPACES, bin_tables

RNG = np.random.default_rng(0)
COLOURS = RNG.integers(0, 256, (40, 50, 3), dtype=np.uint8)


def test_lab_is_scikit_images_lab() -> None:
    stored = SPACES["lab"].convert(COLOURS).astype(float)
    lab = np.stack([stored[..., 0] * 100 / 255, stored[..., 1] - 128, stored[..., 2] - 128], axis=-1)
    np.testing.assert_allclose(lab, rgb2lab(COLOURS), atol=1.6)


def test_lab_ranges_hold_all_of_srgb() -> None:
    corners = np.array([[r, g, b] for r in (0, 255) for g in (0, 255) for b in (0, 255)], dtype=np.uint8)[None]
    stored = SPACES["lab"].convert(corners)
    for channel, (low, high) in enumerate(SPACES["lab"].ranges):
        assert stored[..., channel].min() >= low
        assert stored[..., channel].max() < high


def test_hsv_is_scikit_images_hsv() -> None:
    stored = SPACES["hsv"].convert(COLOURS) / 255
    expected = rgb2hsv(COLOURS)
    vivid = expected[..., 1] > 0.2
    turn = np.abs(stored[..., 0] - expected[..., 0])[vivid]
    assert np.minimum(turn, 1 - turn).max() < 0.01
    np.testing.assert_allclose(stored[..., 1:], expected[..., 1:], atol=0.01)


def test_rgb_is_left_alone() -> None:
    assert SPACES["rgb"].convert(COLOURS) is COLOURS


def test_hard_bins_split_a_byte_evenly() -> None:
    low, high, share = bin_tables(SPACES["rgb"], (4, 8, 16), False)
    assert [np.bincount(row).tolist() for row in low] == [[64] * 4, [32] * 8, [16] * 16]
    np.testing.assert_array_equal(low, high)
    assert not share.any()


def test_soft_bins_share_by_distance() -> None:
    low, high, share = bin_tables(SPACES["rgb"], (4, 4, 4), True)
    # bins are 64 wide: 95.5 + .5 is the middle of bin 1, 127.5 + .5 the border of bins 1 and 2
    assert (low[0, 100], high[0, 100]) == (1, 2)
    assert share[0, 100] == pytest.approx((100.5 - 96) / 64)
    assert (low[0, 10], high[0, 10]) == (0, 0)  # beyond the first middle there is nobody to share with


def test_hue_wraps_around() -> None:
    low, high, _ = bin_tables(SPACES["hsv"], (8, 4, 4), True)
    assert (low[0, 2], high[0, 2]) == (7, 0)
    assert (low[0, 254], high[0, 254]) == (7, 0)
    assert (low[1, 254], high[1, 254]) == (3, 3)


def test_tables_can_not_be_spoiled() -> None:
    with pytest.raises(ValueError, match="read-only"):
        bin_tables(SPACES["rgb"], (4, 4, 4), True)[0][0, 0] = 9
