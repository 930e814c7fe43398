"""Weighted sums of all model scores: the baselines of the boosted rankers.

Mean fusion, the best single model, ridge and logistic stacking become a plan of one step over all models.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from mediarank.evaluation.metrics import average_precision
from mediarank.learners.boosting.plan import Plan
from mediarank.learners.boosting.rankboost import require_scores
from mediarank.types import Doubles, Floats


def balanced_weights(relevant: npt.NDArray[np.bool_]) -> Doubles:
    """Example weights that give both classes the same total; they sum to the number of examples."""
    positives = relevant.sum()
    return np.asarray(len(relevant) / 2 / np.where(relevant, positives, len(relevant) - positives))


def ridge_logistic(
    X: npt.NDArray[Any],
    relevant: npt.NDArray[np.bool_],
    strength: float,
    start: Doubles | None = None,
) -> Doubles:
    """Weights (models + 1,), the intercept last, of a class-balanced logistic regression.

    Minimises `C Σ_i w_i log(1 + exp(−y_i z_i)) + ½ ‖weights‖²`, C being `strength`, the intercept free: what
    scikit-learn's LogisticRegression(C, class_weight="balanced") minimises, by Newton's method, which takes a
    few iterations for a hundred models and a warm start.
    """
    design = np.column_stack([np.asarray(X, dtype=np.float64), np.ones(len(X))])
    share = strength * balanced_weights(relevant)
    penalty = np.ones(design.shape[1])
    penalty[-1] = 0.0
    target = relevant.astype(np.float64)
    beta = np.zeros(design.shape[1]) if start is None else start.copy()

    def loss(candidate: Doubles) -> float:
        z = design @ candidate
        return float(share @ (np.logaddexp(0.0, z) - target * z) + 0.5 * penalty @ candidate**2)

    current = loss(beta)
    for _ in range(50):
        p = expit(design @ beta)
        gradient = design.T @ (share * (p - target)) + penalty * beta
        hessian = (design * (share * p * (1 - p))[:, None]).T @ design + np.diag(penalty)
        hessian[-1, -1] += 1e-9
        direction = np.linalg.solve(hessian, -gradient)
        decrease = gradient @ direction
        if decrease > -1e-8:  # about twice the distance of the loss to its minimum
            break
        length = 1.0
        while length > 1e-6 and loss(beta + length * direction) > current + 1e-4 * length * decrease:
            length /= 2
        beta = beta + length * direction
        current = loss(beta)
    return beta


@dataclass
class MeanFusion:
    """The mean of all models."""

    plan_: Plan = field(init=False, repr=False)

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> MeanFusion:
        models = np.asarray(X).shape[1]
        self.plan_ = Plan.of_steps([dict.fromkeys(range(models), 1.0 / models)])
        return self

    def predict(self, X: Floats) -> Doubles:
        return self.plan_.score(X)


@dataclass
class BestSingle:
    """The model with the highest average precision; among equals the first."""

    plan_: Plan = field(init=False, repr=False)

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> BestSingle:
        scores, relevant = require_scores(X, y)
        precisions = [average_precision(relevant, column) for column in scores.T]
        self.plan_ = Plan.of_steps([{int(np.argmax(precisions)): 1.0}])
        return self

    def predict(self, X: Floats) -> Doubles:
        return self.plan_.score(X)


@dataclass
class RidgeStacking:
    """Least squares on ±1 with class-balanced weights that sum to 1; `strength` penalises all but the intercept."""

    strength: float = 0.03
    plan_: Plan = field(init=False, repr=False)

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> RidgeStacking:
        scores, relevant = require_scores(X, y)
        share = balanced_weights(relevant) / len(relevant)
        design = scores.astype(np.float64)
        target = np.where(relevant, 1.0, -1.0)
        centred = design - share @ design
        gram = (centred * share[:, None]).T @ centred + self.strength * np.eye(design.shape[1])
        weights = np.linalg.solve(gram, (centred * share[:, None]).T @ (target - share @ target))
        self.plan_ = Plan.of_steps([dict(enumerate(weights.tolist()))])
        return self

    def predict(self, X: Floats) -> Doubles:
        return self.plan_.score(X)


@dataclass
class LogisticStacking:
    """`ridge_logistic` over all models."""

    strength: float = 0.03
    plan_: Plan = field(init=False, repr=False)

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> LogisticStacking:
        scores, relevant = require_scores(X, y)
        weights = ridge_logistic(scores, relevant, self.strength)
        self.plan_ = Plan.of_steps([dict(enumerate(weights[:-1].tolist()))], offsets=[weights[-1]])
        return self

    def predict(self, X: Floats) -> Doubles:
        return self.plan_.score(X)
