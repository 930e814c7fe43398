"""Cross-validation over images, never over pairs: a pair is held out only if both of its images are in one fold.

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


def held_out_scores(
    kernels: KernelStack,
    pairs: OrderedPairs,
    fold_of: Positions,
    learner: RankMKL,
    settings: Sequence[Mapping[str, float]],
) -> Doubles:
    """(settings, images): each image's score by a learner that was fitted to the other folds.

    Each setting starts from the solution of the one before, so list them by rising C. Scores are NaN in a fold where
    nothing can be learned or measured (no pair on one of its two sides).
    """
    folds = np.unique(fold_of)
    scores = np.full((len(settings), len(fold_of)), np.nan)

    def judge(fold: int) -> None:
        learned, held = (np.flatnonzero((fold_of == fold) == side) for side in (False, True))
        known = pairs.within(learned)
        if not len(known) or not len(pairs.within(held)):
            return
        inner, outer = kernels.take(learned, learned), kernels.take(held, learned)
        weights = alpha = None
        for row, setting in enumerate(settings):
            model = clone(learner).set_params(**setting).fit(inner, known, weights, alpha)
            weights, alpha = model.weights_, model.alpha_
            scores[row, held] = model.predict(outer)

    run_all(judge, folds.tolist())
    return scores


def share_in_order(scores: Doubles, pairs: OrderedPairs, fold_of: Positions) -> float:
    """The share of pairs within a fold that held-out scores (images,) put in order; NaN if there are no pairs."""
    judged = (fold_of[pairs.stronger] == fold_of[pairs.weaker]) & np.isfinite(scores[pairs.stronger])
    return listed_pair_accuracy(np.nan_to_num(scores), pairs.stronger[judged], pairs.weaker[judged])


def held_out_shares(
    kernels: KernelStack,
    pairs: OrderedPairs,
    fold_of: Positions,
    learner: RankMKL,
    settings: Sequence[Mapping[str, float]],
) -> Doubles:
    """The share of held-out pairs that the learner puts in order with each setting, over all folds."""
    scores = held_out_scores(kernels, pairs, fold_of, learner, settings)
    return np.array([share_in_order(row, pairs, fold_of) for row in scores])
