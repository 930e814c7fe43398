from __future__ import annotations

import numpy as np
import pytest
from skimage.color import rgb2lab

from mediarank.features import colour_histogram
from mediarank.features.colour_histogram import Hsv, HsvHistogram, Lab, LabHistogram, Rgb, RgbHistogram
from mediarank.features.colour_space import SPACES, bin_tables

Picture = np.ndarray


def test_hard_counts_are_numpys(picture: Picture) -> None:
    for family in (
        LabHistogram(soft=False, curved=False),
        RgbHistogram(soft=False, bins=(4, 8, 2)),
        HsvHistogram(soft=False),
    ):
        space = SPACES[family.space]
        pixels = space.convert(picture).reshape(-1, 3).astype(float)
        pixels = np.clip(pixels, [low for low, _ in space.ranges], [high - 1 for _, high in space.ranges])
        expected, _ = np.histogramdd(pixels + 0.5, bins=family.bins, range=space.ranges)
        np.testing.assert_allclose(family.extract(picture), expected.ravel() / len(pixels), atol=1e-7)


def test_lab_histogram_is_that_of_scikit_images_lab(picture: Picture) -> None:
    lab = rgb2lab(picture).reshape(-1, 3)
    expected, _ = np.histogramdd(lab, bins=(8, 8, 8), range=((0, 100.4), (-88, 100), (-108, 96)))
    ours = LabHistogram(soft=False, curved=False).extract(picture)
    # conversions differ by rounding to bytes: only pixels near a border may change bins
    assert np.abs(ours - expected.ravel() / len(lab)).sum() < 0.1


def test_curved_bins_are_numpys_too(picture: Picture) -> None:
    # of 8 bins, 4 on each side of grey; the k-th ends at (k/4)² of the way to the largest distance in use
    ends = (np.arange(5) / 4) ** 2
    edges = np.r_[-ends[:0:-1], 0, ends[1:]]
    pixels = SPACES["lab"].convert(picture).reshape(-1, 3).astype(float) - [0, 128, 128]
    expected, _ = np.histogramdd(pixels, bins=(np.arange(0, 257, 32), 100 * edges, 108 * edges))
    np.testing.assert_allclose(LabHistogram(soft=False).extract(picture), expected.ravel() / len(pixels), atol=1e-7)


def test_one_colour_fills_one_bin() -> None:
    red = np.full((5, 7, 3), (255, 0, 0), dtype=np.uint8)
    family = RgbHistogram(bins=(2, 2, 2), soft=False)
    assert dict(zip(family.names(), family.extract(red), strict=True)) == {
        "r0g0b0": 0, "r0g0b1": 0, "r0g1b0": 0, "r0g1b1": 0, "r1g0b0": 1, "r1g0b1": 0, "r1g1b0": 0, "r1g1b1": 0,
    }  # fmt: skip


def test_soft_counting_shares_trilinearly() -> None:
    # with 2 bins of 128, 111.5 + .5 = 112 lies (112 - 64) / 128 = .375 of the way from bin 0's middle to bin 1's
    family = RgbHistogram(bins=(2, 2, 2), soft=True)
    pixel = np.array([[[112, 112, 0]]], dtype=np.uint8)
    share = (112.5 - 64) / 128
    got = dict(zip(family.names(), family.extract(pixel), strict=True))
    assert got["r1g1b0"] == pytest.approx(share**2, rel=1e-6)
    assert got["r0g1b0"] == pytest.approx(share * (1 - share), rel=1e-6)
    assert got["r0g0b1"] == 0


def test_soft_histograms_move_less_with_light(picture: Picture) -> None:
    brighter = np.clip(picture.astype(int) + 8, 0, 255).astype(np.uint8)
    moved = {
        soft: np.abs(LabHistogram(soft=soft).extract(picture) - LabHistogram(soft=soft).extract(brighter)).sum()
        for soft in (True, False)
    }
    assert moved[True] < 0.7 * moved[False]


@pytest.mark.parametrize("family", [LabHistogram(), RgbHistogram(), HsvHistogram(), Rgb(), Hsv(), Lab()])
def test_the_order_of_pixels_does_not_matter(family: LabHistogram, picture: Picture) -> None:
    shuffled = np.random.default_rng(0).permutation(picture.reshape(-1, 3)).reshape(picture.shape)
    np.testing.assert_allclose(family.extract(picture), family.extract(shuffled), atol=1e-6)
    assert family.extract(picture).sum() == pytest.approx(1, abs=1e-5)


def test_channels_are_joint_histograms_summed(picture: Picture) -> None:
    joint = RgbHistogram(bins=(16, 16, 16), soft=False).extract(picture).reshape(16, 16, 16)
    margins = np.concatenate([joint.sum(axis=(1, 2)), joint.sum(axis=(0, 2)), joint.sum(axis=(0, 1))])
    np.testing.assert_allclose(Rgb().extract(picture), margins / 3, atol=1e-6)


def test_channel_names_and_bins(picture: Picture) -> None:
    assert Lab().names()[:2] == ("l0", "l1")
    assert Lab().names()[16] == "a0"
    assert len(Hsv(granularity="2x2").names()) == 4 * 48


def test_kernels_as_plain_python(small: Picture) -> None:
    low, high, share = bin_tables(SPACES["hsv"], (4, 3, 2), True)
    pixels = SPACES["hsv"].convert(small).reshape(-1, 3)
    for kernel, arguments, shape in (
        (colour_histogram._count_hard, (pixels, low), (4, 3, 2)),
        (colour_histogram._count_soft, (pixels, low, high, share), (4, 3, 2)),
        (colour_histogram._count_channels, (pixels, low, high, share), (3, 4)),
    ):
        compiled, plain = np.zeros(shape), np.zeros(shape)
        kernel(*arguments, compiled)
        kernel.py_func(*arguments, plain)
        np.testing.assert_allclose(compiled, plain, rtol=1e-12)
        assert plain.sum() == pytest.approx(len(pixels) * (3 if shape == (3, 4) else 1))
