"""Cross-validation over images, never over pairs: a pair is held out only if both of its images are.

First how images are dealt into folds (stratified, groups of near-duplicates together), then how settings of a learner
are judged on them. Kernels are computed once on all training images; a fold takes rows and columns of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from mediarank.evaluation.pairs import listed_pair_accuracy
from mediarank.learners.kernel_stack import KernelStack
from mediarank.learners.pairs import OrderedPairs, Positions
from mediarank.learners.rankmkl import RankMKL
from mediarank.similarity.tiles import run_all
from mediarank.types import DataError


def deal_folds(
    strata: Sequence[Hashable], folds: int, seed: int, groups: Sequence[Hashable] | None = None
) -> Positions:
    """The fold of each image: strata are spread evenly, images of one group (near-duplicates) stay together.

    A group counts for the stratum of its first image. Fewer groups than folds leave some folds empty.
    """
    if folds < 2:
        raise DataError(f"Cross-validation needs 2 folds at least, not {folds}.")
    members: dict[Hashable, list[int]] = {}
    for image, group in enumerate(groups if groups is not None else range(len(strata))):
        members.setdefault(group, []).append(image)
    shuffled = list(members.values())
    np.random.default_rng(seed).shuffle(shuffled)
    rank = {stratum: place for place, stratum in enumerate(dict.fromkeys(strata))}
    shuffled.sort(key=lambda images: rank[strata[images[0]]])
    fold_of = np.empty(len(strata), dtype=np.intp)
    for turn, images in enumerate(shuffled):
        fold_of[images] = turn % folds
    return fold_of


def held_out_shares(
    kernels: KernelStack,
    pairs: OrderedPairs,
    fold_of: Positions,
    learner: RankMKL,
    settings: Sequence[Mapping[str, float]],
) -> npt.NDArray[np.float64]:
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
