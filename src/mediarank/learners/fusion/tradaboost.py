"""TrAdaBoost for fusing scores (paper 002, algorithm 1): costs rise where the target is missed, fall in the source.

Works on a batch of repeats at once: every iteration is one batched solve of eq 2. Since each iteration's learner is
linear, so is their sum; `Boosted` keeps the parts for figure 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from mediarank.learners.fusion.weighted_ridge import weighted_ridge, with_bias
from mediarank.types import Doubles

Marks = npt.NDArray[np.bool_]
TargetStep = Literal["printed", "adaptive"]
SMALLEST_ERROR, LARGEST_ERROR = 1e-6, 0.499
"""ε is kept between these, so that every α_t is above 0."""


@dataclass(frozen=True)
class Boosted:
    """The learners of all iterations.

    weights : (T, ..., d) of each iteration's learner, the bias last
    alphas : (T, ...) the weight of its vote
    costs : (T, ..., n) of each example, the source's first; they sum to 1
    """

    weights: Doubles
    alphas: Doubles
    costs: Doubles

    @property
    def staged(self) -> Doubles:
        """(T, ..., d) the sum of the first t iterations, which is one linear function."""
        return np.asarray(np.cumsum(self.weights * self.alphas[..., None], axis=0))

    @property
    def combined(self) -> Doubles:
        """(..., d) of all iterations."""
        return np.asarray(self.staged[-1])


def balanced_costs(positive: Marks) -> Doubles:
    """Costs (..., n) that sum to 1, half of it on each class; equal costs if there is only one class."""
    count = positive.shape[-1]
    positives = positive.sum(axis=-1, keepdims=True)
    both = (positives > 0) & (positives < count)
    share = np.where(positive, 0.5 / np.maximum(positives, 1), 0.5 / np.maximum(count - positives, 1))
    return np.asarray(np.where(both, share, 1.0 / count))


def boost(
    source: Doubles,
    source_y: Marks,
    target: Doubles,
    target_y: Marks,
    *,
    iterations: int,
    strength: float,
    balanced: bool = False,
    target_step: TargetStep = "printed",
) -> Boosted:
    """Algorithm 1 on scores (..., n, classifiers) and labels (..., n).

    balanced : start from costs that give both classes the same weight, within source and target each; the costs of
        the two parts stay in proportion to their numbers
    target_step : a target's cost grows by `β^{−e}` (printed) or by `β_t^{−e}` (adaptive, as Dai et al. have it)
    """
    learned, seen = source.shape[-2], target.shape[-2]
    design = with_bias(np.concatenate([source, target], axis=-2))
    goal = np.concatenate([source_y, target_y], axis=-1).astype(np.float64)
    if balanced:
        costs = np.concatenate([learned * balanced_costs(source_y), seen * balanced_costs(target_y)], axis=-1)
    else:
        costs = np.ones_like(goal)
    beta = 1.0 / (1.0 + np.sqrt(2.0 * np.log(learned) / iterations))
    weights, alphas, counted = [], [], []
    for _ in range(iterations):
        costs = costs / costs.sum(axis=-1, keepdims=True)  # step 1
        w = weighted_ridge(design, goal, costs, strength)  # step 2, eq 2
        f = (design @ w[..., None])[..., 0]
        residue = np.abs(np.clip(f, 0.0, 1.0) - goal)  # step 3
        on_target = costs[..., learned:]
        error = (on_target * residue[..., learned:]).sum(axis=-1) / on_target.sum(axis=-1)  # step 4
        error = np.clip(error, SMALLEST_ERROR, LARGEST_ERROR)
        beta_t = error / (1.0 - error)  # step 5
        weights.append(w)
        alphas.append(-np.log(beta_t))
        counted.append(costs)
        step = np.log(beta) if target_step == "printed" else np.log(beta_t)[..., None]
        costs = np.concatenate(  # step 6
            [
                costs[..., :learned] * np.exp(np.log(beta) * residue[..., :learned]),
                on_target * np.exp(-step * residue[..., learned:]),
            ],
            axis=-1,
        )
    return Boosted(np.stack(weights), np.stack(alphas), np.stack(counted))
