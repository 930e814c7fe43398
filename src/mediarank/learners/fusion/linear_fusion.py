"""Linear fusion of base scores: the base class of all fusions, and the plain ones (paper 002, section 3).

A fusion learns from two sets of examples: the source, which base models were trained on and have scored, and the
target, which they have not seen. Leading axes of arrays are repeats, which are learned together.
`fusion_methods.py` says which scores of the source a fusion expects, held-in or out-of-fold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field
from scipy.special import logit

from mediarank.learners.fusion.weighted_ridge import weighted_ridge, with_bias
from mediarank.types import DataError, Doubles

Marks = npt.NDArray[np.bool_]
Strength = Annotated[float, Field(gt=0)]
Scale = Literal["probability", "log_odds"]
SUREST: Final = 1e-4
"""For log-odds, probabilities are kept at least this far from 0 and 1, so that no single classifier decides alone."""


@dataclass
class Fusion(ABC):
    """One linear function of a clip's scores, higher for clips that are more likely positive.

    scale : of the scores as the function takes them: as they are, or their log-odds

    After `fit`: `weights_` (..., classifiers) and `bias_` (...), for scores as `prepared` gives them. It is not a
    scikit-learn estimator, because `fit` takes two sets of examples.
    """

    times_scored: ClassVar[int] = 1
    """Number of columns of each classifier in the source."""
    scale: Scale = "probability"
    weights_: Doubles = field(init=False, repr=False)
    bias_: Doubles = field(init=False, repr=False)

    def fit(
        self,
        source_scores: npt.ArrayLike,
        source_y: npt.ArrayLike,
        target_scores: npt.ArrayLike,
        target_y: npt.ArrayLike,
    ) -> Self:
        """Learn from scores (..., n, classifiers) and labels (..., n).

        If all examples are of one class, nothing can be learned, and all classifiers get the same weight.
        """
        source, source_marks = require_examples(source_scores, source_y, "source")
        target, target_marks = require_examples(target_scores, target_y, "target")
        if source.shape[-1] != self.times_scored * target.shape[-1] or source.shape[:-2] != target.shape[:-2]:
            raise DataError(
                f"Source scores {source.shape} and target scores {target.shape} need the same classifiers and repeats"
                f"{'' if self.times_scored == 1 else ', and the source two columns per classifier'}."
            )
        learned = self.learn(self.prepared(source), source_marks, self.prepared(target), target_marks)
        marks = self.learned_from(source_marks, target_marks)
        lone = marks.all(axis=-1, keepdims=True) | ~marks.any(axis=-1, keepdims=True)
        return self.with_weights(np.where(lone, equal_weights(target.shape[-1]), learned))

    def with_weights(self, learned: Doubles) -> Self:
        """The fusion of these weights (..., classifiers + 1), the bias last, as they were learned before."""
        self.weights_, self.bias_ = learned[..., :-1], learned[..., -1]
        return self

    @abstractmethod
    def learn(self, source: Doubles, source_y: Marks, target: Doubles, target_y: Marks) -> Doubles:
        """(..., classifiers + 1) weights, the bias last."""

    def learned_from(self, source_y: Marks, target_y: Marks) -> Marks:
        """The labels that weights depend on."""
        return np.concatenate([source_y, target_y], axis=-1)

    def prepared(self, scores: Doubles) -> Doubles:
        """Scores as the linear function takes them."""
        if self.scale == "probability":
            return scores
        if not are_probabilities(scores):
            raise DataError(
                f"Log-odds need probabilities, but the scores range from {scores.min():.3g} to {scores.max():.3g}; "
                "calibrate them, or choose another fusion."
            )
        return np.asarray(logit(np.clip(scores, SUREST, 1 - SUREST)))

    def predict(self, scores: npt.ArrayLike) -> Doubles:
        """(..., n) fused scores of clips (n, classifiers), for every repeat."""
        numbers = require_scores(scores, "scores")
        if numbers.shape[-1] != self.weights_.shape[-1]:
            raise DataError(
                f"This fusion was fitted on {self.weights_.shape[-1]} classifiers and can't fuse {numbers.shape[-1]}."
            )
        return self.weights_ @ np.swapaxes(self.prepared(numbers), -1, -2) + self.bias_[..., None]


@dataclass
class Average(Fusion):
    """The mean of the scores; nothing is learned."""

    def learn(self, source: Doubles, source_y: Marks, target: Doubles, target_y: Marks) -> Doubles:
        return np.broadcast_to(equal_weights(source.shape[-1]), (*source.shape[:-2], source.shape[-1] + 1))


@dataclass
class MetaOnly(Fusion):
    """Baseline 1: ridge on the target alone."""

    strength: Strength = 0.01

    def learn(self, source: Doubles, source_y: Marks, target: Doubles, target_y: Marks) -> Doubles:
        return _equal_cost_ridge(target, target_y, self.strength)

    def learned_from(self, source_y: Marks, target_y: Marks) -> Marks:
        return target_y


@dataclass
class Concatenation(Fusion):
    """Ridge on source and target together: baseline 2 on held-in scores, plain stacking on out-of-fold scores."""

    strength: Strength = 0.01

    def learn(self, source: Doubles, source_y: Marks, target: Doubles, target_y: Marks) -> Doubles:
        both, marks = np.concatenate([source, target], axis=-2), np.concatenate([source_y, target_y], axis=-1)
        return _equal_cost_ridge(both, marks, self.strength)


def are_probabilities(scores: Doubles) -> bool:
    return bool(scores.min() >= 0 and scores.max() <= 1)


def equal_weights(classifiers: int) -> Doubles:
    """1 / classifiers each, and no bias."""
    return np.append(np.full(classifiers, 1.0 / classifiers), 0.0)


def require_scores(scores: npt.ArrayLike, what: str) -> Doubles:
    numbers = np.asarray(scores, dtype=np.float64)
    if numbers.ndim < 2 or 0 in numbers.shape:
        raise DataError(
            f"The {what} must be a matrix with one row per clip and one column per classifier, not {numbers.shape}."
        )
    if not np.isfinite(numbers).all():
        raise DataError(f"The {what} must be finite; where a classifier has no score for a clip, use its mean score.")
    return numbers


def require_examples(scores: npt.ArrayLike, labels: npt.ArrayLike, what: str) -> tuple[Doubles, Marks]:
    numbers, marks = require_scores(scores, f"{what} scores"), np.asarray(labels)
    if marks.shape != numbers.shape[:-1]:
        raise DataError(f"The {what} has scores {numbers.shape} and labels {marks.shape}; give one label per row.")
    if not np.isin(marks, (0, 1)).all():
        raise DataError(f"The labels of the {what} must be 0 or 1.")
    return numbers, marks.astype(bool)


def _equal_cost_ridge(scores: Doubles, marks: Marks, strength: float) -> Doubles:
    costs = np.full(marks.shape, 1.0 / marks.shape[-1])
    return weighted_ridge(with_bias(scores), marks.astype(np.float64), costs, strength)
