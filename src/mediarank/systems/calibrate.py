"""Probabilities of a fitted system: one sigmoid per name, fitted on items of the role `valid`.

`calibration_arrays` makes them after a fit, to be kept among the model's arrays; `calibration_in` reads them again.
`probabilities_of` gives those of the items that a system was tested on.
Only systems whose names are shown by items or not have them: concepts, events and annotation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mediarank.evaluation.calibration import Calibration, fit_calibration
from mediarank.labels import Labels
from mediarank.systems.contract import Inputs
from mediarank.systems.model import Arrays, RankingModel
from mediarank.types import FeatureMatrix, drawn_by_lot

PREFIX: Final = "calibration."
FEWEST: Final = 10
"""Held-out items below which nothing is calibrated."""
MOST: Final = 5000
"""Held-out items that are used, at most, drawn by lot: a system may compare each with all that it learned from."""


def shown_by(system: str, labels: Labels) -> tuple[list[tuple[str, str]], set[str]] | None:
    """(name, item) pairs that hold and the items that were labelled; None for systems without such names."""
    if system == "concepts":
        return labels.shown, labels.looked_at
    if system == "events":
        table = labels["events"]
        holds = table[table["relevant"].astype(bool)]
        return list(zip(holds["event"], holds["clip"], strict=True)), set(table["clip"])
    if system == "annotation":
        table = labels["keywords"]
        return list(zip(table["keyword"], table["item"], strict=True)), set(table["item"])
    return None


def calibration_arrays(system: str, model: RankingModel, inputs: Inputs) -> Arrays:
    """The served method's calibration as arrays; none where there are too few held-out items."""
    found = shown_by(system, inputs.labels)
    if found is None:
        return {}
    pairs, labelled = found
    able = set(model.able(inputs.features))
    held_out = [item for item in inputs.roles.items("valid") if item in labelled and item in able]
    items = drawn_by_lot(held_out, MOST, 0)
    if len(items) < FEWEST:
        return {}
    place, column = {item: k for k, item in enumerate(items)}, {name: k for k, name in enumerate(model.names)}
    labels = np.zeros((len(items), len(column)), bool)
    for name, item in pairs:
        if item in place and name in column:
            labels[place[item], column[name]] = True
    scores = model.rank(inputs.features, items)
    made = fit_calibration(scores, labels, model.names).to_arrays()
    return {f"{PREFIX}{name}": array for name, array in made.items()}


def calibration_in(arrays: Mapping[str, Any]) -> Calibration | None:
    """The calibration among a model's arrays, if there is one."""
    if f"{PREFIX}names" not in arrays:
        return None
    own = [name for name in arrays if name.startswith(PREFIX)]
    return Calibration.from_arrays({name.removeprefix(PREFIX): arrays[name] for name in own})


def probabilities_of(
    model: RankingModel, arrays: Mapping[str, Any], inputs: Inputs, tested: npt.NDArray[np.str_]
) -> FeatureMatrix | None:
    """Probabilities of the tested items by the served method; None if the model has no calibration.

    tested : the test items; they are scored again, because scores of an evaluation may be mere orders
    """
    calibration = calibration_in(arrays)
    if calibration is None:
        return None
    scores = model.rank(inputs.features, tested.tolist())
    return FeatureMatrix(tested, tuple(model.names), calibration.probabilities(scores).astype(np.float32))
