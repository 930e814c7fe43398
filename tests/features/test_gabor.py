from __future__ import annotations

import itertools

import numpy as np
import pytest

from mediarank.features import gabor
from mediarank.features.gabor import Gabor, GaborBank, GaborQ, transfer_functions
from mediarank.features.pixels import grey, resized
from mediarank.types import ConfigError


def responses(picture: np.ndarray, scales: int, orientations: int) -> np.ndarray:
    square = resized(grey(picture), 128, 128) / 255
    return np.fft.ifft2(np.fft.fft2(square) * transfer_functions(128, scales, orientations))


def grating(down: float, across: float) -> np.ndarray:
    y, x = np.indices((128, 128))
    wave = np.round(127.5 + 127 * np.cos(2 * np.pi * (down * y + across * x))).astype(np.uint8)
    return np.repeat(wave[:, :, None], 3, axis=2)


def test_the_bank_is_numpys_fft(picture: np.ndarray) -> None:
    blocks = np.abs(responses(picture, 5, 8)).reshape(40, 4, 32, 4, 32)
    means, spreads = np.split(GaborBank().extract(picture), 2)
    # low-pass filters are inverted on half the grid: block statistics differ by sampling
    np.testing.assert_allclose(means, blocks.mean(axis=(2, 4)).ravel(), atol=3e-4)
    np.testing.assert_allclose(spreads, blocks.std(axis=(2, 4)).ravel(), atol=1e-3)
    assert np.corrcoef(means, blocks.mean(axis=(2, 4)).ravel())[0, 1] > 0.9999


def test_neighbouring_filters_touch_at_half() -> None:
    bank = transfer_functions(512, 4, 6)
    line = np.fft.fftfreq(512)[1:256]
    along = bank[::6, 0, 1:256]  # orientation 0, along its own direction
    for fine, coarse in itertools.pairwise(along):
        crossing = np.argmin(np.abs(np.log(fine / coarse)) + 10 * ((line > 0.4) | (line < 0.05)))
        assert fine[crossing] == pytest.approx(0.5, abs=0.02)
    assert bank[:, 0, 0].max() == 0
    assert bank.max() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("cycles_down", "cycles_across", "scale", "orientation"),
    [(0, 6, 4, 0), (51, 0, 0, 4), (13, 13, 2, 2), (-22, 22, 1, 6)],
)
def test_a_grating_wakes_its_filter(cycles_down: int, cycles_across: int, scale: int, orientation: int) -> None:
    # centres are at 0.4, 0.238, 0.141, 0.084 and 0.05 cycles a pixel: 51.2, 30.4, 18.1, 10.8 and 6.4 a picture
    means = GaborBank(cells=1).extract(grating(cycles_down / 128, cycles_across / 128))[:40].reshape(5, 8)
    assert np.unravel_index(np.argmax(means), means.shape) == (scale, orientation)
    assert means.max() == pytest.approx(127 / 255 / 2, rel=0.05)  # half the amplitude: the other half is conjugate


def test_a_quarter_turn_moves_orientations_by_half(picture: np.ndarray) -> None:
    square = np.ascontiguousarray(picture[:96, :96])
    means = GaborBank(cells=1).extract(square)[:40].reshape(5, 8)
    turned = GaborBank(cells=1).extract(np.rot90(square))[:40].reshape(5, 8)
    np.testing.assert_allclose(turned, np.roll(means, 4, axis=1), rtol=0.02, atol=1e-5)


def test_light_leaves_energy_alone(picture: np.ndarray) -> None:
    dim = (picture // 2).astype(np.uint8)
    np.testing.assert_allclose(GaborBank().extract(dim + 77), GaborBank().extract(dim), atol=2e-4)


def test_jec_histograms_are_those_of_magnitudes(picture: np.ndarray) -> None:
    magnitudes = np.abs(responses(picture, 3, 4))
    edges = np.r_[(np.arange(16) / 16) ** 2 * 0.25, np.inf]
    expected = np.concatenate([np.histogram(m, edges)[0] / m.size for m in magnitudes])
    assert np.abs(Gabor().extract(picture) - expected).sum() < 0.01  # pixels on a border may fall either way


def test_jec_phases_are_mean_phases_in_eighths(picture: np.ndarray) -> None:
    answers = responses(picture, 3, 4)
    pointers = (answers / np.abs(answers)).reshape(12, 8, 16, 8, 16).mean(axis=(2, 4)).ravel()
    eighths = np.angle(pointers) * 8 / (2 * np.pi)
    clear = (np.abs(pointers) > 0.01) & (np.abs(eighths - np.round(eighths)) > 0.01)
    np.testing.assert_array_equal(GaborQ().extract(picture)[clear], (np.floor(eighths) % 8)[clear])
    assert clear.mean() > 0.8


def test_a_flat_picture_has_no_phase() -> None:
    assert not GaborQ().extract(np.full((30, 30, 3), 99, np.uint8)).any()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match="8 px"):
        GaborBank(side=32, cells=8)
    with pytest.raises(ConfigError, match="divides it"):
        GaborQ(block=24)


def test_kernel_as_plain_python() -> None:
    response = np.random.default_rng(0).normal(size=(12, 12, 2)).astype(np.float32)
    compiled, plain = np.zeros((3, 3, 2)), np.zeros((3, 3, 2))
    gabor._sum_pointers(response, 4, 0.5, compiled)
    gabor._sum_pointers.py_func(response, 4, 0.5, plain)
    np.testing.assert_allclose(compiled, plain, rtol=1e-5)
