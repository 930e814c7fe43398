"""What tests of several modules are made of."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mediarank.base_models.svm import SVMConfig
from mediarank.systems.concepts.fit import METHODS, ConceptsConfig
from mediarank.types import FeatureMatrix, Judgments, Roles

CONFIG = ConceptsConfig(
    methods=tuple(METHODS),  # type: ignore[arg-type]
    rounds=20,
    stages=6,
    strengths=(0.01, 0.1),
)


SVM = SVMConfig(penalties=(2.0,), widths=(1.0,))


CONCEPTS = ("boat", "fish")


def collection(seed: int = 0, items: int = 300) -> tuple[dict[str, FeatureMatrix], Judgments, Roles]:
    """Three feature types that each know something of two rare concepts."""
    rng = np.random.default_rng(seed)
    ids = np.array([f"{n:04d}.jpg" for n in range(items)])
    labels = {concept: rng.random(items) < 0.15 for concept in CONCEPTS}
    features = {}
    for kind in ("texture", "colour", "edges"):
        values = rng.normal(size=(items, 4))
        for column, concept in enumerate(CONCEPTS):
            values[:, column] += 1.2 * labels[concept]
        features[kind] = FeatureMatrix(ids, ("a", "b", "c", "d"), values.astype(np.float32))
    judgments = Judgments.from_pairs(
        [(concept, str(ids[n])) for concept in CONCEPTS for n in np.flatnonzero(labels[concept])], ids.tolist()
    )
    role = np.resize(["base", "base", "base", "base", "base", "rank", "rank", "test", "test", "test"], items)
    table = pd.DataFrame({"item_id": ids, "group_id": ids, "role": role, "fold": 0})
    return features, judgments, Roles(table)
