"""Nearness in a space where pictures and words agree: regularised kernel CCA (after Ballan et al. 2014).

With the kernel of the pictures on one side and 0/1 words on the other, the projections of kernel CCA are the words that
a kernel ridge regression predicts, whitened by the words' covariance. Images are compared there by their cosine. A
labelled image is placed by a regression that was fitted without it; with its own words it would be a perfect example
of them, unlike any new image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mediarank.base_models.kernel_ridge import fit_ridge
from mediarank.similarity.distance_stack import weighted_similarity
from mediarank.similarity.kernels import linear
from mediarank.types import Floats

PENALTY: Final = 0.1
"""λ of the regression, where an image's kernel with itself is 1; the result hardly depends on it."""
RIDGE: Final = 0.01
"""What is added to the words' covariance: a word in 1 of 100 images has about this variance."""


@dataclass(frozen=True, eq=False)
class SemanticSpace:
    """A ranker of neighbours.

    weights (types,), sharpness (1,) : of the distances in the kernel `exp(−sharpness Σ_k weights_k d_k)`
    coefficients (images, dimensions), offset (dimensions,) : of a new image's place, from its kernel with the images
    points (images, dimensions) : unit vectors of the labelled images
    """

    weights: Floats
    sharpness: Floats
    coefficients: Floats
    offset: Floats
    points: Floats

    def used(self) -> npt.NDArray[np.bool_]:
        """Which types it uses."""
        return np.asarray(self.weights != 0)

    def only(self, types: Sequence[int]) -> SemanticSpace:
        """The same for a stack of some types."""
        return replace(self, weights=self.weights[list(types)])

    def similarity(self, stack: Floats) -> Floats:
        kernel = np.exp(self.sharpness * weighted_similarity(stack, self.weights)).astype(np.float64)
        places = _unit(linear(kernel, self.coefficients.T) - self.offset)
        return linear(places.astype(np.float32), self.points).astype(np.float32)

    def of_known(self, rows: npt.NDArray[np.intp]) -> Floats:
        """Similarity of labelled images, as placed without themselves, to all of them."""
        return linear(self.points[rows], self.points).astype(np.float32)


def fit_semantic_space(
    near: Floats, asked: npt.NDArray[np.intp], words: Floats, weights: Floats, sharpness: float, single: bool
) -> SemanticSpace:
    """Learn a space.

    near (queries, images) : weighted sums of distances times −1; −inf from an image to itself
    asked (queries,) : positions of the queries among the images, which the regression learns from
    words (images, words) : 0 and 1
    single : in single precision, where settings are only compared
    """
    own = words[asked]
    kernel = np.exp(sharpness * near)
    among = kernel[:, asked]
    np.fill_diagonal(among, 1.0)
    coefficients, left_out = fit_ridge(among, own, PENALTY, single=single)
    predicted = linear(kernel.T.astype(np.float64), coefficients.T)
    predicted[asked] = left_out
    values, vectors = np.linalg.eigh(np.cov(own.T.astype(np.float64), bias=True).reshape(own.shape[1], own.shape[1]))
    whiten = (vectors / np.sqrt(np.maximum(values, 0) + RIDGE)) @ vectors.T
    centre = left_out.mean(axis=0, dtype=np.float64)
    placed = np.zeros((len(words), own.shape[1]))
    placed[asked] = linear(coefficients.astype(np.float64), whiten.T)
    return SemanticSpace(
        weights,
        np.array([sharpness], dtype=np.float32),
        placed.astype(np.float32),
        (centre @ whiten).astype(np.float32),
        _unit(linear(predicted - centre, whiten.T)).astype(np.float32),
    )


def _unit(rows: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.floating[Any]]:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))
