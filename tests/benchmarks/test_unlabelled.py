"""Search without labels, measured by hidden classes."""

from __future__ import annotations

import numpy as np
import unlabelled

from mediarank.types import FeatureMatrix


def test_hidden_classes_measure_and_clicks_help() -> None:
    rng = np.random.default_rng(0)
    ids = np.array([f"i{k:03d}" for k in range(120)])
    member = np.arange(120) % 4
    told = (rng.normal(size=(4, 6))[member] + 0.7 * rng.normal(size=(120, 6))).astype(np.float32)
    noise = rng.normal(size=(120, 6)).astype(np.float32)
    names = tuple("abcdef")
    matrices = {"gist": FeatureMatrix(ids, names, noise), "network": FeatureMatrix(ids, names, told)}
    model = unlabelled.without_labels(matrices, ("gist", "network"))
    assert model.served == "unlabelled"
    classes = {item: str(m) for item, m in zip(ids.tolist(), member, strict=True)}
    found = unlabelled.measured(model, classes, ids[:40].tolist())
    assert found["p10_network"] > found["p10_uniform"] > 0.25
    assert found["p10_after_20_clicks"] > found["p10_network"]
    assert found == unlabelled.measured(model, classes, ids[:40].tolist())
