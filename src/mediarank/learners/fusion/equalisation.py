"""Histogram equalisation of recycled scores (paper 002, section 2).

Scores that base models give their own training clips are too good. `equalise` maps them, classifier by classifier and
class by class, onto the scores of clips that the models have not seen: `x̂ = F_T⁻¹(F_S(x))`, both distribution
functions interpolated between the examples. One numba kernel goes through a batch of repeats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.types import ConfigError, Doubles

Marks = npt.NDArray[np.bool_]


def equalise(source: Doubles, source_y: Marks, target: Doubles, target_y: Marks, *, doubt: float = 0.0) -> Doubles:
    """The source's scores, distributed within each class as the target's.

    source, target : (..., n, classifiers); the leading axes are repeats
    source_y, target_y : (..., n) which examples are positive
    doubt : the map goes only `n / (n + doubt)` of the way, n being the target's examples of the class; 0 is the paper's

    Within a class the map is monotone, equal scores stay equal, and without doubt results lie in the target's range. A
    class without target examples is not changed.

    >>> equalise(np.array([[1.0], [2.0], [3.0]]), np.ones(3, bool), np.array([[10.0], [30.0]]), np.ones(2, bool))[:, 0]
    array([10., 20., 30.])
    """
    if doubt < 0:
        raise ConfigError(f"doubt is a number of examples and can't be negative, but it is {doubt}.")
    repeats = source.shape[:-2]
    rows, columns = source.shape[-2:]
    out = np.empty((*repeats, rows, columns))
    _equalise(
        np.ascontiguousarray(source, np.float64).reshape(-1, rows, columns),
        np.ascontiguousarray(source_y, np.bool_).reshape(-1, rows),
        np.ascontiguousarray(target, np.float64).reshape(-1, target.shape[-2], columns),
        np.ascontiguousarray(target_y, np.bool_).reshape(-1, target.shape[-2]),
        float(doubt),
        out.reshape(-1, rows, columns),
    )
    return out


@njit(cache=True, nogil=True)
def _equalise(source: Any, source_y: Any, target: Any, target_y: Any, doubt: float, out: Any) -> None:
    for repeat in range(source.shape[0]):
        for positive in (True, False):
            learned = np.flatnonzero(source_y[repeat] == positive)
            seen = np.flatnonzero(target_y[repeat] == positive)
            trust = 0.0 if len(seen) == 0 else len(seen) / (len(seen) + doubt)
            for column in range(source.shape[2]):
                scores = source[repeat, :, column][learned]
                goal = target[repeat, :, column][seen]
                goal = goal[np.argsort(goal)]  # the same sort as below, because numba takes seconds to compile another
                order = np.argsort(scores)
                first = 0
                while first < len(order):
                    last = first
                    while last + 1 < len(order) and scores[order[last + 1]] == scores[order[first]]:
                        last += 1
                    # equal scores get the middle of their ranks; example j of n at the quantile (j + ½) / n
                    x = scores[order[first]]
                    mapped = x
                    if trust > 0:
                        quantile = (0.5 * (first + last) + 0.5) / len(order)
                        mapped = trust * _at_quantile(goal, quantile) + (1.0 - trust) * x
                    for k in range(first, last + 1):
                        out[repeat, learned[order[k]], column] = mapped
                    first = last + 1


@njit(cache=True, nogil=True)
def _at_quantile(ordered: Any, quantile: float) -> float:
    place = min(max(quantile * len(ordered) - 0.5, 0.0), len(ordered) - 1.0)
    below = int(np.floor(place))
    above = min(below + 1, len(ordered) - 1)
    share = place - below
    return float(ordered[below] + share * (ordered[above] - ordered[below]))
