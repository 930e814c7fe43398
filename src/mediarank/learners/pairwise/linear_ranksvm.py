"""RankSVM on explicit features: the dual descent of `ranksvm.py` with w kept instead of the scores of all items.

A step costs as many multiplications as there are columns whatever the number of items, so this is the solver for
linear ranking functions and for the column maps that stand in for a kernel when there are too many items for a Gram
matrix. Columns may be weighted (a weight d is a column times √d), which is how RankMKL weighs kernels without copying
their maps. Pairs said to be equal may be added: they pull w·(x_i − x_j) to 0 (Parikh & Grauman, ICCV 2011).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.learners.pairwise.ordered_pairs import OrderedPairs, Positions
from mediarank.learners.pairwise.ranksvm import Descent, DualSolution, projected
from mediarank.types import ConfigError, DataError, Doubles


def solve_rows(
    X: npt.NDArray[np.floating[Any]],
    pairs: OrderedPairs,
    descent: Descent,
    start: Doubles | None = None,
    *,
    column_weights: Doubles | None = None,
    equal: Positions | None = None,
) -> DualSolution:
    """The dual of eq. 4 for the linear kernel of the rows of X (n, d); `coef` is v = Xᵀβ (d,).

    With column weights D the kernel is X D Xᵀ and the scores are X (D v). Equal pairs (m, 2) need the squared loss;
    their multipliers follow those of the ordered pairs in `alpha` and a warm start is then not taken.
    """
    X = np.ascontiguousarray(X)
    if len(X) != pairs.items:
        raise DataError(f"{pairs.items} training items need as many rows of features, not {len(X)}.")
    weights = np.ones(X.shape[1]) if column_weights is None else np.ascontiguousarray(column_weights, dtype=np.float64)
    first, second = pairs.stronger, pairs.weaker
    alpha = descent.start(pairs, start)
    upper, ridge = descent.box
    ordered = len(pairs)
    if equal is not None and len(equal):
        if descent.loss != "l2":
            raise ConfigError("Equal pairs can only be learned from with the squared loss: use loss='l2'.")
        first, second = np.concatenate([first, equal[:, 0]]), np.concatenate([second, equal[:, 1]])
        alpha = np.concatenate([alpha, np.zeros(len(equal))])
    curvature = _curvatures(X, first, second, weights) + ridge
    rng = np.random.default_rng(descent.seed)
    direction = weights * (X.T.astype(np.float64) @ _net(first, second, alpha, len(X)))  # D v
    gap, sweeps = np.inf, 0
    while gap > descent.tol and sweeps < descent.max_sweeps:
        order = rng.permutation(len(alpha))
        gap = _sweep_rows(X, first, second, order, alpha, direction, weights, curvature, upper, ridge, ordered)
        sweeps += 1
    v = X.T.astype(np.float64) @ _net(first, second, alpha, len(X))
    objective = float(alpha[:ordered].sum() - 0.5 * v @ (weights * v) - 0.5 * ridge * alpha @ alpha)
    return DualSolution(alpha, v, objective, float(gap), sweeps)


def _net(first: Positions, second: Positions, alpha: Doubles, items: int) -> Doubles:
    return np.asarray(np.bincount(first, alpha, items) - np.bincount(second, alpha, items))


@njit(cache=True, nogil=True)
def _curvatures(X: Any, first: Any, second: Any, weights: Any) -> Any:
    curvature = np.empty(len(first))
    for p in range(len(first)):
        total = 0.0
        for c in range(X.shape[1]):
            gap = X[first[p], c] - X[second[p], c]
            total += weights[c] * gap * gap
        curvature[p] = total
    return curvature


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _sweep_rows(
    X: Any,
    first: Any,
    second: Any,
    order: Any,
    alpha: Any,
    direction: Any,
    weights: Any,
    curvature: Any,
    upper: float,
    ridge: float,
    ordered: int,
) -> float:
    """One pass over the pairs, as `ranksvm._sweep`; pairs from `ordered` on are equal ones, without margin or box."""
    gap = 0.0
    for p in order:
        i, j = first[p], second[p]
        gradient = ridge * alpha[p]
        for c in range(X.shape[1]):
            gradient += direction[c] * (X[i, c] - X[j, c])
        if p < ordered:
            gradient -= 1.0
            violation = abs(projected(gradient, alpha[p], upper))
        else:
            violation = abs(gradient)
        gap = max(gap, violation)
        if violation == 0.0:
            continue
        if curvature[p] > 0.0:
            target = alpha[p] - gradient / curvature[p]
            if p < ordered:
                target = min(max(target, 0.0), upper)
        else:
            target = upper if gradient < 0.0 else 0.0
        step = target - alpha[p]
        alpha[p] = target
        for c in range(X.shape[1]):
            direction[c] += step * weights[c] * (X[i, c] - X[j, c])
    return gap
