from __future__ import annotations

import numpy as np
import pytest

from mediarank.features.haar import Haar, HaarQ, HaarTexture, decomposed
from mediarank.features.pixels import grey, resized
from mediarank.types import ConfigError


def plain(levels: np.ndarray, depth: int) -> list[list[list[list[float]]]]:
    result = []
    for _ in range(depth):
        half = len(levels) // 2
        bands = np.zeros((3, half, half))
        rest = np.zeros((half, half))
        for y in range(half):
            for x in range(half):
                (a, b), (c, d) = levels[2 * y : 2 * y + 2, 2 * x : 2 * x + 2]
                bands[:, y, x] = (a + b - c - d) / 4, (a - b + c - d) / 4, (a - b - c + d) / 4
                rest[y, x] = (a + b + c + d) / 4
        result.append(bands)
        levels = rest
    return result


def test_a_block_by_hand() -> None:
    ((horizontal, vertical, diagonal),) = decomposed(np.array([[9, 5], [1, 1]], dtype=np.float32), 1)
    assert (horizontal[0, 0], vertical[0, 0], diagonal[0, 0]) == (3, 1, 1)


def test_bands_are_those_of_a_plain_loop() -> None:
    levels = np.random.default_rng(0).integers(0, 256, (32, 32)).astype(np.float32)
    for bands, expected in zip(decomposed(levels, 3), plain(levels, 3), strict=True):
        np.testing.assert_allclose(np.stack(bands), expected, rtol=1e-6)


def test_energy_is_kept() -> None:
    # the transform divided by 2 is orthonormal; by 4 a level's energy shrinks by 4
    levels = np.random.default_rng(1).normal(size=(16, 16)).astype(np.float32)
    total = sum(4 ** (k + 1) * np.square(np.stack(bands)).sum() for k, bands in enumerate(decomposed(levels, 4)))
    assert total + 256 * levels.mean() ** 2 == pytest.approx(np.square(levels).sum(), rel=1e-4)


def test_stripes_fall_into_their_band() -> None:
    stripes = np.zeros((64, 64, 3), dtype=np.uint8)
    stripes[::2] = 255
    family = HaarTexture(side=64, levels=2)
    got = dict(zip(family.names(), family.extract(stripes), strict=True))
    assert got["level0.horizontal.mean"] == pytest.approx(0.5)
    assert sum(got.values()) == pytest.approx(0.5)  # no spread, no other band
    turned = dict(zip(family.names(), family.extract(np.rot90(stripes)), strict=True))
    assert turned["level0.vertical.mean"] == pytest.approx(0.5)


def test_texture_is_mean_magnitude_and_spread(picture: np.ndarray) -> None:
    square = resized(grey(picture), 128, 128) / 255
    expected = [f(b) for bands in plain(square, 4) for b in bands for f in (lambda b: np.abs(b).mean(), np.std)]
    np.testing.assert_allclose(HaarTexture().extract(picture), expected, atol=1e-6)
    assert len(HaarTexture(colour=True).names()) == 3 * len(expected)


def test_jec_keeps_magnitudes_and_signs(picture: np.ndarray) -> None:
    square = resized(grey(picture), 64, 64) / 255
    expected = np.concatenate([b.ravel() for bands in plain(square, 3) for b in bands])
    np.testing.assert_allclose(Haar().extract(picture), np.abs(expected), atol=1e-6)
    clear = np.abs(expected) > 1e-9
    np.testing.assert_array_equal(HaarQ().extract(picture)[clear], np.sign(expected)[clear])


def test_light_leaves_signs_and_magnitudes(picture: np.ndarray) -> None:
    dim = np.repeat((picture // 2)[:, :, :1], 3, axis=2)
    np.testing.assert_allclose(Haar(side=32).extract(dim + 9), Haar(side=32).extract(dim), atol=0.003)
    square = dim[:64, :64]
    np.testing.assert_array_equal(HaarQ().extract(square + 9), HaarQ().extract(square))


def test_zero_is_a_sign_of_its_own() -> None:
    assert set(HaarQ().extract(np.full((10, 10, 3), 90, np.uint8))) == {0}


def test_a_side_that_can_not_be_halved_is_refused() -> None:
    with pytest.raises(ConfigError, match="power of two"):
        Haar(side=36, levels=3)
