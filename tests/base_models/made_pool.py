"""Data for the tests of several modules."""

from __future__ import annotations

import numpy as np

from mediarank.types import FeatureMatrix, Judgments


def collection(seed: int = 0, items: int = 150, dimension: int = 6) -> tuple[FeatureMatrix, Judgments]:
    rng = np.random.default_rng(seed)
    ids = np.array([f"{n:04d}.jpg" for n in range(items)])
    values = rng.random((items, dimension)).astype(np.float32)
    relevant = {
        concept: {str(ids[n]): 1.0 for n in np.argsort(-values[:, column])[:20]}
        for column, concept in enumerate(("boat", "fish", "sky"))
    }
    return FeatureMatrix(ids, tuple(f"f{d}" for d in range(dimension)), values), Judgments(
        ("boat", "fish", "sky"), tuple(ids.tolist()), relevant
    )
