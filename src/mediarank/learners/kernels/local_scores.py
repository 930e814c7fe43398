"""Where training items stand by their comparisons, and where an item stands among those that look like it."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from mediarank.learners.pairwise.ordered_pairs import OrderedPairs
from mediarank.types import Doubles


def standings(pairs: OrderedPairs) -> Doubles:
    """(items,): comparisons won minus lost, as a share; NaN for an item that was never compared.

    >>> standings(OrderedPairs(np.array([0, 0, 1]), np.array([1, 2, 2]), 4)).tolist()
    [1.0, 0.0, -1.0, nan]
    """
    won, lost = (np.bincount(side, minlength=pairs.items) for side in (pairs.stronger, pairs.weaker))
    asked = won + lost
    return np.where(asked > 0, (won - lost) / np.maximum(asked, 1), np.nan)


def local_scores(kernel: Doubles, standing: Doubles, temperature: float) -> Doubles:
    """(asked,) from kernel values (asked, items) and the items' standing (items,)."""
    known = np.isfinite(standing)
    return np.asarray(softmax(kernel[:, known] / temperature, axis=1) @ standing[known])
