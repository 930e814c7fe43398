"""LambdaMART (Wu et al. 2010): boosted trees whose gradients are weighted by what a swap changes in nDCG.

LightGBM's `lambdarank`, which its wheel can only load where OpenMP's run-time library is installed; it is imported
when a forest is grown or restored, and everything else runs without it. A forest is kept as LightGBM's own text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mediarank.fanout import jobs
from mediarank.learners.pairwise.triplets import Triplets
from mediarank.types import Floats, MediarankError


@dataclass
class LambdaMART:
    """trees, leaves, rate : at most how many, how large, how bold; smallest_leaf : rows that a leaf needs

    held_out : share of the training queries that says when to stop; patience : trees without gain until then
    """

    trees: int = 500
    leaves: int = 31
    rate: float = 0.1
    smallest_leaf: int = 50
    held_out: float = 0.2
    patience: int = 20
    seed: int = 0
    booster_: Any = field(init=False, repr=False)

    def fit_triplets(self, data: Triplets) -> LambdaMART:
        """From the rows and their judgments; it forms the pairs itself."""
        lightgbm = import_lightgbm()
        queries = len(data.offsets) - 1
        stopping = round(self.held_out * queries) if queries > 1 else 0
        learned, rest = data.first_queries(queries - stopping), data.first_queries(stopping, skip=queries - stopping)
        rows = _dataset(lightgbm, learned)
        settings = {
            "objective": "lambdarank",
            "num_leaves": self.leaves,
            "learning_rate": self.rate,
            "min_data_in_leaf": self.smallest_leaf,
            "lambdarank_truncation_level": int(np.diff(data.offsets).max()),
            "seed": self.seed,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": jobs(),
            "verbosity": -1,
            "metric": "map",
            "eval_at": [int(np.diff(data.offsets).max())],
        }
        watched: dict[str, Any] = {}
        if stopping:
            watched["valid_sets"] = [_dataset(lightgbm, _relevant_last(rest), rows)]
            watched["callbacks"] = [lightgbm.early_stopping(self.patience, verbose=False)]
        self.booster_ = lightgbm.train(settings, rows, num_boost_round=self.trees, **watched)
        return self

    def predict(self, phi: Floats) -> Floats:
        """Scores of items by their φ, higher is better. phi : (n, d)"""
        return np.asarray(self.booster_.predict(phi, num_threads=jobs()), dtype=np.float32)

    def arrays(self) -> dict[str, npt.NDArray[np.uint8]]:
        """The forest as bytes of text, without the lines that tell of the machine's threads."""
        best = self.booster_.best_iteration
        lines = self.booster_.model_to_string(num_iteration=best if best > 0 else -1).splitlines()
        text = "\n".join(line for line in lines if not line.startswith("[num_threads:"))
        return {"forest": np.frombuffer(text.encode(), dtype=np.uint8)}

    @classmethod
    def restored(cls, forest: npt.NDArray[np.uint8]) -> LambdaMART:
        """The ranker whose `arrays()` these were."""
        ranker = cls()
        ranker.booster_ = import_lightgbm().Booster(model_str=forest.tobytes().decode())
        return ranker


def _relevant_last(data: Triplets) -> Triplets:
    """The same rows, a query's relevant ones behind the others.

    LightGBM keeps the given order among equal scores. With the relevant rows first, a single tree that can't tell
    items apart would look perfect, and learning would stop there.
    """
    order = np.lexsort((data.relevant, data.query))
    none = np.empty(0, np.intp)
    return Triplets(data.phi[order], data.query[order], data.relevant[order], none, none)


def _dataset(lightgbm: Any, data: Triplets, reference: Any = None) -> Any:
    relevant = data.relevant.astype(np.float32)
    return lightgbm.Dataset(data.phi, relevant, group=np.diff(data.offsets), reference=reference)


def import_lightgbm() -> Any:
    try:
        import lightgbm
    except OSError as error:  # the wheel loads OpenMP's run-time library from the system
        raise MediarankError(
            f"LightGBM can't be loaded ({error}): install OpenMP's run-time library (libgomp1 on Debian and Ubuntu, "
            "libgomp on Fedora, libomp on macOS), or leave lambdamart out of the methods in params.yaml."
        ) from error
    return lightgbm
