"""Evidence about all names at once, from other items only: what the queue of suspected label errors looks at.

`held_out_scores` is one ridge regression with one column per name: the products of the features are shared, so
hundreds of names cost little more than one. `probabilities_of` turns its scores into probabilities. `neighbour_shares`
asks the items that look most alike.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mediarank.evaluation.calibration import fit_calibration
from mediarank.teaching.one_name import FOLDS, Space
from mediarank.types import Doubles, Floats

STRENGTH: Final = 0.01
"""Of the ridge, relative to the trace of the products."""
NEIGHBOURS: Final = 20
BLOCK: Final = 512
"""Rows that are compared with all others at a time."""


def held_out_scores(
    space: Space, rows: npt.NDArray[np.intp], goals: Floats, seed: int, strength: float = STRENGTH
) -> Doubles:
    """(rows, names) scores by regressions that did not see the item's fold.

    rows : the items that are labelled; goals : (rows, names) what they show, from 0 to 1
    """
    groups = np.unique(space.groups[rows], return_inverse=True)[1]
    folds = (np.random.default_rng(seed).permutation(int(groups.max(initial=-1)) + 1) % FOLDS)[groups]
    total = np.zeros(goals.shape)
    for part in space.parts.values():
        total += _regressed(part[rows], np.asarray(goals, np.float32), folds, strength)
    return total / max(len(space.parts), 1)


def _regressed(x: Floats, goals: Floats, folds: npt.NDArray[np.intp], strength: float) -> Doubles:
    from scipy.linalg import cho_factor, cho_solve

    each = [np.flatnonzero(folds == fold) for fold in range(FOLDS)]
    grams = [x[mine].T @ x[mine] for mine in each]
    aims = [x[mine].T @ goals[mine] for mine in each]
    held = np.zeros(goals.shape)
    for fold, mine in enumerate(each):
        others = np.flatnonzero(folds != fold)
        if not len(others) or not len(mine):
            continue
        mean_x, mean_y = x[others].mean(axis=0), goals[others].mean(axis=0)
        gram = np.sum([g for k, g in enumerate(grams) if k != fold], axis=0) / len(others) - np.outer(mean_x, mean_x)
        aim = np.sum([a for k, a in enumerate(aims) if k != fold], axis=0) / len(others) - np.outer(mean_x, mean_y)
        gram[np.diag_indices_from(gram)] += strength * (float(np.trace(gram)) or 1.0)
        held[mine] = (x[mine] - mean_x) @ cho_solve(cho_factor(gram), aim) + mean_y
    return held


def probabilities_of(scores: Doubles, labels: npt.NDArray[np.bool_]) -> Doubles:
    """(rows, names) probabilities, by one sigmoid per name that is fitted on the held-out scores themselves."""
    return fit_calibration(scores, labels, [str(k) for k in range(scores.shape[1])]).probabilities(scores)


def neighbour_shares(
    directions: Floats, labels: npt.NDArray[np.floating[Any]] | npt.NDArray[np.bool_], count: int = NEIGHBOURS
) -> Doubles:
    """(items, names) how much of the nearest others shows each name, the nearer the more it counts.

    directions : (items, d) rows of length 1
    """
    items = len(directions)
    count = min(count, items - 1)
    shares = np.zeros(labels.shape)
    if count < 1:
        return shares
    shown = labels.astype(np.float64)
    for start in range(0, items, BLOCK):
        alike = directions[start : start + BLOCK] @ directions.T
        place = np.arange(len(alike))
        alike[place, start + place] = -np.inf
        nearest = np.argpartition(-alike, count - 1, axis=1)[:, :count]
        weights = np.maximum(np.take_along_axis(alike, nearest, axis=1), 0.0).astype(np.float64) ** 2 + 1e-12
        weights /= weights.sum(axis=1, keepdims=True)
        for k in range(count):
            shares[start : start + BLOCK] += weights[:, k, None] * shown[nearest[:, k]]
    return shares
