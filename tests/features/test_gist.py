from __future__ import annotations

import numpy as np
import pytest

from mediarank.features.gist import Gist, prefiltered, transfer_functions
from mediarank.features.pixels import grey, resized
from mediarank.types import ConfigError


def plain(planes: np.ndarray, padding: int, blocks: int = 4) -> np.ndarray:  # planes: (k, side, side)
    """Oliva and Torralba step by step in double precision, every filter on the full grid."""
    logs = np.pad(np.log(planes + 1.0), ((0, 0), (padding, padding), (padding, padding)), mode="reflect")
    side = logs.shape[1]
    frequency = np.fft.fftfreq(side, 1 / side)
    squared = frequency[:, None] ** 2 + frequency[None, :] ** 2
    low_pass = np.exp(-squared / (4 / np.sqrt(np.log(2))) ** 2)
    detail = logs - np.fft.ifft2(np.fft.fft2(logs) * low_pass).real
    contrast = np.sqrt(np.abs(np.fft.ifft2(np.fft.fft2(detail.mean(axis=0) ** 2) * low_pass).real))
    detail /= 0.2 + contrast
    radius, angle = np.sqrt(squared), np.arctan2(frequency[:, None], frequency[None, :])
    result = []
    for plane in detail:
        spectrum = np.fft.fft2(plane)
        for scale in range(4):
            for orientation in range(8):
                turn = angle + np.pi / 8 * orientation
                turn = turn + 2 * np.pi * (turn < -np.pi) - 2 * np.pi * (turn > np.pi)
                gain = np.exp(-3.5 * (radius / side / (0.3 / 1.85**scale) - 1) ** 2 - 2 * np.pi * turn**2)
                magnitude = np.abs(np.fft.ifft2(spectrum * gain))[padding : side - padding, padding : side - padding]
                edge = len(magnitude) // blocks
                result.append(magnitude.reshape(blocks, edge, blocks, edge).mean(axis=(1, 3)).ravel())
    return np.concatenate(result)


@pytest.mark.parametrize("padding", [0, 16])
def test_equals_the_papers_steps(picture: np.ndarray, padding: int) -> None:
    expected = plain(resized(grey(picture), 128, 128)[None].astype(float), padding)
    got = Gist(padding=padding).extract(picture)
    # filters that fit a smaller grid are sampled more coarsely: their block means differ by about a hundredth
    np.testing.assert_allclose(got, expected, rtol=0.04, atol=0.01 * expected.max())
    assert np.abs(got - expected).mean() < 0.003 * expected.mean()
    if padding == 0:
        np.testing.assert_allclose(got[:128], expected[:128], rtol=1e-3)  # the finest need the full grid


def test_colour_is_each_channel_with_one_contrast(picture: np.ndarray) -> None:
    planes = np.moveaxis(resized(picture, 128, 128), 2, 0).astype(float)
    family = Gist(colour=True, padding=0)
    np.testing.assert_allclose(family.extract(picture), plain(planes, 0), rtol=0.04, atol=2e-3)
    assert len(family.names()) == 3 * 512
    assert family.names()[512] == "green/scale0.o0/block0.0"


def test_a_shift_of_one_block_moves_blocks(picture: np.ndarray) -> None:
    square = np.ascontiguousarray(resized(picture, 128, 128))
    family = Gist(padding=0)  # without padding the picture is circular, so the shift is exact
    blocks = family.extract(square).reshape(32, 4, 4)
    shifted = family.extract(np.roll(square, (32, -64), axis=(0, 1))).reshape(32, 4, 4)
    np.testing.assert_allclose(shifted, np.roll(blocks, (1, -2), axis=(1, 2)), rtol=1e-3, atol=1e-5)


def test_a_quarter_turn_moves_orientations_by_half(picture: np.ndarray) -> None:
    square = np.ascontiguousarray(resized(picture, 128, 128))
    family = Gist(padding=0)
    upright = family.extract(square).reshape(4, 8, 4, 4)
    turned = family.extract(np.rot90(square)).reshape(4, 8, 4, 4)
    expected = np.roll(np.rot90(upright, axes=(2, 3)), 4, axis=1)
    np.testing.assert_allclose(turned, expected, rtol=0.02, atol=1e-3)


def test_stripes_wake_their_scale_and_orientation() -> None:
    y = np.arange(128)[:, None, None] * np.ones((1, 128, 3))
    stripes = np.round(127 + 100 * np.cos(2 * np.pi * y * 0.3)).astype(np.uint8)
    energy = Gist(padding=0).extract(stripes).reshape(4, 8, 16).mean(axis=2)
    assert np.unravel_index(energy.argmax(), energy.shape) == (0, 4)


def test_light_is_evened_out(picture: np.ndarray) -> None:
    dim = (picture.astype(float) * 0.5 + 0.5).round().astype(np.uint8)
    a, b = Gist().extract(picture), Gist().extract(dim)
    assert np.corrcoef(a, b)[0, 1] > 0.99


def test_the_prefilter_keeps_flat_areas_flat() -> None:
    (plane,) = prefiltered(np.full((64, 64), 200, np.uint8), 0)
    np.testing.assert_allclose(plane, 0, atol=1e-4)


def test_filters_cover_half_the_plane() -> None:
    bank = transfer_functions(64, 4, 8)
    assert bank.shape == (32, 64, 64)
    # a filter and its mirror image do not overlap much: responses are complex, their magnitude is the envelope
    mirrored = np.roll(bank[:, ::-1, ::-1], 1, axis=(1, 2))
    assert (bank * mirrored).sum() < 0.05 * np.square(bank).sum()


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigError, match="even"):
        Gist(side=65)
