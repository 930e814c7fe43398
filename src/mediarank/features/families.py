"""Every feature family by its name in params.yaml; the tests check each family listed here."""

from __future__ import annotations

from typing import Final

from mediarank.features.autocorrelogram import Autocorrelogram
from mediarank.features.base import Extractor, LocalExtractor
from mediarank.features.colour_histogram import Hsv, HsvHistogram, Lab, LabHistogram, Rgb, RgbHistogram
from mediarank.features.colour_moments import ColourMoments
from mediarank.features.edge_direction import EdgeDirection
from mediarank.features.flow import Flow
from mediarank.features.gabor import Gabor, GaborBank, GaborQ
from mediarank.features.gist import Gist
from mediarank.features.haar import Haar, HaarQ, HaarTexture
from mediarank.features.hog import Hog
from mediarank.features.hog3d import Hog3d
from mediarank.features.hue import Hue
from mediarank.features.lbp import Lbp
from mediarank.features.mfcc import Mfcc, MfccStatistics
from mediarank.features.network import Network
from mediarank.features.sift import Sift

EXTRACTORS: Final[dict[str, type[Extractor] | type[LocalExtractor]]] = {
    "lab_histogram": LabHistogram,
    "rgb_histogram": RgbHistogram,
    "hsv_histogram": HsvHistogram,
    "colour_moments": ColourMoments,
    "autocorrelogram": Autocorrelogram,
    "edge_direction": EdgeDirection,
    "haar_texture": HaarTexture,
    "hog": Hog,
    "lbp": Lbp,
    "gabor_bank": GaborBank,
    "gist": Gist,
    "mfcc": Mfcc,
    "mfcc_statistics": MfccStatistics,
    "hog3d": Hog3d,
    "flow": Flow,
    "sift": Sift,
    "hue": Hue,
    "network": Network,
    # JEC's seven (Makadia et al. 2008), under their own names
    "rgb": Rgb,
    "hsv": Hsv,
    "lab": Lab,
    "haar": Haar,
    "haarq": HaarQ,
    "gabor": Gabor,
    "gaborq": GaborQ,
}

JEC: Final = ("rgb", "hsv", "lab", "haar", "haarq", "gabor", "gaborq")
