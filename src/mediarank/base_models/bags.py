"""Samples of the training items: balanced bags with as many positives as negatives (paper 000, section 5.1), and one
sample for all concepts together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mediarank.types import DataError


def balanced_bags(
    labels: npt.NDArray[np.bool_],
    *,
    bags: int,
    limit: int,
    rng: np.random.Generator,
    negatives_per_positive: float = 1.0,
) -> list[npt.NDArray[np.intp]]:
    """Positions of the examples of each bag, ascending.

    A bag holds at most `limit` examples. Positives are drawn without replacement, all of them if they fit; so are
    negatives, `negatives_per_positive` of them for each positive if there are enough. Bags are drawn independently.
    """
    positives, negatives = np.flatnonzero(labels), np.flatnonzero(~labels)
    if not len(positives) or not len(negatives):
        raise DataError(
            f"A bag needs examples of both kinds, but there are {len(positives)} positives and {len(negatives)} "
            "negatives; leave this concept out or label more items."
        )
    wanted = max(1, min(len(positives), int(limit / (1 + negatives_per_positive))))
    others = max(1, min(len(negatives), round(wanted * negatives_per_positive)))
    return [
        np.sort(
            np.concatenate([rng.choice(positives, wanted, replace=False), rng.choice(negatives, others, replace=False)])
        )
        for _ in range(bags)
    ]


def shared_sample(
    labels: Sequence[npt.NDArray[np.bool_]], limit: int, rng: np.random.Generator
) -> npt.NDArray[np.intp]:
    """At most `limit` positions, ascending, for all concepts together; all of them if they fit.

    labels : by concept, which examples are positive

    Half of the sample are positives: each concept in turn adds one of its own until they are full, so a rare concept
    keeps all that it has. The rest is drawn from all other examples.
    """
    count = len(labels[0])
    if count <= limit:
        return np.arange(count)
    orders = [rng.permutation(np.flatnonzero(relevant)) for relevant in labels]
    turns = [int(order[turn]) for turn in range(max(map(len, orders))) for order in orders if turn < len(order)]
    positives = list(dict.fromkeys(turns))[: limit // 2]
    others = np.setdiff1d(np.arange(count), positives)
    return np.sort(
        np.concatenate([positives, rng.choice(others, limit - len(positives), replace=False)]).astype(np.intp)
    )
