"""Weights of distances with which a kernel ridge regression predicts the words of left-out images best.

The kernel is `exp(−Σ_k w_k d_k)`. Minimised, over w ≥ 0 and the regression's λ together, is the squared error of every
image's words when the image is left out, each word divided by how often it occurs, so that rare words count as much as
frequent ones. Error and gradient come from one inverse, like the leave-one-out scores of `kernel_ridge.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from mediarank.types import DataError, Doubles, Floats

PENALTIES: Final = (1e-3, 1.0)
"""Where λ may lie."""
FAILED: Final = 1e6
"""The error of weights whose kernel is not positive definite, as not all distances make one that is."""


@dataclass(frozen=True, eq=False)
class RidgeWeights:
    """weights (types,) : of 0 and above; penalty : λ; errors : of every step that was tried"""

    weights: Doubles
    penalty: float
    errors: list[float]


def fit_ridge_weights(
    distances: Floats, words: Floats, start: Doubles, penalty: float = 0.03, iterations: int = 30
) -> RidgeWeights:
    """Learn the weights of types.

    distances (types, images, images) : among some training images; words (images, words) : 0 and 1
    start (types,), penalty : the weights and λ to begin with
    iterations : of L-BFGS, at most
    """
    if distances.shape != (len(start), len(words), len(words)):
        raise DataError(
            f"Distances {distances.shape} don't fit {len(start)} weights and {len(words)} images with words."
        )
    known = words[:, words.sum(axis=0) > 1].astype(np.float32)  # no other image can tell a word that occurs once
    errors: list[float] = []
    if not known.size:
        return RidgeWeights(start, penalty, errors)

    def objective(parameters: Doubles) -> tuple[float, Doubles]:
        error, gradient = left_out_error(distances, known, parameters[:-1], float(np.exp(parameters[-1])))
        errors.append(error)
        return error, gradient

    bounds: list[tuple[float | None, float | None]] = [(0.0, None)] * len(start)
    bounds.append((float(np.log(PENALTIES[0])), float(np.log(PENALTIES[1]))))
    first = np.append(start, np.log(penalty))
    with threadpool_limits(1):  # the same digits on any number of cores
        found = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": iterations})
    return RidgeWeights(found.x[:-1], float(np.exp(found.x[-1])), errors)


def left_out_error(distances: Floats, words: Floats, weights: Doubles, penalty: float) -> tuple[float, Doubles]:
    """The weighted leave-one-out error, and its gradient by the weights and by log λ (types + 1,).

    With H = (K + λI)⁻¹ and a = HY, the error of image i and word w is e_iw = a_iw / H_ii; a change dK changes a by
    −H dK a and H_ii by −(H dK H)_ii.
    """
    kernel: npt.NDArray[Any] = np.zeros(distances.shape[1:], np.float32)
    for weight, of_type in zip(weights, distances, strict=True):
        kernel -= np.float32(weight) * of_type
    np.exp(kernel, out=kernel)
    kernel = (kernel + kernel.T) / 2
    share = 1 / words.sum(axis=0) / words.shape[1]
    regularised = np.array(kernel, order="F")
    regularised[np.diag_indices_from(regularised)] += np.float32(penalty)
    factorise, solve, invert = lapack.get_lapack_funcs(("potrf", "potrs", "potri"), (regularised, words))
    factor, failed = factorise(regularised, lower=1, overwrite_a=1)
    if failed:
        return FAILED, np.zeros(len(weights) + 1)
    a, _ = solve(factor, words, lower=1)
    lower, _ = invert(factor, lower=1, overwrite_c=1)
    H = np.tril(lower)
    H += np.tril(H, -1).T
    own = np.diagonal(H).copy()
    e = a / own[:, None]
    pull = share * e
    error = float((pull * e).sum(dtype=np.float64))
    by_own = (pull * a).sum(axis=1) / own**2
    by_kernel = 2 * ((H * by_own) @ H - (H @ (pull / own[:, None])) @ a.T)
    along = by_kernel * kernel
    gradient = [-float(np.vdot(along, of_type)) for of_type in distances]
    return error, np.array([*gradient, penalty * float(np.trace(by_kernel))])
