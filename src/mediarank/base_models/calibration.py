"""Decisions to probabilities: Platt's sigmoid, fitted by the safeguarded Newton method of Lin, Lin and Weng (2007)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

Decisions = npt.NDArray[np.float64]


def fit_sigmoid(decisions: Decisions, labels: npt.NDArray[np.bool_], prior: float | None = None) -> tuple[float, float]:
    """Slope a and offset b of `P(relevant) = 1 / (1 + exp(−(a·decision + b)))`.

    decisions : held-out decision values, one per example; decisions on the training examples would be too good
    labels : which examples are relevant
    prior : share of relevant items where the probabilities will be used; by default that of `labels`

    Targets are (n₊+1)/(n₊+2) and 1/(n₋+2), so a separable sample keeps a finite slope.
    """
    positives = int(labels.sum())
    negatives = len(labels) - positives
    target = np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    parameters = np.array([0.0, logit((positives + 1) / (positives + negatives + 2))])
    design = np.column_stack([decisions, np.ones(len(labels))])

    def loss(candidate: Decisions) -> float:
        z = design @ candidate
        return float(np.sum(np.logaddexp(0.0, z) - target * z))

    current = loss(parameters)
    for _ in range(100):
        p = expit(design @ parameters)
        gradient = design.T @ (p - target)
        if np.abs(gradient).max() < 1e-7:
            break
        hessian = (design * (p * (1 - p))[:, None]).T @ design + 1e-12 * np.eye(2)
        direction = np.linalg.solve(hessian, -gradient)
        step = 1.0
        while step > 1e-10 and loss(parameters + step * direction) > current + 1e-4 * step * (gradient @ direction):
            step /= 2
        if step <= 1e-10:
            break
        parameters = parameters + step * direction
        current = loss(parameters)
    slope, offset = float(parameters[0]), float(parameters[1])
    if prior is not None:
        offset += float(logit(prior) - logit(positives / (positives + negatives)))
    return slope, offset
