"""A kernel fitted on training items: γ from their distances, the scale from their spread, and the items themselves.

Trace normalisation of the centred kernel makes kernels of different features comparable: ranking functions only see
differences of items, so the part of a kernel that all items share must not count for its size. Everything is
learned from training items and then kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mediarank.similarity.kernels import DISTANCES, KERNELS, decay, gamma_of_mean
from mediarank.similarity.tiles import Matrix
from mediarank.types import ConfigError


@dataclass(frozen=True, eq=False)
class FittedKernel:
    """A kernel with its training items.

    anchors (n, d) : training items, or landmarks
    gamma : for kernels that decay, otherwise None
    """

    kernel: str
    gamma: float | None
    scale: float
    anchors: Matrix

    def between(self, Z: Matrix, anchors: Matrix | None = None) -> Matrix:
        """Normalised values (m, n) of rows Z (m, d) with the anchors, or with others."""
        params = {} if self.gamma is None else {"gamma": self.gamma}
        values = KERNELS[self.kernel](Z, self.anchors if anchors is None else anchors, **params)
        values /= values.dtype.type(self.scale)
        return values

    def anchored_at(self, anchors: Matrix) -> FittedKernel:
        return FittedKernel(self.kernel, self.gamma, self.scale, anchors)


def fit_kernel(kernel: str, X: Matrix, gamma_factors: tuple[float, ...] = (1.0,)) -> list[tuple[FittedKernel, Matrix]]:
    """The kernel on training rows X (n, d) with its normalised Gram matrix, once for each γ: factor / mean distance.

    Distances are computed once. A kernel without γ gives one result.
    """
    if kernel not in KERNELS:
        raise ConfigError(f"There is no kernel {kernel!r}; choose one of {', '.join(KERNELS)}.")
    if kernel not in DISTANCES:
        return [_normalised(kernel, None, KERNELS[kernel](X), X)]
    distances = DISTANCES[kernel](X)
    gammas = [factor * gamma_of_mean(distances) for factor in gamma_factors]
    return [_normalised(kernel, gamma, decay(distances, gamma), X) for gamma in gammas]


def _normalised(kernel: str, gamma: float | None, gram: Matrix, X: Matrix) -> tuple[FittedKernel, Matrix]:
    spread = float(np.trace(gram, dtype=np.float64) / len(gram) - gram.mean(dtype=np.float64))
    # A kernel that is equal for all pairs of items is left as it is: it contributes nothing at any scale.
    scale = spread if spread > 1e-9 * float(np.abs(gram).max(initial=0.0)) else 1.0
    gram /= gram.dtype.type(scale)
    return FittedKernel(kernel, gamma, scale, X), gram
