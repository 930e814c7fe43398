"""Bags of words: how often each word of a codebook occurs among local descriptors, per region.

Hard assignment counts a descriptor for its nearest word; soft assignment shares it among its nearest words by a
Gaussian of the distance (van Gemert et al. 2008, "codeword uncertainty"), with the codebook's own spread as scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mediarank.features.base import Descriptors, Extractor, LocalExtractor, Modality, Pool, fingerprint
from mediarank.features.codebook import Codebook
from mediarank.features.granularity import REGIONS, inside
from mediarank.features.normalise import normalised
from mediarank.types import DataError, Floats

_BLOCK = 4096
"""Descriptors compared with the codebook at a time, so that memory is bounded for clips of any length."""


@dataclass(frozen=True, eq=False)
class BagOfWords(Extractor):
    """A local family with its codebook; it can be used like any other extractor."""

    local: LocalExtractor
    codebook: Codebook

    def __post_init__(self) -> None:
        expected = (self.local.words, len(self.local.descriptor_names()))
        if self.codebook.words.shape != expected:
            raise DataError(
                f"This codebook is {self.codebook.words.shape}, but {type(self.local).__name__} as configured needs "
                f"{expected}. Fit it again: run dvc repro."
            )

    @property
    def modality(self) -> Modality:  # type: ignore[override]
        return self.local.modality

    def names(self) -> tuple[str, ...]:
        return self.local.names()

    def pooling(self) -> Pool:
        return self.local.pooling()

    def identity(self) -> str:
        return fingerprint(type(self).__name__, self.version, self.local.identity(), self.codebook.digest())

    def extract(self, medium: Any) -> Floats:
        return self.encode(self.local.describe(medium))

    def encode(self, descriptors: Descriptors) -> Floats:
        """Count words in each region; a region without descriptors is all zeros."""
        words, shares = assign(
            descriptors.values, self.codebook, self.local.neighbours if self.local.assignment == "soft" else 1
        )
        counts = []
        for region in REGIONS[self.local.granularity]:
            within = inside(descriptors.places, region)
            counts.append(
                np.bincount(words[within].ravel(), weights=shares[within].ravel(), minlength=self.local.words)
            )
        return normalised(np.stack(counts), self.local.normalisation).ravel()


def assign(
    descriptors: Floats, codebook: Codebook, neighbours: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """The nearest words of each descriptor and its shares in them, each (n, neighbours); shares sum to 1."""
    neighbours = min(neighbours, len(codebook.words))
    words = np.zeros((len(descriptors), neighbours), dtype=np.intp)
    shares = np.zeros((len(descriptors), neighbours))
    lengths = np.square(codebook.words).sum(axis=1)
    for start in range(0, len(descriptors), _BLOCK):
        block = descriptors[start : start + _BLOCK] / codebook.scale
        # |x - w|² less |x|², which is the same for every word
        distances = lengths - 2.0 * (block @ codebook.words.T)
        if neighbours == 1:
            words[start : start + _BLOCK, 0] = distances.argmin(axis=1)
            shares[start : start + _BLOCK] = 1.0
            continue
        nearest = np.argpartition(distances, neighbours - 1, axis=1)[:, :neighbours]
        squared = np.take_along_axis(distances, nearest, axis=1).astype(np.float64)
        weights = np.exp((squared.min(axis=1, keepdims=True) - squared) / (2.0 * codebook.spread**2))
        words[start : start + _BLOCK] = nearest
        shares[start : start + _BLOCK] = weights / weights.sum(axis=1, keepdims=True)
    return words, shares
