"""Cross-validation over images, never over pairs: a pair is held out only if both of its images are in one fold.

Kernels are computed once on all training images; a fold takes rows and columns of them. All attributes that share
kernels are validated together, so that a cluster gets the kernels once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np
from sklearn.base import clone

from mediarank.evaluation.pairs import listed_pair_accuracy
from mediarank.fanout import share_out
from mediarank.learners.kernels.kernel_stack import KernelStack
from mediarank.learners.kernels.rankmkl import RankMKL
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs, Positions
from mediarank.types import Doubles


def held_out_scores(
    kernels: KernelStack,
    pairs: Sequence[OrderedPairs],
    fold_of: Positions,
    learner: RankMKL,
    settings: Sequence[Mapping[str, float]],
) -> Doubles:
    """(attributes, settings, images): each image's score by a learner that was fitted to the other folds.

    Each setting starts from the solution of the one before, so list them by rising C. Scores are NaN in a fold where
    nothing can be learned or measured (no pair on one of its two sides).

    pairs : of each attribute
    """
    tasks = list(product(range(len(pairs)), np.unique(fold_of).tolist()))
    scores = np.full((len(pairs), len(settings), len(fold_of)), np.nan)
    found = share_out(partial(_scores_of_fold, kernels, pairs, fold_of, learner, settings), tasks)
    for (attribute, fold), part in zip(tasks, found, strict=True):
        scores[attribute][:, fold_of == fold] = part
    return scores


def _scores_of_fold(
    kernels: KernelStack,
    pairs: Sequence[OrderedPairs],
    fold_of: Positions,
    learner: RankMKL,
    settings: Sequence[Mapping[str, float]],
    task: tuple[int, int],
) -> Doubles:
    """(settings, images of the fold). task : an attribute and a fold"""
    attribute, fold = task
    learned, held = (np.flatnonzero((fold_of == fold) == side) for side in (False, True))
    scores = np.full((len(settings), len(held)), np.nan)
    known = pairs[attribute].within(learned)
    if not len(known) or not len(pairs[attribute].within(held)):
        return scores
    inner, outer = kernels.take(learned, learned), kernels.take(held, learned)
    weights = alpha = None
    for row, setting in enumerate(settings):
        model = clone(learner).set_params(**setting).fit(inner, known, weights, alpha)
        weights, alpha = model.weights_, model.alpha_
        scores[row] = model.predict(outer)
    return scores


def share_in_order(scores: Doubles, pairs: OrderedPairs, fold_of: Positions) -> float:
    """The share of pairs within a fold that held-out scores (images,) put in order; NaN if there are no pairs."""
    judged = (fold_of[pairs.stronger] == fold_of[pairs.weaker]) & np.isfinite(scores[pairs.stronger])
    return listed_pair_accuracy(np.nan_to_num(scores), pairs.stronger[judged], pairs.weaker[judged])


def held_out_shares(
    kernels: KernelStack,
    pairs: Sequence[OrderedPairs],
    fold_of: Positions,
    learner: RankMKL,
    settings: Sequence[Mapping[str, float]],
) -> Doubles:
    """(attributes, settings): the share of held-out pairs that the learner puts in order, over all folds."""
    scores = held_out_scores(kernels, pairs, fold_of, learner, settings)
    return shares_in_order(scores, pairs, fold_of)


def shares_in_order(scores: Doubles, pairs: Sequence[OrderedPairs], fold_of: Positions) -> Doubles:
    """(attributes, settings) of scores (attributes, settings, images): `share_in_order` of each."""
    found = [share_in_order(row, own, fold_of) for rows, own in zip(scores, pairs, strict=True) for row in rows]
    return np.array(found).reshape(scores.shape[:2])
