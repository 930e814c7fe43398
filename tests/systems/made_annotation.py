"""Images of a few topics, described by two feature types, with the topic's words; what `annotation` learns from."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mediarank.labels import Labels
from mediarank.systems.annotation.config import AVERAGE, METHODS, Config
from mediarank.systems.contract import Inputs
from mediarank.types import FeatureMatrix, Roles

TOPICS = (("sea", "boat"), ("forest", "tree"), ("city", "tower"), ("field", "cow"))

QUICK = Config(
    ("colour", "noise"),
    {"colour": "l2"},
    (*METHODS, AVERAGE),
    folds=3,
    pairs=(20,),
    fold_pairs=10,
    rounds=(5, 20),
    ndcg_depth=(50,),
    tagprop_neighbours=20,
    tagprop_iterations=10,
)


def made_inputs(images: int = 80, seed: int = 0, noise: float = 0.25) -> Inputs:
    """Every fourth image is for testing. `colour` tells topics apart, `noise` tells nothing, `flat` is constant."""
    rng = np.random.default_rng(seed)
    topic = rng.permutation(np.arange(images) % len(TOPICS))
    items = [f"images/{k:03d}.jpg" for k in range(images)]
    values = {
        "colour": np.eye(len(TOPICS))[topic] + noise * rng.random((images, len(TOPICS))),
        "noise": rng.random((images, 5)),
        "flat": np.ones((images, 3)),
    }
    features = {
        name: FeatureMatrix(np.array(items), tuple(f"x{d}" for d in range(rows.shape[1])), rows.astype(np.float32))
        for name, rows in values.items()
    }
    words = [(item, word) for item, t in zip(items, topic, strict=True) for word in TOPICS[t]]
    words += [(item, f"rare{k % 9}") for k, item in enumerate(items)]
    role = [("base", "rank", "test", "valid")[k % 4] for k in range(images)]
    return Inputs(
        features,
        Labels({"keywords": pd.DataFrame(words, columns=["item", "keyword"])}),
        Roles(pd.DataFrame({"item_id": items, "group_id": items, "role": role, "fold": 0})),
    )
