"""Data for the tests of several modules."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mediarank.labels import Labels
from mediarank.systems.attributes.config import Config, KernelChoice
from mediarank.systems.contract import Inputs
from mediarank.types import FeatureMatrix, Roles

CLASSES = ("sea", "field", "street", "room")


ORDER = {"open": (4.0, 3.0, 2.0, 1.0), "green": (1.0, 2.0, 1.0, 1.0), "flat": (1.0, 1.0, 1.0, 1.0)}


CONFIG = Config(
    kernels=(KernelChoice("shape"), KernelChoice("colour", "linear")),
    cost=(0.01, 0.1),
    svm_cost=(0.1,),
    folds=3,
    max_pairs=800,
)


def collection(n: int = 80, seed: int = 0) -> Inputs:
    """Shape tells how open an item is, colour how green; `flat` ties all classes."""
    rng = np.random.default_rng(seed)
    ids = [f"images/{k:03}.jpg" for k in range(n)]
    kind = np.arange(n) % 4
    openness, greenness = (np.array(ORDER[a])[kind] for a in ("open", "green"))
    shape = np.abs(np.stack([openness, 5 - openness, np.ones(n)], axis=1) + 0.6 * rng.normal(size=(n, 3)))
    colour = np.stack([greenness, 2 * rng.normal(size=n)], axis=1) + 0.3 * rng.normal(size=(n, 2))
    features = {
        name: FeatureMatrix(np.array(ids), tuple(map(str, range(values.shape[1]))), values.astype(np.float32))
        for name, values in (("shape", shape), ("colour", colour))
    }
    orderings = [(a, c, s) for a, strengths in ORDER.items() for c, s in zip(CLASSES, strengths, strict=True)]
    labels = Labels(
        {
            "classes": pd.DataFrame({"item": ids, "class": [CLASSES[k] for k in kind]}),
            "orderings": pd.DataFrame(orderings, columns=["attribute", "target", "strength"]),
        }
    )
    roles = np.where(np.arange(n) < n // 2, "base", np.where(np.arange(n) < 3 * n // 4, "rank", "test"))
    table = pd.DataFrame({"item_id": ids, "group_id": ids, "role": roles, "fold": 0})
    return Inputs(features, labels, Roles(table))
