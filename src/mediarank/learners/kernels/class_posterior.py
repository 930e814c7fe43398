"""Expected strength of attributes: how probable each class is, times how strongly the class shows the attribute.

Kernel ridge regression of 0/1 class memberships on the mean of several kernels gives a score per class; a softmax with
a temperature makes probabilities p(c|x) of them; the expected strength is Σ_c p(c|x) s_a(c). The penalty and the
temperature are those that put most held-out pairs in order. Unlike the rankers of paper 004 this uses class labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from mediarank.fanout import share_out
from mediarank.learners.kernels.expected_strength import expected_strengths
from mediarank.learners.kernels.kernel_stack import KernelStack
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs, Positions
from mediarank.learners.pairwise.pair_validation import share_in_order
from mediarank.types import Doubles


@dataclass(frozen=True, eq=False)
class ClassPosterior:
    """A fitted class posterior.

    weights (kernels,), coef : of the ridge, for `KernelStack.scores`; shares (classes,) : of the training items
    held_out (attributes, items) : expected strengths by the other folds
    validation : attribute -> share of held-out pairs in order
    """

    penalty: float
    temperature: float
    weights: Doubles
    coef: Doubles
    shares: Doubles
    held_out: Doubles
    validation: Mapping[str, float]


def fit_posterior(
    stack: KernelStack,
    memberships: Doubles,
    strengths: Doubles,
    pairs: Mapping[str, OrderedPairs],
    fold_of: Positions,
    penalties: Sequence[float],
    temperatures: Sequence[float],
) -> ClassPosterior:
    """Fit class posteriors.

    memberships (items, classes) : 0 or 1, a row of zeros where the class is unknown
    strengths (classes, attributes) : in the order of `pairs`
    """
    weights = np.full(len(stack), 1 / len(stack))
    shares = memberships.mean(axis=0)
    targets = np.where(memberships.any(axis=1, keepdims=True), memberships - shares, 0.0)
    tasks = list(product(range(len(penalties)), np.unique(fold_of).tolist()))
    raw = np.zeros((len(penalties), *memberships.shape))
    found = share_out(partial(_scores_of_fold, stack, weights, targets, fold_of, penalties), tasks)
    for (place, fold), part in zip(tasks, found, strict=True):
        raw[place, fold_of == fold] = part

    def expected(place: int, temperature: float) -> Doubles:
        return expected_strengths(raw[place] + shares, strengths, temperature)

    def mean_share(tried: tuple[int, float]) -> float:
        scores = expected(*tried)
        found = [share_in_order(scores[:, k], own, fold_of) for k, own in enumerate(pairs.values())]
        return sum(share for share in found if np.isfinite(share))

    place, temperature = max(product(range(len(penalties)), temperatures), key=mean_share)
    held_out = expected(place, temperature)
    validation = {a: share_in_order(held_out[:, k], own, fold_of) for k, (a, own) in enumerate(pairs.items())}
    coef = stack.ridge(weights, targets, penalties[place])
    return ClassPosterior(penalties[place], temperature, weights, coef, shares, held_out.T, validation)


def _scores_of_fold(
    stack: KernelStack,
    weights: Doubles,
    targets: Doubles,
    fold_of: Positions,
    penalties: Sequence[float],
    task: tuple[int, int],
) -> Doubles:
    """(items of the fold, classes) scores by a ridge on the others. task : the place of a penalty, and a fold"""
    place, fold = task
    learned, held = (np.flatnonzero((fold_of == fold) == side) for side in (False, True))
    coef = stack.take(learned, learned).ridge(weights, targets[learned], penalties[place])
    return stack.take(held, learned).scores(weights, coef)
