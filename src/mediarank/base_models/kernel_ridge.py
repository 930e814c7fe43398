"""Kernel ridge regression of many targets at once, with the leave-one-out scores of every image.

One factorisation serves all words. The leave-one-out values follow from the diagonal of the inverse, without fitting
again: `y_i − a_i / [(K + λI)⁻¹]_ii`, and for a group of images left out together `y_G − ([(K + λI)⁻¹]_GG)⁻¹ a_G`.
An eigendecomposition would serve every λ, but costs far more than the three factorisations that a search needs.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from mediarank.types import DataError, Floats

TRIES: Final = 6


def fit_ridge(
    kernel: npt.ArrayLike,
    targets: npt.ArrayLike,
    penalty: float,
    groups: npt.NDArray[np.intp] | None = None,
    single: bool = False,
) -> tuple[Floats, Floats]:
    """(coefficients, left_out), both (images, words): a new image's scores are `k · coefficients`.

    kernel : (images, images), averaged with its transpose; targets : (images, words)
    penalty : λ; doubled until the kernel is positive definite with it, as not all distances make one that is
    groups : (images,) images of one group are left out together; by default each alone
    single : in single precision, for half the time, where settings are only compared
    """
    for _ in range(TRIES):
        with suppress(np.linalg.LinAlgError):
            return _fit(kernel, targets, penalty, groups, np.float32 if single else np.float64)
        penalty *= 2
    raise DataError(f"The kernel is far from positive definite: even the penalty {penalty} does not help.")


def _fit(
    kernel: npt.ArrayLike,
    targets: npt.ArrayLike,
    penalty: float,
    groups: npt.NDArray[np.intp] | None,
    dtype: type[np.float32] | type[np.float64],
) -> tuple[Floats, Floats]:
    K: npt.NDArray[Any] = np.array(kernel, dtype=dtype, order="F")
    Y: npt.NDArray[Any] = np.asarray(targets, dtype=dtype)
    if K.shape != (len(Y), len(Y)) or not penalty > 0:
        raise DataError(f"A kernel {K.shape} over {len(Y)} images with the penalty {penalty} can't be regressed on.")
    K += K.T.copy()
    K *= 0.5
    K[np.diag_indices_from(K)] += penalty
    factorise, solve, invert = lapack.get_lapack_funcs(("potrf", "potrs", "potri"), (K, Y))
    with threadpool_limits(1, user_api="blas"):  # the same digits on any number of cores
        factor, failed = factorise(K, lower=1, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError
        coefficients, _ = solve(factor, Y, lower=1)
        inverse, _ = invert(factor, lower=1, overwrite_c=1)
    left_out = Y - coefficients / np.diagonal(inverse)[:, None]
    for members in [] if groups is None else _several(groups):
        block = np.tril(inverse[np.ix_(members, members)])  # positions rise, so it is the lower triangle's
        block = block + np.tril(block, -1).T
        left_out[members] = Y[members] - np.linalg.solve(block, coefficients[members])
    return coefficients.astype(np.float32), left_out.astype(np.float32)


def _several(groups: npt.NDArray[np.intp]) -> list[npt.NDArray[np.intp]]:
    """The members of each group that has more than one, in rising order."""
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    return [part for part in parts if len(part) > 1]
