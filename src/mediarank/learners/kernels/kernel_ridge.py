"""Kernel ridge regression of all keywords at once, with the leave-one-out scores of every image.

One factorisation serves all words. The leave-one-out values follow from the diagonal of the inverse, without fitting
again: `y_i − a_i / [(K + λI)⁻¹]_ii`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from mediarank.types import DataError, Floats

TRIES: Final = 6


def fit_ridge(kernel: npt.ArrayLike, targets: npt.ArrayLike, penalty: float) -> tuple[Floats, Floats]:
    """(coefficients, left_out), both (images, words): a new image's scores are `k · coefficients`.

    kernel : (images, images), averaged with its transpose; targets : (images, words)
    penalty : λ; doubled until the kernel is positive definite with it, because not every distance gives such a kernel
    """
    for _ in range(TRIES):
        with suppress(np.linalg.LinAlgError):
            return _fit(kernel, targets, penalty)
        penalty *= 2
    raise DataError(f"The kernel is far from positive definite: even the penalty {penalty} does not help.")


def _fit(kernel: npt.ArrayLike, targets: npt.ArrayLike, penalty: float) -> tuple[Floats, Floats]:
    K, Y = np.array(kernel, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    if K.shape != (len(Y), len(Y)) or not penalty > 0:
        raise DataError(
            f"Ridge over {len(Y)} images needs a square kernel of that size and a penalty above 0, not a kernel "
            f"{K.shape} and the penalty {penalty}."
        )
    K += K.T.copy()
    K *= 0.5
    K[np.diag_indices_from(K)] += penalty
    with threadpool_limits(1, user_api="blas"):  # the same digits on any number of cores
        factor, failed = lapack.dpotrf(K, lower=1, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError
        coefficients, _ = lapack.dpotrs(factor, Y, lower=1)
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    left_out = Y - coefficients / np.diagonal(inverse)[:, None]
    return coefficients.astype(np.float32), left_out.astype(np.float32)
