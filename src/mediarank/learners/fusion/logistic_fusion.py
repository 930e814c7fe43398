"""Logistic regression over scores or, as it was meant, over their log-odds, shrunk towards equal weights.

The odds of independent classifiers multiply, so their logarithms add up: three classifiers that each find an event
rather likely are together almost certain, which a weighted sum of probabilities can't express.

The score that a training clip would have had as an unseen clip is not known, but there are two estimates: its equalised
held-in score, by the models that are fused, with the distribution of a few unseen clips; and its out-of-fold score, by
weaker models. Their errors have different causes, so `BlendedLogistic` learns from their mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import numpy as np
from pydantic import Field
from scipy.special import expit

from mediarank.learners.fusion.equalisation import equalise
from mediarank.learners.fusion.linear_fusion import Fusion, Marks, Scale, Strength
from mediarank.learners.fusion.weighted_ridge import with_bias
from mediarank.types import Doubles

PRIOR: Final = 0.5
"""The weight that each classifier is shrunk to: between 1, for independent classifiers, and 1/M, for equal ones."""
LOOSE: Final = 1e-6
"""Penalty of the bias: enough to keep the curvature positive, too small to change results."""


@dataclass
class Logistic(Fusion):
    """Minimises `Σ log(1 + exp(−y z)) + ½ strength ‖w − ½‖²` over the scores of source and target.

    recycled : the source's scores are held-in, and are equalised first
    doubt : of that equalisation
    """

    scale: Scale = "log_odds"
    strength: Strength = 3.0
    recycled: bool = False
    doubt: Annotated[float, Field(ge=0)] = 0.0

    def learn(self, source: Doubles, source_y: Marks, target: Doubles, target_y: Marks) -> Doubles:
        if self.recycled:
            source = equalise(source, source_y, target, target_y, doubt=self.doubt)
        design = with_bias(np.concatenate([source, target], axis=-2))
        return logistic(design, np.concatenate([source_y, target_y], axis=-1), self.strength, PRIOR)


@dataclass
class BlendedLogistic(Logistic):
    """The same of a source that was scored twice: the first half of its columns held-in, the second out-of-fold."""

    times_scored: ClassVar[int] = 2

    def learn(self, source: Doubles, source_y: Marks, target: Doubles, target_y: Marks) -> Doubles:
        held_in, out_of_fold = np.split(source, 2, axis=-1)
        held_in = equalise(held_in, source_y, target, target_y, doubt=self.doubt)
        return super().learn((held_in + out_of_fold) / 2, source_y, target, target_y)


def logistic(design: Doubles, marks: Marks, strength: float, prior: float, rounds: int = 30) -> Doubles:
    """(..., d) weights of ridge logistic regressions, one per repeat, by Newton's method with halved steps.

    design : (..., n, d), the bias column last; its penalty is tiny and its prior is 0
    """
    d = design.shape[-1]
    goal = marks.astype(np.float64)
    centre = np.append(np.full(d - 1, prior), 0.0)
    penalty = np.append(np.full(d - 1, strength), LOOSE)
    flat = np.swapaxes(design, -1, -2)

    def values(w: Doubles) -> Doubles:
        return np.asarray((design @ w[..., None])[..., 0])

    def loss(w: Doubles) -> Doubles:
        z = values(w)
        return np.asarray((np.logaddexp(0, z) - goal * z).sum(axis=-1) + 0.5 * (penalty * (w - centre) ** 2).sum(-1))

    weights = np.broadcast_to(centre, (*design.shape[:-2], d)).copy()
    current = loss(weights)
    for _ in range(rounds):
        p = expit(values(weights))
        gradient = (flat @ (p - goal)[..., None])[..., 0] + penalty * (weights - centre)
        hessian = (flat * (p * (1 - p))[..., None, :]) @ design + np.diag(penalty)
        direction = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        length = np.ones(current.shape)
        candidate = loss(weights - direction)
        for _ in range(30):
            worse = candidate > current
            if not worse.any():
                break
            length = np.where(worse, length / 2, length)
            candidate = loss(weights - length[..., None] * direction)
        weights = weights - np.where(candidate <= current, length, 0.0)[..., None] * direction
        gained, current = current - candidate, np.minimum(candidate, current)
        if np.max(gained) < 1e-7:
            break
    return weights
