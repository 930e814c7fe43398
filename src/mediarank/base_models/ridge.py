"""A pool of kernel ridge regressions: one per concept, all from one factorisation of one kernel matrix.

Where features are strong, as those of a pretrained network, a regression on all training items ranks better than SVMs
on balanced bags. Where items are many, a sample of them is used (`bags.shared_sample`), so that the kernel matrix does
not grow with the collection. The result is the same kind of pool, with every item used as a support vector, so
everything that scores, stores or prices SVMs serves it too. γ and λ = 1/C are chosen for all concepts together, by the
mean average precision of the training items, each left out with its group: γ at the middle λ, then λ at that γ. These
left-out scores are what rankers learn from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

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
    shares: Doubles,
    groups: npt.NDArray[np.intp],
    gammas: tuple[float, ...],
    config: SVMConfig,
) -> tuple[SVMPool, Doubles]:
    """The pool, and (items, concepts) left-out scores of its training items.

    prepared : (items, D) standardised features; standardisation : their mean and scale
    labels : which items are relevant, by concept; groups : (items,) items of one group are left out together
    shares : (concepts,) of relevant items in the collection, of which `prepared` may be a sample
    """
    relevant = np.stack(list(labels.values()), axis=1)
    priors = relevant.mean(axis=0)
    targets = relevant - priors
    distances = DISTANCES[config.kernel](prepared)
    penalties = sorted(1 / penalty for penalty in config.penalties)
    middle = penalties[len(penalties) // 2]

    @cache
    def worth(gamma: float, penalty: float) -> float:
        return _worth(_kernel(distances, gamma), targets, penalty, groups, relevant)

    gamma = _first_best(sorted(gammas), lambda gamma: worth(gamma, middle))
    penalty = _first_best(penalties, lambda penalty: worth(gamma, penalty))
    kernel = _kernel(distances, gamma)
    coefficients, left_out = fit_ridge(kernel, targets, penalty, groups)
    both = np.stack([left_out, kernel @ coefficients]) + priors  # the range of seen and of unseen items
    held_out = left_out.astype(np.float64) + priors
    sigmoids = [fit_sigmoid(held_out[:, k], relevant[:, k], float(share)) for k, share in enumerate(shares)]
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


def _first_best(candidates: Sequence[float], worth: Callable[[float], float]) -> float:
    """The candidate of the highest worth, which is not computed where there is only one."""
    return candidates[0] if len(candidates) == 1 else max(candidates, key=worth)


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
