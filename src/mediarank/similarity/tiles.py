"""Fill a matrix of pairwise values tile by tile on all cores; the bytes do not depend on the number of cores.

The plane of pairs is cut into tiles of a fixed side; threads take whole tiles, so each value is computed by the same
instructions in the same order whatever the number of threads. Within one set of items only the tiles on and above
the diagonal are computed and the others are their mirror image.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from mediarank.fanout import on_threads
from mediarank.types import DataError

Matrix = npt.NDArray[np.floating[Any]]

SIDE: Final = 192
"""Rows and columns of a tile: 192 rows of 512 float32 values fit the second-level cache."""


VECTORISED: Final = {"reassoc", "contract", "nsz", "nnan", "ninf"}
"""What numba may assume inside a tile (sums reorder, nothing is NaN or infinite), so that its loops are vectorised."""


class Tile(Protocol):
    def __call__(self, rows: Matrix, columns: Matrix, out: Matrix, /) -> None:
        """Write the values of `rows` (r, d) against `columns` (c, d) into `out` (r, c)."""


def as_rows(X: npt.ArrayLike, Z: npt.ArrayLike | None) -> tuple[Matrix, Matrix | None]:
    """Both sets as C-contiguous matrices of one floating type: float32 if all input is, else float64."""
    first = np.asarray(X)
    second = None if Z is None else np.asarray(Z)
    for rows in (first, second):
        if rows is not None and rows.ndim != 2:
            raise DataError(f"A kernel compares rows of matrices, but got an array of {rows.ndim} dimension(s).")
    if second is not None and first.shape[1] != second.shape[1]:
        raise DataError(
            f"Rows of {first.shape[1]} and {second.shape[1]} values can't be compared; both sets of items need the "
            "same feature family with the same parameters."
        )
    kinds = {first.dtype} | (set() if second is None else {second.dtype})
    kind = np.float32 if kinds == {np.dtype(np.float32)} else np.float64
    return np.ascontiguousarray(first, kind), None if second is None else np.ascontiguousarray(second, kind)


def fill(tile: Tile, X: Matrix, Z: Matrix | None, side: int = SIDE) -> Matrix:
    """The (len(X), len(Z)) matrix of pairwise values, or the symmetric (len(X), len(X)) one when `Z` is None."""
    columns = X if Z is None else Z
    out = np.empty((len(X), len(columns)), dtype=X.dtype)
    tops = range(0, len(X), side)
    corners = [(top, left) for top in tops for left in range(top if Z is None else 0, len(columns), side)]

    def compute(corner: tuple[int, int]) -> None:
        rows, cols = slice(corner[0], corner[0] + side), slice(corner[1], corner[1] + side)
        tile(X[rows], columns[cols], out[rows, cols])
        if Z is None and corner[0] != corner[1]:
            out[cols, rows] = out[rows, cols].T

    on_threads(compute, corners)
    return out
