"""Cross-validation over images, never over pairs: a pair is held out only if both of its images are.

Kernels are computed once on all training images; a fold takes rows and columns of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sklearn.base import clone

from mediarank.evaluation.pairs import listed_pair_accuracy
from mediarank.learners.kernels.kernel_stack import KernelStack
from mediarank.learners.kernels.rankmkl import RankMKL
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs, Positions
from mediarank.similarity.tiles import run_all
from mediarank.types import Doubles


def held_out_shares(
    kernels: KernelStack,
    pairs: OrderedPairs,
    fold_of: Positions,
    learner: RankMKL,
    settings: Sequence[Mapping[str, float]],
) -> Doubles:
    """The share of held-out pairs that the learner puts in order with each setting of its parameters, over all folds.

    Each setting starts from the solution of the one before, so list them by rising C. A fold in which nothing can be
    learned or measured (no pair on one of its two sides) is left out; the shares are NaN if all are.
    """
    folds = np.unique(fold_of)
    right, asked = np.zeros((len(folds), len(settings))), np.zeros(len(folds))

    def judge(place: int) -> None:
        learned, held = (np.flatnonzero((fold_of == folds[place]) == side) for side in (False, True))
        known, questions = pairs.within(learned), pairs.within(held)
        if not len(known) or not len(questions):
            return
        inner, outer = kernels.take(learned, learned), kernels.take(held, learned)
        weights = alpha = None
        for column, setting in enumerate(settings):
            model = clone(learner).set_params(**setting).fit(inner, known, weights, alpha)
            weights, alpha = model.weights_, model.alpha_
            share = listed_pair_accuracy(model.predict(outer), questions.stronger, questions.weaker)
            right[place, column] = share * len(questions)
        asked[place] = len(questions)

    run_all(judge, list(range(len(folds))))
    return right.sum(axis=0) / asked.sum() if asked.sum() else np.full(len(settings), np.nan)
