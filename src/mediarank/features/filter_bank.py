"""Banks of band-pass filters, applied in the frequency domain: shared by GIST and the Gabor families.

A filter is its transfer function on the FFT grid. One that passes only low frequencies is kept, and inverted, on a
smaller grid (128² -> 64² costs a sixth): its response is the same, sampled more coarsely, which block statistics
hardly see. `FilterBank` is made once a configuration; `spectrum`, then `responses`, give what each filter answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.types import Floats

_LOST = 1e-6
"""The share of a filter's energy that a smaller grid may cut off."""


@dataclass(frozen=True, eq=False)
class FilterBank:
    """
    side : of the square FFT grid
    transfers : per filter an (s, s) float32 transfer function in FFT order, s ≤ side
    """

    side: int
    transfers: tuple[Floats, ...]

    @classmethod
    def of(cls, transfers: npt.NDArray[np.float64], coarsest: int | None = None) -> FilterBank:
        """From full (n, side, side) functions; each moves to the coarsest grid, no coarser than asked, that holds it."""
        side = transfers.shape[1]
        return cls(side, tuple(_smallest(transfer, coarsest or side) for transfer in transfers))

    def spectrum(self, plane: Floats) -> Floats:
        """(side, side) float32 pixels -> (side, side, 2) real and imaginary parts."""
        return np.asarray(cv2.dft(plane, flags=cv2.DFT_COMPLEX_OUTPUT), dtype=np.float32)

    def responses(self, spectrum: Floats) -> Iterator[Floats]:
        """Each filter's complex response, (s, s, 2); valid until the next one is asked for."""
        buffers = {len(t): (np.empty((len(t), len(t), 2), np.float32),) * 2 for t in self.transfers}
        for transfer in self.transfers:
            product, response = buffers[len(transfer)]
            _filter(spectrum, transfer, np.float32(1.0 / self.side**2), product)
            yield cv2.dft(product, response, cv2.DFT_INVERSE)


def frequencies(side: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(side, side) grids of vertical and horizontal frequency in cycles a pixel, in FFT order."""
    line = np.fft.fftfreq(side)
    return np.broadcast_to(line[:, None], (side, side)), np.broadcast_to(line[None, :], (side, side))


def block_means(response: Floats, margin: float, blocks: int) -> tuple[npt.NDArray[np.float64], ...]:
    """Means of the magnitude and of its square in `blocks`² equal blocks, each (blocks, blocks).

    margin : the share of the side, at each edge, that is left out (it was padding)
    """
    side = len(response)
    edges = np.round(np.linspace(margin * side, (1 - margin) * side, blocks + 1)).astype(np.int64)
    means, squares = np.zeros((blocks, blocks)), np.zeros((blocks, blocks))
    _sum_blocks(response, edges, np.empty(side, np.float32), np.empty(side, np.float32), means, squares)
    area = np.outer(np.diff(edges), np.diff(edges))
    return means / area, squares / area


def _smallest(transfer: npt.NDArray[np.float64], coarsest: int) -> Floats:
    side = len(transfer)
    energy = np.square(transfer).sum()
    best = transfer
    while side % 2 == 0 and side // 2 >= coarsest:
        side //= 2
        rows = np.r_[: side // 2, len(transfer) - side // 2 : len(transfer)]
        smaller = transfer[np.ix_(rows, rows)]
        if energy - np.square(smaller).sum() > _LOST * energy:
            break
        best = smaller
    return np.ascontiguousarray(best, dtype=np.float32)


@njit(cache=True)
def _filter(spectrum: Any, transfer: Any, scale: Any, product: Any) -> None:
    side = transfer.shape[0]
    skipped = spectrum.shape[0] - side
    for y in range(side):
        v = y if y < side // 2 else y + skipped
        for x in range(side // 2):
            gain = transfer[y, x] * scale
            product[y, x, 0] = spectrum[v, x, 0] * gain
            product[y, x, 1] = spectrum[v, x, 1] * gain
        for x in range(side // 2, side):
            gain = transfer[y, x] * scale
            product[y, x, 0] = spectrum[v, x + skipped, 0] * gain
            product[y, x, 1] = spectrum[v, x + skipped, 1] * gain


@njit(cache=True)
def _sum_blocks(response: Any, edges: Any, line: Any, line_squared: Any, means: Any, squares: Any) -> None:
    # sums run down the columns first: those are independent, so the compiler may use vector instructions
    side = response.shape[1]
    for block in range(len(edges) - 1):
        line[:] = 0.0
        line_squared[:] = 0.0
        for y in range(edges[block], edges[block + 1]):
            for x in range(side):
                power = response[y, x, 0] * response[y, x, 0] + response[y, x, 1] * response[y, x, 1]
                line[x] += np.sqrt(power)
                line_squared[x] += power
        for column in range(len(edges) - 1):
            for x in range(edges[column], edges[column + 1]):
                means[block, column] += line[x]
                squares[block, column] += line_squared[x]
