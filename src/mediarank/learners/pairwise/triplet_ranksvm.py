"""RankSVM over triplets (Herbrich et al. 2000; Joachims 2002): the batch baseline of the online rankers.

`linear_ranksvm.py` does the work, by dual coordinate descent on rows of φ and pairs of row numbers: no pair beyond
the sample is formed, and no difference of two rows is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mediarank.learners.pairwise.linear_ranksvm import solve_rows
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs
from mediarank.learners.pairwise.ranksvm import Descent
from mediarank.learners.pairwise.triplets import Triplets
from mediarank.types import Floats


@dataclass
class RankSVM:
    """Minimises `½‖w‖² + C/T Σ max(0, 1 − w·Δφ)` over T triplets, so that C means the same for any number of them."""

    C: float = 100.0
    tol: float = 1e-2
    max_sweeps: int = 30
    seed: int = 0
    weights_: Floats = field(init=False, repr=False)
    converged_: bool = field(init=False, repr=False)

    def fit_triplets(self, data: Triplets) -> RankSVM:
        pairs = OrderedPairs(data.better, data.worse, len(data.phi))
        descent = Descent(self.C / max(1, len(pairs)), "l1", self.tol, self.max_sweeps, self.seed)
        solution = solve_rows(data.phi, pairs, descent)
        self.weights_ = solution.coef.astype(np.float32)
        self.converged_ = solution.gap <= self.tol
        return self

    @property
    def ranking_weights(self) -> Floats:
        return self.weights_

    def predict(self, phi: Floats) -> Floats:
        """Scores of items by their φ, higher is better. phi : (n, d)"""
        return np.asarray(phi @ self.weights_, dtype=np.float32)
