"""Colour moments (Stricker and Orengo 1995): mean, spread and skew of each channel, nine numbers per region.

The skew is the cube root of the third central moment, so all three are on the scale of the channel, here [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mediarank.features.base import ImageExtractor, Picture
from mediarank.features.colour_space import SPACES, SpaceName
from mediarank.types import Floats


@dataclass(frozen=True)
class ColourMoments(ImageExtractor):
    """Mean, spread and skew of each channel.

    space : where the moments are taken; those of HSV's hue ignore that it is circular
    """

    space: SpaceName = "lab"

    def region_names(self) -> tuple[str, ...]:
        return tuple(f"{c}.{moment}" for c in SPACES[self.space].channels for moment in ("mean", "spread", "skew"))

    def extract_region(self, picture: Picture) -> Floats:
        pixels = SPACES[self.space].convert(picture).reshape(-1, 3)
        levels = np.arange(256) / 255.0
        moments = []
        for channel in range(3):
            # bytes take 256 values: count them once and take moments of the counts
            share = np.bincount(pixels[:, channel], minlength=256) / len(pixels)
            mean = share @ levels
            deviation = levels - mean
            moments += [mean, np.sqrt(share @ deviation**2), np.cbrt(share @ deviation**3)]
        return np.array(moments, dtype=np.float32)
