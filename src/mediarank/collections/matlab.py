"""Read MATLAB's .mat files as plain lists and arrays; MATLAB nests cells and stores vectors and text as matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mediarank.types import DataError


def read_mat(path: Path, *wanted: str) -> dict[str, Any]:
    """Variables of a .mat file; those in `wanted` are required. Nothing in it is executed."""
    from scipy.io import loadmat  # slow to import, and few collections need it

    if not path.is_file():
        raise DataError(f"{path} is missing; see docs/collections.md for what this source needs.")
    try:
        variables = loadmat(path, appendmat=False)
    except NotImplementedError:
        raise DataError(f"{path} is in MATLAB's format 7.3; save it again with save(..., '-v7').") from None
    except Exception as error:  # scipy may raise any exception on a damaged file
        raise DataError(f"{path} can't be read as a .mat file ({error}); fetch it again.") from error
    missing = [name for name in wanted if name not in variables]
    if missing:
        found = ", ".join(sorted(name for name in variables if not name.startswith("__"))) or "nothing"
        raise DataError(f"{path} lacks {', '.join(missing)}; it holds {found}.")
    return dict(variables)


def texts(value: Any) -> list[str]:
    """Every text in a cell array, a character matrix or a single text, in order, without the padding."""
    array = np.asarray(value)
    if array.dtype == object:
        return [text for cell in array.ravel(order="F") for text in texts(cell)]
    if array.dtype.kind in "US":
        return [str(text).strip() for text in array.ravel(order="F")]
    raise DataError(f"Expected text in a .mat file, found numbers of type {array.dtype}.")


def cells(value: Any) -> list[npt.NDArray[np.float64]]:
    """The numeric matrices in a cell array, in order; a bare matrix is one cell. An empty cell stays empty."""
    array = np.asarray(value)
    if array.dtype == object:
        return [matrix(cell) for cell in array.ravel(order="F")]
    return [matrix(array)]


def matrix(value: Any) -> npt.NDArray[np.float64]:
    """A numeric matrix, whether it is wrapped in cells or not."""
    array = np.asarray(value)
    while array.dtype == object and array.size == 1:
        array = np.asarray(array.item())
    if array.dtype == object or array.dtype.kind not in "biuf":
        raise DataError(f"Expected a matrix of numbers in a .mat file, found {array.dtype} of shape {array.shape}.")
    return np.atleast_2d(np.asarray(array, dtype=np.float64))
