"""Every feature family by the name that params.yaml calls it; registering one buys it the whole battery of checks."""

from __future__ import annotations

from typing import Final

from mediarank.features.base import Extractor, LocalExtractor
from mediarank.features.colour_histogram import HsvHistogram, LabHistogram, RgbHistogram
from mediarank.features.hog import Hog

EXTRACTORS: Final[dict[str, type[Extractor] | type[LocalExtractor]]] = {
    "lab_histogram": LabHistogram,
    "rgb_histogram": RgbHistogram,
    "hsv_histogram": HsvHistogram,
    "hog": Hog,
}
