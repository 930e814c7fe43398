"""Data for the tests of several modules."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mediarank.labels import Labels
from mediarank.systems.contract import Inputs
from mediarank.systems.retrieval.config import Config
from mediarank.types import FeatureMatrix, Roles

FAST = ("best_fea", "uni_con", "opar2", "arow")


CONFIG = Config(features=("good", "noise"), methods=FAST, scaling_pairs=2000, instances=2000)


def inputs(count: int = 80, roles: tuple[str, ...] = ("base", "rank", "valid", "test")) -> Inputs:
    """Two classes that `good` tells apart and `noise` does not."""
    rng = np.random.default_rng(0)
    ids = np.array([f"i{k:03d}" for k in range(count)])
    member = np.arange(count) % 2
    good = (member[:, None] * 2 + rng.normal(size=(count, 4)) * 0.7).astype(np.float32)
    noise = rng.normal(size=(count, 4)).astype(np.float32)
    role = [roles[(k // 2) % len(roles)] for k in range(count)]
    return Inputs(
        {name: FeatureMatrix(ids, tuple("wxyz"), values) for name, values in (("good", good), ("noise", noise))},
        Labels({"classes": pd.DataFrame({"item": ids, "class": [f"c{m}" for m in member]})}),
        Roles(pd.DataFrame({"item_id": ids, "group_id": ids, "role": role, "fold": 0})),
    )
