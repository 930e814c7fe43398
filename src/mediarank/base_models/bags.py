"""Balanced bags: small samples with as many positives as negatives (paper 000, section 5.1)."""

from __future__ import annotations

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
