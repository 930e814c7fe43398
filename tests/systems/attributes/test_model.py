"""The fitted model: known scores, found by id, stored completely, and one attribute costs one attribute."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from made_attributes import CONFIG, collection

from mediarank.systems.attributes.fit import fit
from mediarank.systems.attributes.model import Model
from mediarank.systems.model import Fitted, Parts
from mediarank.types import ConfigError, DataError, FeatureMatrix

FEATURES = {
    "shape": FeatureMatrix(np.array(["a", "b"]), ("x", "y"), np.array([[1, 9], [2, 9]], np.float32)),
    "colour": FeatureMatrix(np.array(["b", "a"]), ("z",), np.array([[5], [4]], np.float32)),
}


class Lazy(Mapping[str, Any]):
    """Arrays that record which of them were read."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.arrays, self.read = arrays, set[str]()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return self.arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)


def made() -> tuple[dict[str, Any], dict[str, Any]]:
    """Two linear kernels with one anchor each, and a linear method; scores can be computed by hand."""
    arrays = {
        "anchors_0": np.float32([[1, 0]]),
        "anchors_1": np.float32([[2]]),
        "rankmkl.coefficients_0": np.float32([[1, 3]]),
        "rankmkl.coefficients_1": np.float32([[10, 0]]),
        "only_shape.coefficients_0": np.float32([[1, 1]]),
        "concatenation.direction_shape": np.array([[1.0, 0.0], [0.0, 1.0]]),
        "concatenation.direction_colour": np.array([[2.0, 0.0]]),
        "concatenation.offset": np.array([0.5, 0.0]),
        "posterior.coefficients_0": np.float32([[1, 0]]),
        "posterior.shares": np.array([0.5, 0.5]),
        "posterior.strengths": np.array([[4.0, 1.0], [2.0, 1.0]]),
        "posterior_mkl.units": np.array([[2.0, 1.0], [10.0, 3.0]]),
    }
    facts = {
        "methods": ["rankmkl", "only_shape", "concatenation", "posterior", "posterior_mkl"],
        "validation": {"rankmkl": 0.9, "only_shape": 0.8, "concatenation": 0.7, "posterior": 0.6, "posterior_mkl": 0.5},
        "served": "rankmkl",
        "names": ["open", "green"],
        "features": ["shape", "colour"],
        "kernels": [
            {"feature": "shape", "kernel": "linear", "gamma": None, "scale": 1.0},
            {"feature": "colour", "kernel": "linear", "gamma": None, "scale": 2.0},
        ],
        "settings": {
            "rankmkl": {"kind": "kernels", "kernels": [0, 1]},
            "only_shape": {"kind": "kernels", "kernels": [0]},
            "concatenation": {"kind": "linear", "kernels": []},
            "posterior": {"kind": "posterior", "kernels": [0], "temperature": 0.5, "classes": ["sea", "room"]},
            "posterior_mkl": {"kind": "average", "kernels": [], "of": ["posterior", "rankmkl"]},
        },
    }
    return arrays, facts


def test_known_scores_found_by_id() -> None:
    model = Model(*made())
    # open = shape_x · 1 + colour_z · 2 / 2 · 10, green = 3 shape_x; colour's rows come in another order
    np.testing.assert_allclose(model.rank(FEATURES, ["a", "b"]), [[41, 3], [52, 6]])
    np.testing.assert_allclose(model.rank(FEATURES, ["b"], ["green", "open"]), [[6, 52]])
    np.testing.assert_allclose(model.rank(FEATURES, ["a", "b"], method="only_shape"), [[1, 1], [2, 2]])
    np.testing.assert_allclose(model.rank(FEATURES, ["a", "b"], method="concatenation"), [[9.5, 9], [12.5, 9]])
    # sea scores shape_x + ½, room ½, at half the temperature: e² : 1 and e⁴ : 1
    sea = np.exp([2, 4]) / (np.exp([2, 4]) + 1)
    np.testing.assert_allclose(model.rank(FEATURES, ["a", "b"], ["open"], "posterior")[:, 0], 2 + 2 * sea)
    np.testing.assert_allclose(
        model.rank(FEATURES, ["a", "b"], ["open"], "posterior_mkl")[:, 0], (2 + 2 * sea) / 2 + np.array([4.1, 5.2])
    )
    assert model.rank(FEATURES, []).shape == (0, 2)
    assert model.rank(FEATURES, ["a"]).dtype == np.float64
    assert model.ask(FEATURES, ["a", "b"], "green").scores.tolist() == [3, 6]


def test_one_attribute_reads_only_what_it_needs() -> None:
    arrays, facts = made()
    lazy = Lazy(arrays)
    model = Model.from_arrays(lazy, facts, Parts())
    assert not lazy.read, "opening reads nothing"
    model.rank(FEATURES, ["a"], ["green"])
    assert lazy.read == {"anchors_0", "rankmkl.coefficients_0", "rankmkl.coefficients_1"}, "colour has no weight in it"


def test_what_is_missing_is_named() -> None:
    model = Model(*made())
    with pytest.raises(DataError, match="colour"):
        model.rank({"shape": FEATURES["shape"]}, ["a"])
    with pytest.raises(DataError, match="open, green"):
        model.rank(FEATURES, ["a"], ["old"])
    with pytest.raises(DataError, match="no row"):
        model.rank(FEATURES, ["c"])
    with pytest.raises(ConfigError, match="only_shape"):
        model.rank(FEATURES, ["a"], method="lambdamart")


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    return fit(collection(), CONFIG)


def test_stored_and_read_it_gives_the_scores_of_the_stage(fitted: Fitted) -> None:
    features = collection().features
    arrays, facts = fitted.model.to_arrays()
    again = Model.from_arrays(arrays, json.loads(json.dumps(facts, sort_keys=True)), Parts())
    assert (again.methods, again.served, again.names) == (
        fitted.model.methods, fitted.model.served, fitted.model.names,
    )  # fmt: skip
    assert again.able(features) == sorted(features["shape"].ids)
    for method, recorded in fitted.scores.items():
        items = recorded.ids.tolist()
        whole = again.rank(features, items, method=method)
        np.testing.assert_array_equal(whole.astype(np.float32), recorded.values)
        np.testing.assert_allclose(again.rank(features, items, ["open"], method)[:, 0], whole[:, 1], rtol=1e-12)
        np.testing.assert_allclose(again.rank(features, items[7:8], method=method)[0], whole[7], rtol=1e-5)
    assert again.to_arrays()[1] == facts
