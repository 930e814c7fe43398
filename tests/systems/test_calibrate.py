"""Probabilities of a fitted system: which items and names they come from, and that they can be kept."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mediarank.labels import Labels
from mediarank.systems import calibrate
from mediarank.systems.calibrate import calibration_arrays, calibration_in, shown_by
from mediarank.systems.contract import Inputs
from mediarank.types import FeatureMatrix, Roles

ITEMS = [f"i{k:03d}" for k in range(200)]
VALID = ITEMS[100:180]


def made() -> tuple[Any, Inputs]:
    """A model whose score for `boat` is a column of the features, and labels that follow it."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 1)).astype(np.float32)
    shows = values[:, 0] > 0.5
    labels = Labels(
        {"concepts": pd.DataFrame({"item": ITEMS, "concept": "boat", "relevant": shows})},
    )
    roles = Roles(
        pd.DataFrame(
            {"item_id": ITEMS, "group_id": ITEMS, "role": ["valid" if i in VALID else "base" for i in ITEMS], "fold": 0}
        )
    )
    matrix = FeatureMatrix(np.array(ITEMS), ("c",), values)
    asked: list[list[str]] = []

    def rank(described: dict[str, FeatureMatrix], items: list[str]) -> np.ndarray:
        asked.append(items)
        score = described["a"].rows(items)[:, :1].astype(float)
        return np.hstack([score, -score])

    model = SimpleNamespace(names=("boat", "car"), able=lambda described: ITEMS[:150], rank=rank, asked=asked)
    return model, Inputs({"a": matrix}, labels, roles)


def test_it_is_fitted_on_held_out_items_that_can_be_asked() -> None:
    model, inputs = made()
    arrays = calibration_arrays("concepts", model, inputs)
    assert model.asked == [ITEMS[100:150]]
    found = calibration_in({**arrays, "other": np.zeros(1)})
    assert found is not None
    assert found.names == ("boat", "car")
    p = found.probabilities(np.array([[2.0], [-2.0]]), ["boat"])[:, 0]
    assert p[0] > 0.9
    assert p[1] < 0.1
    assert found.positives[1] == 0, "nothing shows a car"


def test_of_many_held_out_items_a_sample_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "MOST", 20)
    model, inputs = made()
    calibration_arrays("concepts", model, inputs)
    [asked] = model.asked
    assert len(asked) == 20
    assert asked == sorted(asked)
    assert set(asked) < set(ITEMS[100:150])


@pytest.mark.parametrize("system", ["retrieval", "attributes"])
def test_systems_without_such_names_have_none(system: str) -> None:
    model, inputs = made()
    assert calibration_arrays(system, model, inputs) == {}
    assert calibration_in({}) is None


def test_too_few_held_out_items_give_none() -> None:
    model, inputs = made()
    model.able = lambda described: ITEMS[:105]
    assert calibration_arrays("concepts", model, inputs) == {}


def test_where_names_come_from() -> None:
    labels = Labels(
        {
            "events": pd.DataFrame({"clip": ["a", "b"], "event": ["run", "run"], "relevant": [True, False]}),
            "keywords": pd.DataFrame({"item": ["c"], "keyword": ["sea"]}),
        }
    )
    assert shown_by("events", labels) == ([("run", "a")], {"a", "b"})
    assert shown_by("annotation", labels) == ([("sea", "c")], {"c"})
