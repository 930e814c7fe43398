"""What all attributes share: kernels on the training items, the ordered pairs, and the folds of cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mediarank.learners.kernels.kernel_stack import GramStack, KernelStack, MapStack
from mediarank.learners.kernels.rankmkl import RankMKL
from mediarank.learners.pairwise.image_folds import deal_folds
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs, Positions
from mediarank.learners.pairwise.pair_validation import held_out_shares
from mediarank.learners.pairwise.supervision import supervise
from mediarank.similarity.fitted_kernel import FittedKernel, fit_kernel
from mediarank.similarity.nystroem import draw_landmarks, inverse_root
from mediarank.systems.attributes.config import Config
from mediarank.systems.contract import Inputs
from mediarank.types import Floats, NotApplicable


@dataclass(frozen=True, eq=False)
class Prepared:
    """What all attributes share.

    items : the training items
    kernels, stack : as fitted on them, and their values among them
    roots : of the landmarks' kernels, where there are landmarks
    pairs : attribute -> its ordered pairs; fold_of (items,) : the fold of each item
    """

    items: tuple[str, ...]
    kernels: tuple[FittedKernel, ...]
    stack: KernelStack
    roots: tuple[Floats, ...] | None
    pairs: Mapping[str, OrderedPairs]
    fold_of: Positions


def prepare(inputs: Inputs, items: Sequence[str], config: Config) -> Prepared:
    """Fit the kernels on training items and collect their ordered pairs; attributes without a pair are left out.

    Items of one group (near-duplicates) are held out together.
    """
    labels = inputs.labels
    limit = max(config.max_pairs, 5 * len(items))
    known = {name: found.ordered(limit, config.seed) for name, found in supervise(labels, items).items()}
    pairs = {name: ordered for name, ordered in known.items() if len(ordered)}
    if not pairs:
        raise NotApplicable(
            "attributes needs ordered pairs among the training items, and there are none: give orderings of classes or "
            "items with different strengths, or pairs."
        )
    classes = labels.class_of
    table = inputs.roles.table
    group_of = dict(zip(table["item_id"], table["group_id"], strict=True))
    strata, groups = [classes.get(item) for item in items], [group_of[item] for item in items]
    fold_of = deal_folds(strata, config.folds, config.seed, groups)
    count = config.exact_up_to if len(items) <= config.exact_up_to else config.landmarks
    drawn = draw_landmarks(len(items), count, config.seed)
    kernels, grams = [], []
    for choice in config.kernels:
        rows = inputs.feature(choice.feature).rows(items)
        candidates = fit_kernel(choice.kernel, rows[drawn], config.gamma_factors)
        kernel, gram = candidates[_best_gamma([gram for _, gram in candidates], pairs, drawn, fold_of, config)]
        kernels.append(kernel)
        grams.append(gram)
    if len(drawn) == len(items):
        return Prepared(tuple(items), tuple(kernels), GramStack(grams), None, pairs, fold_of)
    roots = tuple(inverse_root(gram) for gram in grams)
    columns = [
        kernel.between(inputs.feature(choice.feature).rows(items)) @ root
        for choice, kernel, root in zip(config.kernels, kernels, roots, strict=True)
    ]
    return Prepared(tuple(items), tuple(kernels), MapStack(columns), roots, pairs, fold_of)


def ranksvm(config: Config) -> tuple[RankMKL, list[dict[str, float]]]:
    """RankSVM on the mean of the kernels it is given, and the settings to choose from, by rising C."""
    return RankMKL(regularizer="fixed", loss=config.loss, seed=config.seed), [{"C": C} for C in sorted(config.svm_cost)]


def _best_gamma(
    grams: Sequence[Floats], pairs: Mapping[str, OrderedPairs], drawn: Positions, fold_of: Positions, config: Config
) -> int:
    """Which γ of a kernel orders held-out pairs best on its own, over all attributes; they share one γ.

    C is the middle one of its list: it changes little compared with γ, and it is chosen again afterwards.
    """
    if len(grams) == 1:
        return 0
    svm, settings = ranksvm(config)
    usual = settings[len(settings) // 2 : len(settings) // 2 + 1]
    inside = [own for own in (ordered.within(drawn) for ordered in pairs.values()) if len(own)]
    shares = np.stack([held_out_shares(GramStack([g]), inside, fold_of[drawn], svm, usual)[:, 0] for g in grams])
    judged = np.isfinite(shares).all(axis=0)  # a single training pair, for example, leaves no pair to hold out
    return int(shares[:, judged].sum(axis=1).argmax())
