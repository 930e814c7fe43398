"""LightGBM's trees on the scores of base models: a rival of the rankers in `concepts` that has no plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mediarank.learners.boosting.rankboost import require_scores
from mediarank.learners.fusion.stacking import balanced_weights
from mediarank.types import Doubles, Floats, MediarankError


@dataclass
class LightGBMStacking:
    """Gradient-boosted trees on the same scores, one thread, seeded; small trees, since positives are few."""

    trees: int = 100
    leaves: int = 7
    rate: float = 0.05
    seed: int = 7
    booster_: Any = field(init=False, repr=False)

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> LightGBMStacking:
        scores, relevant = require_scores(X, y)
        lightgbm = _import_lightgbm()
        settings = {
            "objective": "binary",
            "num_leaves": self.leaves,
            "learning_rate": self.rate,
            "min_data_in_leaf": 5,
            "feature_fraction": 0.5,
            "seed": self.seed,
            "deterministic": True,
            "num_threads": 1,
            "verbosity": -1,
        }
        data = lightgbm.Dataset(scores, relevant.astype(np.float32), weight=balanced_weights(relevant))
        self.booster_ = lightgbm.train(settings, data, num_boost_round=self.trees)
        return self

    def predict(self, X: Floats) -> Doubles:
        return np.asarray(self.booster_.predict(X, num_threads=1), dtype=np.float64)


def _import_lightgbm() -> Any:
    try:
        import lightgbm
    except OSError as error:  # the wheel loads OpenMP's run-time library from the system
        raise MediarankError(
            f"LightGBM can't be loaded ({error}): install OpenMP's run-time library (libgomp1 on Debian and Ubuntu, "
            "libgomp on Fedora, libomp on macOS), or leave this method out."
        ) from error
    return lightgbm
