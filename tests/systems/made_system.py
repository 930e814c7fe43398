"""A made-up system for tests of the stages: an item belongs to the class whose mean is near.

Its four parts are modules that `register` puts where the registry looks for them, so that the stages open them as
they open the real ones.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mediarank import store
from mediarank.base_models.svm import SVMConfig
from mediarank.evaluation.answers import Answer, Measure, Quality
from mediarank.evaluation.blocks import Text
from mediarank.evaluation.measured import EvaluationConfig, Measured
from mediarank.evaluation.report import Section
from mediarank.labels import Labels
from mediarank.stages import base_models
from mediarank.systems import registry
from mediarank.systems.contract import Inputs
from mediarank.systems.model import Arrays, Described, Fitted, Needs, Parts, RankingModel, choose_served
from mediarank.systems.results import SystemResult
from mediarank.types import Doubles, FeatureMatrix, NotApplicable, Roles

ITEMS = tuple(f"{kind}_{number}.jpg" for kind in ("boat", "tree") for number in range(8))
CENTRES = {"boat": (1.0, 0.0), "tree": (0.0, 1.0)}


@dataclass(frozen=True)
class Config:
    """methods : `near` scores by the distance to a class's mean, `far` by its opposite"""

    features: tuple[str, ...] = ()
    base_models: tuple[str, ...] = ()
    methods: tuple[str, ...] = ("near", "far")
    serve: str | None = None


class Model(RankingModel):
    def __init__(self, feature: str, means: Mapping[str, Doubles], methods: Sequence[str], served: str) -> None:
        self.feature, self.means, self.methods, self.served = feature, means, tuple(methods), served
        self.validation = {method: 1.0 if method == "near" else 0.0 for method in methods}
        self.names, self.needs = tuple(sorted(means)), Needs((feature,))

    def rank(
        self, described: Described, items: Sequence[str], names: Sequence[str] | None = None, method: str | None = None
    ) -> Doubles:
        rows = described[self.feature].rows(list(items)).astype(np.float64)
        chosen = self.names if names is None else names
        far = np.stack([np.linalg.norm(rows - self.means[name], axis=1) for name in chosen], axis=1)
        return far if self.method(method) == "far" else -far

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        facts = {"methods": list(self.methods), "validation": self.validation, "served": self.served}
        return dict(self.means), {**facts, "feature": self.feature}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], facts: Mapping[str, Any], parts: Parts) -> Model:
        return cls(facts["feature"], dict(arrays), facts["methods"], facts["served"])

    @classmethod
    def needs_of(cls, facts: Mapping[str, Any]) -> Needs:
        return Needs((facts["feature"],))


def fit(inputs: Inputs, config: Config) -> Fitted:
    classes = inputs.labels.class_of
    if not classes:
        raise NotApplicable("the made-up system needs classes; there are none.")
    feature = next(iter(inputs.features))
    base, test = (sorted(inputs.roles.items(role)) for role in ("base", "test"))
    means = {
        name: inputs.feature(feature).rows([item for item in base if classes[item] == name]).mean(axis=0)
        for name in sorted(set(classes.values()))
    }
    validation = {method: 1.0 if method == "near" else 0.0 for method in config.methods}
    model = Model(feature, means, config.methods, choose_served(validation, config.serve))
    scores = {m: model.rank(inputs.features, test, method=m).astype(np.float32) for m in config.methods}
    matrices = {m: FeatureMatrix(np.array(test, dtype=str), model.names, values) for m, values in scores.items()}
    opened = [*inputs.features, *inputs.pools]
    return Fitted(model, matrices, {"opened": opened})


def measure(scores: Mapping[str, FeatureMatrix], labels: Labels, config: EvaluationConfig) -> Measured:
    classes = labels.class_of
    right = {
        method: float(np.mean([s.names[k] == classes[i] for i, k in zip(s.ids, s.values.argmax(1), strict=True)]))
        for method, s in scores.items()
    }
    table = pd.DataFrame({"method": list(right), "query": "all", "accuracy": list(right.values())})
    spread = dict.fromkeys(("mean", "low", "high"), table["accuracy"])
    summary = pd.DataFrame({"method": table["method"], "metric": "accuracy", **spread, "queries": 1, "skipped": 0})
    return Measured({m: {"accuracy": value} for m, value in right.items()}, summary, table, table)


def section(result: SystemResult, thumbnail: Any, depth: int) -> Section:
    methods, opened = ", ".join(result.scores), ", ".join(result.figures["opened"])
    return Section("Made", [Text([f"{result.served} is served; methods {methods}; opened {opened}"])])


def answer(result: SystemResult) -> Answer:
    quality = [Quality(name, 1.0, 3) for name in next(iter(result.scores.values())).names]
    mean = result.measured.metrics[result.served]["accuracy"]
    return Answer("Boat or tree?", "ask", result.served, "the nearest", "", Measure("accuracy", mean, 0, 1), quality)


def register(monkeypatch: pytest.MonkeyPatch, name: str = "made") -> None:
    """Let the registry know the made-up system, for the length of a test."""
    parts = {"config": {"Config": Config}, "fit": {"fit": fit}, "model": {"Model": Model}}
    parts["report"] = {"measure": measure, "section": section, "answer": answer}
    monkeypatch.setattr(registry, "SYSTEMS", (name,))
    for part, content in parts.items():
        monkeypatch.setitem(sys.modules, f"mediarank.systems.{name}.{part}", SimpleNamespace(**content))  # type: ignore[arg-type]


def roles() -> Roles:
    of_number = ("base", "base", "base", "rank", "valid", "test", "test", "test")
    given = [of_number[int(item.split("_")[1].removesuffix(".jpg"))] for item in ITEMS]
    return Roles(pd.DataFrame({"item_id": ITEMS, "group_id": ITEMS, "role": given, "fold": 0}))


def labels(classes: bool = True) -> Labels:
    named = [item.partition("_")[0] for item in ITEMS]
    tables = {"concepts": pd.DataFrame({"item": ITEMS, "concept": named, "relevant": True})}
    if classes:
        tables["classes"] = pd.DataFrame({"item": ITEMS, "class": named})
    return Labels(tables)


def matrix(seed: int) -> FeatureMatrix:
    centres = np.array([CENTRES[item.partition("_")[0]] for item in ITEMS])
    values = centres + np.random.default_rng(seed).normal(scale=0.05, size=centres.shape)
    return FeatureMatrix(np.array(ITEMS), ("x", "y"), values.astype(np.float32))


def write_project(data: Path, features: Sequence[str], pools: Sequence[str] = (), classes: bool = True) -> None:
    """What the stages before `systems` leave in `data`."""
    store.write_labels(data / "manifest/labels", labels(classes))
    store.write_roles(data / "splits/roles.parquet", roles())
    for seed, name in enumerate(features):
        store.write_features(data / "features" / name, matrix(seed))
    for name in pools:
        base_models.run(name, SVMConfig(bags=1), data)
