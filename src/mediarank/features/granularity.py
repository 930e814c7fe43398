"""The regions of a picture that are described: the whole, a grid, bands, the centre, a pyramid.

A region is a box in fractions of the picture, so the same table serves pictures of any size: `cut` takes the pixels
of a region (for families that describe areas), `inside` says which places are in it (for families of points).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

import numpy as np
import numpy.typing as npt

Granularity = Literal[
    "global", "centre", "2x2", "3x3", "4x4", "thirds", "columns", "quadrants_centre", "global_thirds", "pyramid"
]
Pixels = TypeVar("Pixels", bound=npt.NDArray[Any])


@dataclass(frozen=True)
class Region:
    """A box: top, left, bottom, right as fractions of height and width; `prefix` goes before dimension names."""

    prefix: str
    top: float = 0.0
    left: float = 0.0
    bottom: float = 1.0
    right: float = 1.0


def _grid(rows: int, columns: int) -> tuple[Region, ...]:
    return tuple(
        Region(f"{rows}x{columns}.{r}.{c}/", r / rows, c / columns, (r + 1) / rows, (c + 1) / columns)
        for r in range(rows)
        for c in range(columns)
    )


_WHOLE: Final = (Region(""),)
_CENTRE: Final = (Region("centre/", 0.25, 0.25, 0.75, 0.75),)

REGIONS: Final[dict[Granularity, tuple[Region, ...]]] = {
    "global": _WHOLE,
    "centre": _CENTRE,
    "2x2": _grid(2, 2),
    "3x3": _grid(3, 3),
    "4x4": _grid(4, 4),
    "thirds": _grid(3, 1),
    "columns": _grid(1, 3),
    "quadrants_centre": _grid(2, 2) + _CENTRE,
    "global_thirds": _WHOLE + _grid(3, 1),
    "pyramid": _WHOLE + _grid(2, 2) + _grid(4, 4),
}
"""`thirds` are horizontal bands (sky, middle, ground), `columns` vertical ones."""


def cut(picture: Pixels, region: Region) -> Pixels:
    """The region's pixels, contiguous; at least one pixel, even of a tiny picture."""
    rows = _span(picture.shape[0], region.top, region.bottom)
    columns = _span(picture.shape[1], region.left, region.right)
    return np.ascontiguousarray(picture[rows, columns])  # type: ignore[return-value]


def inside(places: npt.NDArray[np.float32], region: Region) -> npt.NDArray[np.bool_]:
    """Which of the (n, 2) places, (down, across) in [0, 1), fall into the region."""
    down, across = places[:, 0], places[:, 1]
    vertical = (down >= np.float32(region.top)) & (down < np.float32(region.bottom))
    horizontal = (across >= np.float32(region.left)) & (across < np.float32(region.right))
    return np.asarray(vertical & horizontal, dtype=np.bool_)


def _span(length: int, start: float, stop: float) -> slice:
    first = min(int(length * start + 1e-9), length - 1)
    return slice(first, max(first + 1, int(length * stop + 1e-9)))
