"""Banks of band-pass filters, applied in the frequency domain: shared by GIST and the Gabor families.

A filter is its transfer function on the FFT grid. If nearly all of it fits into a smaller window anywhere on the grid,
only the window is kept and inverted: powers of two are the fastest transforms, and 64² costs a quarter of 128². The
response is then sampled more coarsely and its phase turns at another rate, but its magnitude is the same, and we
measure nothing else: means over blocks, with samples that straddle a border shared by their overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.types import Floats

_LOST = 1e-5
"""The share of a filter's energy that a window may cut off."""


@dataclass(frozen=True, eq=False)
class Window:
    """A filter's part of the grid.

    top, left : where the window starts; it may wrap around
    gains : (s, s, 2) float32, each gain twice: for the real and the imaginary part
    """

    top: int
    left: int
    gains: Floats


@dataclass(frozen=True, eq=False)
class FilterBank:
    """Filters over a square FFT grid of `side`; made once per configuration."""

    side: int
    windows: tuple[Window, ...]

    @classmethod
    def of(cls, transfers: npt.NDArray[np.float64], smallest: int) -> FilterBank:
        """From full (n, side, side) functions in FFT order; no window is smaller than `smallest`."""
        return cls(transfers.shape[1], tuple(_window(transfer, smallest) for transfer in transfers))

    def spectrum(self, plane: Floats) -> Floats:
        """(side, side) float32 pixels -> (side, side, 2) real and imaginary parts."""
        return np.asarray(cv2.dft(plane, flags=cv2.DFT_COMPLEX_OUTPUT), dtype=np.float32)

    def responses(self, spectrum: Floats) -> Iterator[Floats]:
        """Each filter's complex response, (s, s, 2); valid until the next one is computed."""
        sources = {len(w.gains): self._centred(spectrum, len(w.gains)) for w in self.windows}
        buffers = {len(w.gains): np.empty_like(w.gains) for w in self.windows}
        for window in self.windows:
            side = len(window.gains)
            response = buffers[side]
            _filter(sources[side], window.gains.reshape(side, -1), window.top, window.left, response.reshape(side, -1))
            yield cv2.dft(response, response, cv2.DFT_INVERSE)

    def block_means(self, spectrum: Floats, padding: int, blocks: int) -> Floats:
        """(filters, blocks, blocks) means of each response's magnitude.

        padding : pixels at each edge that are left out
        """
        means = np.empty((len(self.windows), blocks, blocks), dtype=np.float32)
        for k, response in enumerate(self.responses(spectrum)):
            magnitude = np.empty(response.shape[:2], np.float32)
            _magnitudes(response.reshape(-1), magnitude.reshape(-1))
            shares = _shares(self.side, len(response), padding, blocks)
            means[k] = shares @ magnitude @ shares.T
        return means

    def block_moments(self, spectrum: Floats, padding: int, blocks: int) -> tuple[Floats, Floats]:
        """As `block_means`, and the standard deviations."""
        means = np.empty((len(self.windows), blocks, blocks), dtype=np.float32)
        squares = np.empty_like(means)
        for k, response in enumerate(self.responses(spectrum)):
            magnitude, square = np.empty(response.shape[:2], np.float32), np.empty(response.shape[:2], np.float32)
            _magnitudes(response.reshape(-1), magnitude.reshape(-1))
            _squares(response.reshape(-1), square.reshape(-1))
            shares = _shares(self.side, len(response), padding, blocks)
            means[k], squares[k] = shares @ magnitude @ shares.T, shares @ square @ shares.T
        return means, np.sqrt(np.maximum(squares - np.square(means), np.float32(0)))

    def _centred(self, spectrum: Floats, side: int) -> Floats:
        """Shift the picture so that coarser samples fall on the middle of their areas; returns flat rows."""
        if side == self.side:
            return spectrum.reshape(side, -1)
        turned = spectrum.view(np.complex64)[:, :, 0] * _turns(self.side, (self.side / side - 1) / 2)
        return turned.view(np.float32)


def frequencies(side: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(side, side) grids of vertical and horizontal frequency in cycles per pixel, in FFT order."""
    line = np.fft.fftfreq(side)
    return np.broadcast_to(line[:, None], (side, side)), np.broadcast_to(line[None, :], (side, side))


@lru_cache(maxsize=16)
def _turns(side: int, shift: float) -> npt.NDArray[np.complex64]:
    """The factor of a spectrum that shifts its picture by this many pixels, up and to the left."""
    v, u = frequencies(side)
    return np.asarray(np.exp(2j * np.pi * shift * (u + v)), dtype=np.complex64)


@lru_cache(maxsize=64)
def _shares(side: int, samples: int, padding: int, blocks: int) -> Floats:
    """(blocks, samples): how much of each block a sample covers, along one edge of the grid; rows sum to 1."""
    block_edges = np.linspace(padding, side - padding, blocks + 1)[:, None]
    sample_edges = np.linspace(0, side, samples + 1)[None, :]
    ends = np.minimum(block_edges[1:], sample_edges[:, 1:])
    starts = np.maximum(block_edges[:-1], sample_edges[:, :-1])
    return np.asarray(np.maximum(ends - starts, 0) / (side - 2 * padding) * blocks, dtype=np.float32)


def _window(transfer: npt.NDArray[np.float64], smallest: int) -> Window:
    """The smallest power of two, from `smallest` up, that holds the filter; else the whole grid."""
    side = len(transfer)
    energy = np.square(transfer)
    size = 1 << (smallest - 1).bit_length()
    top = left = 0
    kept = transfer
    while size < side:
        top, left = _densest(energy.sum(axis=1), size), _densest(energy.sum(axis=0), size)
        inside = np.ix_((top + np.arange(size)) % side, (left + np.arange(size)) % side)
        if energy.sum() - energy[inside].sum() <= _LOST * energy.sum():
            kept = transfer[inside]
            break
        size *= 2
        top = left = 0
    # the inverse transform does not divide by the number of samples, so the gains do
    gains = np.repeat((kept / side**2)[:, :, None], 2, axis=2).astype(np.float32)
    return Window(top, left, np.ascontiguousarray(gains))


def _densest(energy: npt.NDArray[np.float64], length: int) -> int:
    """The start of the circular run of `length` with the most energy."""
    runs = np.cumsum(np.r_[0.0, energy, energy[: length - 1]])
    return int(np.argmax(runs[length:] - runs[:-length]))


@njit(cache=True)
def _filter(spectrum: Any, gains: Any, top: int, left: int, product: Any) -> None:
    side = spectrum.shape[0]
    width = gains.shape[1]
    before_wrap = min(width, 2 * (side - left))
    for y in range(gains.shape[0]):
        row = spectrum[(top + y) % side]
        _multiply(row[2 * left : 2 * left + before_wrap], gains[y, :before_wrap], product[y, :before_wrap])
        _multiply(row[: width - before_wrap], gains[y, before_wrap:], product[y, before_wrap:])


# the loops below run over flat arrays from 0 up, otherwise the compiler uses no vector instructions


@njit(cache=True)
def _multiply(source: Any, gain: Any, product: Any) -> None:
    for x in range(len(product)):
        product[x] = source[x] * gain[x]


@njit(cache=True)
def _magnitudes(response: Any, magnitude: Any) -> None:
    for x in range(len(magnitude)):
        magnitude[x] = np.sqrt(response[2 * x] * response[2 * x] + response[2 * x + 1] * response[2 * x + 1])


@njit(cache=True)
def _squares(response: Any, square: Any) -> None:
    for x in range(len(square)):
        square[x] = response[2 * x] * response[2 * x] + response[2 * x + 1] * response[2 * x + 1]
