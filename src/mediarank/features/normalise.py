"""Normalise histograms. Returns a float32 copy; a vector of zeros stays zero."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mediarank.types import Floats

Normalisation = Literal["none", "l1", "sqrt", "l2", "l2hys"]


def normalised(values: npt.NDArray[Any], how: Normalisation) -> Floats:
    """Scale each row (last axis) of non-negative `values`.

    l1 : entries sum to 1
    sqrt : square roots of the l1 entries, of length 1, so that a dot product is the Bhattacharyya coefficient
    l2 : length 1
    l2hys : length 1, entries clipped at 0.2, length 1 again (Lowe 2004)
    """
    x = np.asarray(values, dtype=np.float64)
    if how == "l1":
        x = _divided(x, x.sum(axis=-1, keepdims=True))
    elif how == "sqrt":
        x = np.sqrt(_divided(x, x.sum(axis=-1, keepdims=True)))
    elif how == "l2":
        x = _divided(x, _length(x))
    elif how == "l2hys":
        x = np.minimum(_divided(x, _length(x)), 0.2)
        x = _divided(x, _length(x))
    return x.astype(np.float32)


def _length(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(np.sqrt(np.square(x).sum(axis=-1, keepdims=True)))


def _divided(x: npt.NDArray[np.float64], by: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.divide(x, by, out=np.zeros_like(x), where=by > 0)
