"""How fitting and testing base models and systems grows, on drawn vectors and labels; part of scale.py."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import SVMConfig
from mediarank.labels import Labels
from mediarank.stages.base_models import fit_base_models
from mediarank.stages.systems import fit_system
from mediarank.systems.annotation.config import Config as AnnotationConfig
from mediarank.systems.attributes.config import Config as AttributesConfig
from mediarank.systems.attributes.config import KernelChoice
from mediarank.systems.concepts.config import Config as ConceptsConfig
from mediarank.systems.contract import Inputs
from mediarank.systems.events.config import Config as EventsConfig
from mediarank.types import FeatureMatrix, Roles

TOPICS = 50
CONCEPTS = 5
"""Topics that are concepts as well, and events."""
WIDTHS = {"one": 64, "other": 32}
CONFIGS: dict[str, Any] = {
    "annotation": AnnotationConfig(tuple(WIDTHS), methods=("jec_vote",), folds=2, queries=1000),
    "attributes": AttributesConfig(
        tuple(KernelChoice(name) for name in WIDTHS), methods=("equal_weights",), svm_cost=(0.1,), folds=2
    ),
    "concepts": ConceptsConfig(methods=("logistic_stacking", "rankboost", "forward_cascade"), lambdas=()),
    "events": EventsConfig(
        ("motion", "sound"), motion="one", sound="other", methods=("average", "log_odds"), repeats=0
    ),
}


def measure(folder: Path, items: int) -> dict[str, float]:
    """What is fitted -> processor seconds for this many items, and the most memory so far after each."""
    with mock.patch.dict(os.environ, {"MEDIARANK_JOBS": "1"}):  # in this process, whose processor time is measured
        return _measure(drawn(items))


def _measure(inputs: Inputs) -> dict[str, float]:
    spent: dict[str, float] = {}

    def timed(what: str, work: Callable[[], Any]) -> Any:
        began = time.process_time()
        found = work()
        spent[what] = round(time.process_time() - began, 1)
        spent[f"{what} mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
        return found

    models = timed("base_models", lambda: {name: _base_models(name, inputs) for name in WIDTHS})
    pools = {name: SVMPool.from_arrays(arrays, facts) for name, (arrays, facts, _) in models.items()}
    inputs = replace(inputs, pools=pools, base_scores={name: scores for name, (_, _, scores) in models.items()})
    for name, config in CONFIGS.items():
        fitted = timed(name, partial(fit_system, name, inputs, config))
        spent[f"{name} tested"] = len(next(iter(fitted.scores.values())))
    return spent


def _base_models(name: str, inputs: Inputs) -> Any:
    config = SVMConfig(learner="ridge", kernel="exponential_chi2")
    return fit_base_models(name, inputs.features[name], inputs.labels, inputs.roles, config)


def drawn(items: int) -> Inputs:
    """Items of some topics, each with a class, an attribute that goes with it, and three words.

    The first topics are concepts and events, for which every item is judged.
    """
    rng = np.random.default_rng(0)
    ids = [f"a{k // 1000:05d}/{k:08d}.jpg" for k in range(items)]
    topic = rng.integers(0, TOPICS, items)
    features = {}
    for name, width in WIDTHS.items():
        values = np.abs(rng.normal(size=(TOPICS, width))[topic] + 0.5 * rng.normal(size=(items, width)))
        features[name] = FeatureMatrix(np.array(ids), tuple(map(str, range(width))), values.astype(np.float32))
    words = [(item, f"word{(t + k) % TOPICS}") for item, t in zip(ids, topic.tolist(), strict=True) for k in range(3)]
    judged = {"concept": np.tile([f"kind{c:02d}" for c in range(CONCEPTS)], items)}
    judged["relevant"] = (topic[:, None] == np.arange(CONCEPTS)).ravel()
    labels = Labels(
        {
            "concepts": pd.DataFrame({"item": np.repeat(ids, CONCEPTS), **judged}),
            "events": pd.DataFrame({"clip": np.repeat(ids, CONCEPTS), **judged}).rename(columns={"concept": "event"}),
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
