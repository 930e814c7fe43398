"""Expected standing: like expected strength (`class_posterior.py`), but from ordered pairs alone, without classes.

A training item's standing in an attribute is the share of its comparisons that it won minus the share that it lost;
items of nearly equal standing form a level. Kernel ridge regression of level memberships on the mean of several
kernels, a softmax with a temperature, and the mean standing of the levels give an item's expected standing. Penalty and
temperature are those that put most held-out pairs in order. A fold's standings come from the pairs inside it.
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
from mediarank.learners.kernels.local_scores import standings
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs, Positions
from mediarank.learners.pairwise.pair_validation import share_in_order
from mediarank.types import Doubles


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of several attributes, side by side.

    targets (items, levels) : memberships minus shares; a row is 0 in an attribute that never compared the item
    shares, standings (levels,) : of the items in a level, and their mean standing
    starts (attributes + 1,) : an attribute's levels are starts[a]:starts[a + 1]
    """

    targets: Doubles
    shares: Doubles
    standings: Doubles
    starts: Positions

    def expected(self, raw: Doubles, temperature: float) -> Doubles:
        """(attributes, items) from the ridge's scores (items, levels)."""
        parts = [slice(*edges) for edges in zip(self.starts[:-1], self.starts[1:], strict=True)]
        scores = raw + self.shares
        found = [expected_strengths(scores[:, part], self.standings[part, None], temperature)[:, 0] for part in parts]
        return np.stack(found)


@dataclass(frozen=True, eq=False)
class LevelPosterior:
    """A fitted posterior over levels.

    weights (kernels,), coef : of the ridge, for `KernelStack.scores`
    held_out (attributes, items) : expected standings by the other folds
    validation : attribute -> share of held-out pairs in order
    """

    penalty: float
    temperature: float
    weights: Doubles
    coef: Doubles
    levels: Levels
    held_out: Doubles
    validation: Mapping[str, float]


def levels_of(pairs: Sequence[OrderedPairs], count: int) -> Levels:
    """At most `count` levels per attribute, with as nearly equal numbers of items as ties allow."""
    targets, shares, means, starts = [], [], [], [0]
    for own in pairs:
        standing = standings(own)
        known = np.flatnonzero(np.isfinite(standing))
        edges = np.unique(np.quantile(standing[known], np.linspace(0, 1, count + 1)[1:-1]))
        level = np.searchsorted(edges, standing[known])
        kinds = np.unique(level)
        members = np.zeros((len(standing), len(kinds)))
        members[known, np.searchsorted(kinds, level)] = 1
        share = members.mean(axis=0)
        targets.append(np.where(members.any(axis=1, keepdims=True), members - share, 0.0))
        shares.append(share)
        means.append([float(standing[known][level == kind].mean()) for kind in kinds])
        starts.append(starts[-1] + len(kinds))
    return Levels(np.concatenate(targets, axis=1), np.concatenate(shares), np.concatenate(means), np.array(starts))


def fit_levels(
    stack: KernelStack,
    pairs: Mapping[str, OrderedPairs],
    fold_of: Positions,
    penalties: Sequence[float],
    temperatures: Sequence[float],
    count: int,
) -> LevelPosterior:
    """Fit a posterior over levels of each attribute. count : the most levels"""
    weights = np.full(len(stack), 1 / len(stack))
    folds = np.unique(fold_of).tolist()
    tried = list(product(range(len(penalties)), range(len(temperatures))))
    scores = np.full((len(penalties), len(temperatures), len(pairs), len(fold_of)), np.nan)
    of_fold = partial(_scores_of_fold, stack, weights, list(pairs.values()), fold_of, penalties, temperatures, count)
    for fold, part in zip(folds, share_out(of_fold, folds), strict=True):
        scores[..., fold_of == fold] = part

    def shares(place: int, row: int) -> list[float]:
        return [share_in_order(scores[place, row, k], own, fold_of) for k, own in enumerate(pairs.values())]

    place, row = max(tried, key=lambda one: float(np.nansum(shares(*one))))
    levels = levels_of(list(pairs.values()), count)
    coef = stack.ridge(weights, levels.targets, penalties[place])
    validation = dict(zip(pairs, shares(place, row), strict=True))
    return LevelPosterior(penalties[place], temperatures[row], weights, coef, levels, scores[place, row], validation)


def _scores_of_fold(
    stack: KernelStack,
    weights: Doubles,
    pairs: Sequence[OrderedPairs],
    fold_of: Positions,
    penalties: Sequence[float],
    temperatures: Sequence[float],
    count: int,
    fold: int,
) -> Doubles:
    """(penalties, temperatures, attributes, items of the fold); NaN where an attribute has no pair outside of it."""
    learned, held = (np.flatnonzero((fold_of == fold) == side) for side in (False, True))
    scores = np.full((len(penalties), len(temperatures), len(pairs), len(held)), np.nan)
    inside = [own.within(learned) for own in pairs]
    if not all(map(len, inside)):
        return scores
    levels = levels_of(inside, count)
    for place, penalty in enumerate(penalties):
        coef = stack.take(learned, learned).ridge(weights, levels.targets, penalty)
        raw = stack.take(held, learned).scores(weights, coef)
        for row, temperature in enumerate(temperatures):
            scores[place, row] = levels.expected(raw, temperature)
    return scores
