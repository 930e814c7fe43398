"""Images in folds for cross-validation: stratified, groups of near-duplicates together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from mediarank.learners.pairwise.ordered_pairs import Positions
from mediarank.types import DataError


def deal_folds(
    strata: Sequence[Hashable], folds: int, seed: int, groups: Sequence[Hashable] | None = None
) -> Positions:
    """The fold of each image: strata are spread evenly, images of one group (near-duplicates) stay together.

    A group counts for the stratum of its first image. Fewer groups than folds leave some folds empty.
    """
    if folds < 2:
        raise DataError(f"Cross-validation needs at least 2 folds, not {folds}.")
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
