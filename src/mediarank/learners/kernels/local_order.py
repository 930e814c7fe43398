"""Local ordering, item by item: an item stands where the training items that look like it stand.

LocalPair (Yu & Grauman 2014) learns a model from the training pairs near each pair that is asked about, and its answers
need not form an order. Here locality belongs to the item: a training item's standing is the share of its comparisons
that it won minus the share that it lost, and an item's score is the mean standing of the training items, weighted by a
softmax of the mean kernel with them. So items can be sorted, each is scored once, and no class labels are needed.
The temperature of the softmax is the one that puts most held-out pairs in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mediarank.learners.kernels.local_scores import local_scores, standings
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs, Positions
from mediarank.learners.pairwise.pair_validation import share_in_order
from mediarank.types import Doubles


@dataclass(frozen=True, eq=False)
class LocalOrder:
    """standing (items, attributes) : NaN where an item is in no pair; temperatures (attributes,)

    held_out (attributes, items) : scores by the other folds; validation : attribute -> share of held-out pairs in order
    """

    standing: Doubles
    temperatures: Doubles
    held_out: Doubles
    validation: Mapping[str, float]


def fit_local(
    kernel: Doubles, pairs: Mapping[str, OrderedPairs], fold_of: Positions, temperatures: Sequence[float]
) -> LocalOrder:
    """Standings of all items, and the best temperature of each attribute. kernel : (items, items)"""
    folds = np.unique(fold_of).tolist()
    parts = [tuple(np.flatnonzero((fold_of == fold) == side) for side in (False, True)) for fold in folds]
    standing, chosen, held_out, validation = [], [], [], {}
    for attribute, own in pairs.items():
        scores = np.full((len(temperatures), len(fold_of)), np.nan)
        for learned, held in parts:
            known = own.within(learned)
            if len(known):
                near, there = kernel[np.ix_(held, learned)], standings(known)
                for row, temperature in enumerate(temperatures):
                    scores[row, held] = local_scores(near, there, temperature)
        shares = np.array([share_in_order(row, own, fold_of) for row in scores])
        best = int(np.nanargmax(shares)) if np.isfinite(shares).any() else 0
        standing.append(standings(own))
        chosen.append(temperatures[best])
        held_out.append(scores[best])
        validation[attribute] = float(shares[best])
    return LocalOrder(np.stack(standing, axis=1), np.array(chosen), np.stack(held_out), validation)
