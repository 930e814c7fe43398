"""`attributes`: which of two items shows more of an attribute? (paper 004)

One ranker per attribute, over kernels that all attributes share. `prepare.py` computes what they share, `methods.py`
learns, `model.py` is what is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from mediarank.fanout import one_thread
from mediarank.learners.pairwise.supervision import ordered_items
from mediarank.systems.attributes.config import Config
from mediarank.systems.attributes.methods import learn_methods
from mediarank.systems.attributes.model import Model
from mediarank.systems.attributes.prepare import prepare
from mediarank.systems.contract import Inputs
from mediarank.systems.model import Fitted, choose_served
from mediarank.types import FeatureMatrix, NotApplicable

TRAINING: Final = ("base", "rank", "valid")
"""Roles to learn from: cross-validation inside them chooses all numbers and the served method."""


def fit(inputs: Inputs, config: Config) -> Fitted:
    """Learn from the ordered items that are not for testing, and score the ordered ones that are."""
    with one_thread("blas"):  # the same digits on any number of cores
        return _fit(inputs, config)


def _fit(inputs: Inputs, config: Config) -> Fitted:
    features = {name: inputs.feature(name) for name in config.features}
    ordered = {item for item in ordered_items(inputs.labels) if all(item in matrix for matrix in features.values())}
    items, asked = (sorted(ordered.intersection(inputs.roles.items(*roles))) for roles in (TRAINING, ("test",)))
    if not asked:
        raise NotApplicable(
            "attributes scores items of role test that are ordered and have all its feature types; there are none."
        )
    model = fit_model(inputs, items, config)
    ids = np.array(asked, dtype=str)
    scores = {
        method: FeatureMatrix(ids, model.names, model.rank(features, asked, method=method).astype(np.float32))
        for method in model.methods
    }
    return Fitted(model, scores)


def fit_model(inputs: Inputs, items: Sequence[str], config: Config) -> Model:
    """Learn every attribute that the labels name from the items, which must have all feature types."""
    prepared = prepare(inputs, items, config)
    learned = learn_methods(inputs, prepared, config)
    validation = {name: method.validation for name, method in learned.items()}
    arrays: dict[str, np.ndarray[Any, Any]] = {
        f"anchors_{k}": kernel.anchors for k, kernel in enumerate(prepared.kernels)
    }
    for name, method in learned.items():
        arrays |= {f"{name}.{part}": values for part, values in method.arrays.items()}
    facts = {
        "methods": list(learned),
        "validation": validation,
        "served": choose_served(validation, config.serve),
        "names": list(prepared.pairs),
        "features": list(config.features),
        "kernels": [
            {"feature": choice.feature, "kernel": kernel.kernel, "gamma": kernel.gamma, "scale": kernel.scale}
            for choice, kernel in zip(config.kernels, prepared.kernels, strict=True)
        ],
        "settings": {
            name: {"kind": method.kind, "kernels": list(method.kernels), **method.settings}
            for name, method in learned.items()
        },
        "learned": {name: dict(method.facts) for name, method in learned.items()},
    }
    return Model(arrays, facts)
