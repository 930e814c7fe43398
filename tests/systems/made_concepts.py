"""Data for the tests of several modules."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import SVMConfig
from mediarank.labels import Labels
from mediarank.stages.base_models import fit_base_models
from mediarank.systems.concepts.config import Config
from mediarank.systems.concepts.fit import METHODS
from mediarank.systems.contract import Inputs
from mediarank.types import FeatureMatrix, Judgments, Roles

CONFIG = Config(
    methods=tuple(METHODS),  # type: ignore[arg-type]
    rounds=20,
    stages=6,
    strengths=(0.01, 0.1),
    lambdas=(),
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


def inputs_of(features: Mapping[str, FeatureMatrix], judgments: Judgments, roles: Roles) -> Inputs:
    """As the stage before leaves it: pools and their scores; features are needed no more."""
    rows = [(item, concept, item in grades) for concept, grades in judgments for item in judgments.candidates]
    labels = Labels({"concepts": pd.DataFrame(rows, columns=["item", "concept", "relevant"])})
    pools, scores = {}, {}
    for kind, matrix in features.items():
        arrays, facts, scores[kind] = fit_base_models(kind, matrix, labels, roles, SVM)
        pools[kind] = SVMPool.from_arrays(arrays, facts)
    return Inputs({}, labels, roles, pools, scores)
