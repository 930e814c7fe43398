"""Weights of feature types in a sum of distances, by regression (Makadia et al. 2008).

The distances of two images predict how much their keywords differ, 1 − consistency: by plain least squares, and by
LASSO, which sets weights of useless types to 0. Distances are expected on a common scale. `COMBINATIONS` names both;
the baseline that they are compared with, JEC, gives all types the same weight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from mediarank.types import Doubles, Floats


def least_squares_weights(distances: Floats, consistency: Doubles) -> Doubles:
    """Least squares with an intercept; a weight may be negative.

    distances : (pairs, types)
    consistency : (pairs,)
    """
    centred = distances - distances.mean(axis=0, dtype=np.float64)
    target = consistency.mean() - consistency
    weights, *_ = np.linalg.lstsq(centred, target, rcond=None)
    return np.asarray(weights, dtype=np.float64)


def lasso_weights(distances: Floats, consistency: Doubles) -> Doubles:
    """LASSO with weights of 0 and above, its penalty chosen by 5-fold cross-validation of the squared error.

    If no type helps, all weights would be 0; the types then get equal weights.
    """
    from sklearn.linear_model import LassoCV

    model = LassoCV(cv=5, positive=True, alphas=30).fit(distances, -consistency)
    weights = np.asarray(model.coef_, dtype=np.float64)
    return weights if weights.any() else np.full(len(weights), 1 / len(weights))


COMBINATIONS: Final[Mapping[str, Callable[[Floats, Doubles], Doubles]]] = {
    "least_squares": least_squares_weights,
    "lasso": lasso_weights,
}
