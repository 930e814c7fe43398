"""Kernel RankSVM as a learner; how it descends is in `ranksvm.py`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from mediarank.learners.pairwise.ordered_pairs import OrderedPairs
from mediarank.learners.pairwise.ranksvm import Descent, Loss, solve_gram
from mediarank.types import Doubles


class KernelRankSVM(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """RankSVM on a precomputed kernel, minimising `½‖w‖² + C Σ ξ` (loss "l1") or `½‖w‖² + C Σ ξ²` ("l2").

    There is no bias, since differences of scores have none. `fit` takes a kernel and pairs rather than X and y, so
    scikit-learn's `check_estimator` does not apply; parameters, `clone` and learned attributes do as there.

    dual_coef_ : β, one number per training item; `alpha_` are the pairs' multipliers, a warm start for the next fit
    gap_, sweeps_, converged_ : how the descent ended
    """

    def __init__(
        self, C: float = 1.0, loss: Loss = "l1", tol: float = 1e-3, max_sweeps: int = 1000, seed: int = 0
    ) -> None:
        self.C = C
        self.loss = loss
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.seed = seed

    def fit(self, K: npt.ArrayLike, pairs: OrderedPairs, alpha: Doubles | None = None) -> KernelRankSVM:
        """Learn from a kernel (n, n) among training items and pairs of them, starting at `alpha` if it is given."""
        descent = Descent(self.C, self.loss, self.tol, self.max_sweeps, self.seed)
        solution = solve_gram(np.asarray(K), pairs, descent, alpha)
        self.alpha_, self.dual_coef_ = solution.alpha, solution.coef
        self.gap_, self.sweeps_, self.converged_ = solution.gap, solution.sweeps, solution.gap <= self.tol
        return self

    def predict(self, K: npt.ArrayLike) -> Doubles:
        """Scores of m items from their kernel (m, n) with the training items; a higher score shows more."""
        return np.asarray(K, dtype=np.float64) @ self.dual_coef_
