from __future__ import annotations

import numpy as np
import pytest

from mediarank.features import filter_bank
from mediarank.features.filter_bank import FilterBank, frequencies


def gaussian(side: int, down: float, across: float, width: float) -> np.ndarray:
    v, u = frequencies(side)
    return np.exp(-((u - across) ** 2 + (v - down) ** 2) / (2 * width**2))


def bank_and_plane(smallest: int) -> tuple[FilterBank, np.ndarray, np.ndarray]:
    transfers = np.stack([gaussian(64, *f) for f in ((0.0, 0.1, 0.03), (-0.12, 0.3, 0.04), (0.45, 0.45, 0.02))])
    plane = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    return FilterBank.of(transfers, smallest), transfers, plane


def test_full_responses_are_numpys() -> None:
    bank, transfers, plane = bank_and_plane(64)
    expected = np.fft.ifft2(np.fft.fft2(plane) * transfers)
    for response, answer in zip(bank.responses(bank.spectrum(plane)), expected, strict=True):
        np.testing.assert_allclose(response[..., 0], answer.real, atol=1e-5)
        np.testing.assert_allclose(response[..., 1], answer.imag, atol=1e-5)


def test_windows_keep_magnitudes_between_pixels() -> None:
    bank, transfers, plane = bank_and_plane(32)
    assert [len(window.gains) for window in bank.windows] == [32, 32, 32]
    # a coarse sample lies in the middle of 2 x 2 pixels: shift the picture by half a pixel to meet it
    v, u = frequencies(64)
    shifted = np.fft.ifft2(np.fft.fft2(plane) * transfers * np.exp(1j * np.pi * (u + v)))
    for response, answer in zip(bank.responses(bank.spectrum(plane)), shifted, strict=True):
        np.testing.assert_allclose(np.hypot(*np.moveaxis(response, 2, 0)), np.abs(answer)[::2, ::2], atol=2e-4)


def test_windows_are_powers_of_two() -> None:
    narrow, wide = gaussian(96, 0, 0.1, 0.03), gaussian(96, 0.1, 0.1, 0.07)
    assert [len(w.gains) for w in FilterBank.of(np.stack([narrow, wide]), 20).windows] == [32, 64]


def test_a_wide_filter_stays_on_the_full_grid() -> None:
    assert len(FilterBank.of(gaussian(64, 0, 0.2, 0.2)[None], 16).windows[0].gains) == 64


def test_windows_wrap_around() -> None:
    window = FilterBank.of(gaussian(64, 0.0, 0.0, 0.02)[None], 16).windows[0]
    assert len(window.gains) == 16
    assert (window.top, window.left) == (56, 56)  # half of it at negative frequencies


@pytest.mark.parametrize("smallest", [64, 32])
def test_blocks_are_averaged(smallest: int) -> None:
    bank, transfers, plane = bank_and_plane(smallest)
    magnitude = np.abs(np.fft.ifft2(np.fft.fft2(plane) * transfers))[:, 8:56, 8:56].reshape(3, 4, 12, 4, 12)
    means = bank.block_means(bank.spectrum(plane), 8, 4)
    again, spreads = bank.block_moments(bank.spectrum(plane), 8, 4)
    exact = smallest == 64
    np.testing.assert_array_equal(means, again)
    np.testing.assert_allclose(means, magnitude.mean(axis=(2, 4)), rtol=1e-4 if exact else 0.06)
    np.testing.assert_allclose(spreads, magnitude.std(axis=(2, 4)), rtol=1e-3 if exact else 0.12)


def test_samples_that_straddle_a_border_are_shared() -> None:
    # 6 samples of 2 px over 12 px; two blocks of 5 px inside a padding of 1: the third sample is half each one's
    expected = np.array([[0.2, 0.4, 0.4, 0, 0, 0], [0, 0, 0, 0.4, 0.4, 0.2]])
    np.testing.assert_allclose(filter_bank._shares(12, 6, 1, 2), expected, atol=1e-6)
    uneven = filter_bank._shares(160, 64, 16, 4)
    np.testing.assert_allclose(uneven.sum(axis=1), 1, rtol=1e-6)
    assert ((uneven[0] > 0) & (uneven[1] > 0)).sum() == 1


def test_kernels_as_plain_python() -> None:
    rng = np.random.default_rng(0)
    spectrum = rng.normal(size=(16, 32)).astype(np.float32)
    gains = rng.random((8, 16)).astype(np.float32)
    for top, left in ((0, 0), (13, 3), (5, 12)):
        compiled, plain = np.zeros_like(gains), np.zeros_like(gains)
        filter_bank._filter(spectrum, gains, top, left, compiled)
        filter_bank._filter.py_func(spectrum, gains, top, left, plain)
        np.testing.assert_array_equal(compiled, plain)
        rows = (top + np.arange(8)) % 16
        columns = (left + np.arange(8)) % 16
        expected = spectrum.reshape(16, 16, 2)[np.ix_(rows, columns)] * gains.reshape(8, 8, 2)
        np.testing.assert_array_equal(plain.reshape(8, 8, 2), expected)
    response = spectrum.reshape(-1)
    for kernel, expected in (
        (filter_bank._magnitudes, np.hypot(response[::2], response[1::2])),
        (filter_bank._squares, response[::2] ** 2 + response[1::2] ** 2),
    ):
        for function in (kernel, kernel.py_func):
            answer = np.zeros(256, np.float32)
            function(response, answer)
            np.testing.assert_allclose(answer, expected, rtol=1e-5)
