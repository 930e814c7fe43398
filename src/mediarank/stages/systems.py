"""Stage `systems`: fit one system and rank the test items with each of its methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mediarank import store
from mediarank.base_models.pool import SVMPool
from mediarank.evaluation.rankings import Rankings
from mediarank.systems.calibrate import calibration_arrays, probabilities_of
from mediarank.systems.contract import Inputs
from mediarank.systems.model import Arrays, Needs
from mediarank.systems.registry import fit_of
from mediarank.types import DataError, FeatureMatrix, NotApplicable


@dataclass(frozen=True)
class FittedSystem:
    """What the stage writes.

    arrays, facts : the model, for npz and JSON; the facts `{"skipped": reason}` say why there is none
    scores : method -> test items × names, or the best names of each
    figures : tables of the paper's figures
    probabilities : test items × names by the served method, where it has a calibration
    """

    arrays: Arrays
    facts: Mapping[str, Any]
    scores: Mapping[str, FeatureMatrix | Rankings] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)
    probabilities: FeatureMatrix | None = None


def run(name: str, config: Any, needs: Needs, data: Path) -> str:
    """Write `systems/<name>`; returns a line that says what was fitted.

    needs : the feature types and base models that this configuration names; nothing else is opened
    """
    fitted = fit_system(name, read_inputs(needs, data), config)
    store.write_outcome(data / "systems" / name, fitted.arrays, fitted.facts, fitted.scores, fitted.figures)
    if fitted.probabilities is not None:
        store.write_features(data / "systems" / name / "probabilities", fitted.probabilities)
    if "skipped" in fitted.facts:
        return f"{name} is skipped: {fitted.facts['skipped']}"
    return f"{name}: {len(fitted.scores)} methods fitted; {fitted.facts['served']} is served"


def read_inputs(needs: Needs, data: Path) -> Inputs:
    """The labels, the roles, and the feature types and base models that are named."""
    folders = {name: data / "base_models" / name for name in needs.base_models}
    return Inputs(
        {name: store.read_features(data / "features" / name) for name in needs.features},
        store.read_labels(data / "manifest/labels"),
        store.read_roles(data / "splits/roles.parquet"),
        {
            name: SVMPool.from_arrays(store.read_arrays(folder / "model.npz"), store.read_json(folder / "model.json"))
            for name, folder in folders.items()
        },
        {name: store.read_features(folder / "scores/normalised") for name, folder in folders.items()},
    )


def fit_system(name: str, inputs: Inputs, config: Any) -> FittedSystem:
    """The fitted system, or the reason why this collection can't be used for it."""
    try:
        fitted = fit_of(name)(inputs, config)
    except NotApplicable as error:
        return FittedSystem({}, {"skipped": str(error)})
    for method, scores in fitted.scores.items():
        if not len(scores):
            raise DataError(f"{name}/{method} ranked nothing: no test item has the labels that it needs.")
        scores.require_finite()
    arrays, facts = fitted.model.to_arrays()
    arrays = {**arrays, **calibration_arrays(name, fitted.model, inputs)}
    tested = fitted.scores.get(fitted.model.served)
    probabilities = None if tested is None else probabilities_of(fitted.model, arrays, inputs, tested.ids)
    return FittedSystem(arrays, facts, fitted.scores, fitted.figures, probabilities)
