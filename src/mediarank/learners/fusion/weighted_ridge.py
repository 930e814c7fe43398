"""Least squares with costs and a ridge (paper 002, eqs 1 and 2), for one set of examples or many at once."""

from __future__ import annotations

import numpy as np

from mediarank.types import Doubles


def with_bias(scores: Doubles) -> Doubles:
    """The design matrix of eq 1: scores (..., n, classifiers) and a last column of ones."""
    return np.concatenate([scores, np.ones((*scores.shape[:-1], 1))], axis=-1)


def weighted_ridge(design: Doubles, goal: Doubles, costs: Doubles, strength: float) -> Doubles:
    """`w = (xᵀΛx + λI)⁻¹ xᵀΛy`, eq 2: (..., d) weights.

    design : (..., n, d), the bias column included and penalised like the others
    goal, costs : (..., n); with costs that sum to 1, the meaning of λ does not depend on n
    """
    weighted = np.swapaxes(design * costs[..., None], -1, -2)
    gram = weighted @ design
    gram[..., np.arange(design.shape[-1]), np.arange(design.shape[-1])] += strength
    return np.asarray(np.linalg.solve(gram, weighted @ goal[..., None])[..., 0])
