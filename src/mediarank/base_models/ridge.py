"""A pool of kernel ridge regressions: one per concept, all from one factorisation of one kernel matrix.

Where features are strong, as those of a pretrained network, a regression on all training items ranks better than SVMs
on balanced bags. The result is the same kind of pool, with every training item as a support vector, so everything that
scores, stores or prices SVMs serves it too. γ and λ = 1/C are chosen for all concepts together, by the mean average
precision of the training items, each left out with its group: γ at the middle λ, then λ at that γ. These left-out
scores are what rankers learn from.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from mediarank.base_models.calibration import fit_sigmoid
from mediarank.base_models.kernel_ridge import fit_ridge
from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import SVMConfig
from mediarank.evaluation.metrics import average_precision
from mediarank.similarity.kernels import DISTANCES
from mediarank.types import Doubles, Floats

Labels = Mapping[str, npt.NDArray[np.bool_]]


def fit_ridges(
    prepared: Floats,
    standardisation: tuple[Floats, Floats],
    labels: Labels,
    groups: npt.NDArray[np.intp],
    gammas: tuple[float, ...],
    config: SVMConfig,
) -> tuple[SVMPool, Doubles]:
    """The pool, and (items, concepts) left-out scores of its training items.

    prepared : (items, D) standardised features; standardisation : their mean and scale
    labels : which items are relevant, by concept; groups : (items,) items of one group are left out together
    """
    relevant = np.stack(list(labels.values()), axis=1)
    priors = relevant.mean(axis=0)
    targets = relevant - priors
    distances = DISTANCES[config.kernel](prepared)
    penalties = sorted(1 / penalty for penalty in config.penalties)
    middle = penalties[len(penalties) // 2]

    def worth(gamma: float, penalty: float) -> float:
        return _worth(_kernel(distances, gamma), targets, penalty, groups, relevant)

    by_gamma = {gamma: worth(gamma, middle) for gamma in sorted(gammas)}
    gamma = max(by_gamma, key=by_gamma.__getitem__)
    by_penalty = {p: by_gamma[gamma] if p == middle else worth(gamma, p) for p in penalties}
    penalty = max(by_penalty, key=by_penalty.__getitem__)
    kernel = _kernel(distances, gamma)
    coefficients, left_out = fit_ridge(kernel, targets, penalty, groups)
    both = np.stack([left_out, kernel @ coefficients]) + priors  # the range of seen and of unseen items
    held_out = left_out.astype(np.float64) + priors
    sigmoids = [fit_sigmoid(held_out[:, column], relevant[:, column]) for column in range(len(priors))]
    slopes, offsets = np.array(sigmoids, dtype=np.float32).T
    pool = SVMPool(
        config.kernel,
        tuple((concept, 0) for concept in labels),
        *standardisation,
        prepared,
        coefficients,
        priors.astype(np.float32),
        np.full(len(priors), gamma, dtype=np.float32),
        low=both.min(axis=(0, 1)).astype(np.float32),
        high=both.max(axis=(0, 1)).astype(np.float32),
        slopes=slopes,
        offsets=offsets,
    )
    return pool, held_out


def _kernel(distances: Floats, gamma: float) -> Floats:
    return np.asarray(np.exp(np.float32(-gamma) * distances), dtype=np.float32)


def _worth(
    kernel: Floats,
    targets: Doubles,
    penalty: float,
    groups: npt.NDArray[np.intp],
    relevant: npt.NDArray[np.bool_],
) -> float:
    """Mean average precision over concepts of left-out items."""
    _, left_out = fit_ridge(kernel, targets, penalty, groups, single=True)
    return float(np.mean([average_precision(relevant[:, k], left_out[:, k]) for k in range(relevant.shape[1])]))
