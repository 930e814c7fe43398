"""The edge-direction histogram (Jain and Vailaya 1996): directions of edges, and the share of pixels without one.

Edges are Canny's; an edge pixel counts for the direction of its Sobel gradient, shared between the two nearest bins,
and the last bin counts the other pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import cv2
import numpy as np
from pydantic import Field

from mediarank.features.base import Count, ImageExtractor, Picture, Positive
from mediarank.features.pixels import grey
from mediarank.types import ConfigError, Floats


@dataclass(frozen=True)
class EdgeDirection(ImageExtractor):
    """The edge-direction histogram.

    bins : over the full circle, the first around the gradient that points right, then clockwise
    low, high : Canny's thresholds on the gradient, |dx| + |dy| by 3 x 3 Sobel
    """

    bins: Annotated[Count, Field(ge=2)] = 36
    low: Positive = 60.0
    high: Positive = 150.0

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ConfigError(f"Canny's low threshold ({self.low}) must not be above the high one ({self.high}).")

    def region_names(self) -> tuple[str, ...]:
        return (*(f"direction{b}" for b in range(self.bins)), "no edge")

    def extract_region(self, picture: Picture) -> Floats:
        levels = grey(picture)
        dx = cv2.Sobel(levels, cv2.CV_16S, 1, 0, borderType=cv2.BORDER_REPLICATE)
        dy = cv2.Sobel(levels, cv2.CV_16S, 0, 1, borderType=cv2.BORDER_REPLICATE)
        edges = cv2.Canny(dx, dy, self.low, self.high) > 0
        angle = np.arctan2(dy[edges].astype(np.float64), dx[edges].astype(np.float64))
        position = np.round(angle / (2 * np.pi) * self.bins, 9) % self.bins  # rounded: 0 and 2π are one direction
        lower = np.floor(position).astype(np.int64)
        share = position - lower
        counts = np.bincount(lower % self.bins, weights=1 - share, minlength=self.bins)
        counts += np.bincount((lower + 1) % self.bins, weights=share, minlength=self.bins)
        return (np.append(counts, levels.size - len(angle)) / levels.size).astype(np.float32)
