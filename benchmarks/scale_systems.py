"""How fitting and testing `annotation` and `attributes` grow, on drawn vectors and labels; part of scale.py."""

from __future__ import annotations

import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mediarank.labels import Labels
from mediarank.stages.systems import fit_system
from mediarank.systems.annotation.config import Config as AnnotationConfig
from mediarank.systems.attributes.config import Config as AttributesConfig
from mediarank.systems.attributes.config import KernelChoice
from mediarank.systems.contract import Inputs
from mediarank.types import FeatureMatrix, Roles

TOPICS = 50
WIDTHS = {"one": 64, "other": 32}
CONFIGS: dict[str, Any] = {
    "annotation": AnnotationConfig(tuple(WIDTHS), methods=("jec_vote",), folds=2, queries=1000),
    "attributes": AttributesConfig(
        tuple(KernelChoice(name) for name in WIDTHS), methods=("equal_weights",), svm_cost=(0.1,), folds=2
    ),
}


def measure(folder: Path, items: int) -> dict[str, float]:
    """System -> processor seconds for this many items, and the most memory of both."""
    inputs = drawn(items)
    spent: dict[str, float] = {}
    for name, config in CONFIGS.items():
        began = time.process_time()
        fitted = fit_system(name, inputs, config)
        spent[name] = round(time.process_time() - began, 1)
        spent[f"{name} tested"] = len(next(iter(fitted.scores.values())))
    return {**spent, "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)}


def drawn(items: int) -> Inputs:
    """Items of some topics, each with a class, an attribute that goes with it, and three words."""
    rng = np.random.default_rng(0)
    ids = [f"a{k // 1000:05d}/{k:08d}.jpg" for k in range(items)]
    topic = rng.integers(0, TOPICS, items)
    features = {}
    for name, width in WIDTHS.items():
        values = np.abs(rng.normal(size=(TOPICS, width))[topic] + 0.5 * rng.normal(size=(items, width)))
        features[name] = FeatureMatrix(np.array(ids), tuple(map(str, range(width))), values.astype(np.float32))
    words = [(item, f"word{(t + k) % TOPICS}") for item, t in zip(ids, topic.tolist(), strict=True) for k in range(3)]
    labels = Labels(
        {
            "classes": pd.DataFrame({"item": ids, "class": [f"kind{t:02d}" for t in topic.tolist()]}),
            "keywords": pd.DataFrame(words, columns=["item", "keyword"]),
            "orderings": pd.DataFrame(
                [("more", f"kind{t:02d}", float(t)) for t in range(TOPICS)], columns=["attribute", "target", "strength"]
            ),
        }
    )
    role = np.array(["base", "base", "base", "base", "rank", "rank", "valid", "test", "test", "test"])
    table = pd.DataFrame({"item_id": ids, "group_id": ids, "role": role[np.arange(items) % 10], "fold": 0})
    return Inputs(features, labels, Roles(table))
