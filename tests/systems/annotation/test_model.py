"""The fitted model: stored completely, asked by any method and for some words, never using the image itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from made_annotation import QUICK, made_inputs

from mediarank.learners.neighbours.neighbour_rankers import BoostedOrder, WeightedSum
from mediarank.systems.annotation.fit import fit
from mediarank.systems.annotation.model import Model
from mediarank.systems.contract import Inputs
from mediarank.systems.model import Fitted, Needs, Parts
from mediarank.types import ConfigError, DataError, FeatureMatrix


class Lazy(Mapping[str, Any]):
    """A mapping that records which of its values were opened."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values_, self.read = values, set[str]()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return self.values_[name]

    def __contains__(self, name: object) -> bool:
        return name in self.values_

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    return made_inputs()


@pytest.fixture(scope="module")
def fitted(inputs: Inputs) -> Fitted:
    return fit(inputs, QUICK)


@pytest.fixture
def again(inputs: Inputs, fitted: Fitted) -> Model:
    """The model as it comes back from disk, where JSON has sorted its keys."""
    arrays, facts = fitted.model.to_arrays()
    return Model.from_arrays(arrays, json.loads(json.dumps(facts, sort_keys=True)), Parts(inputs.features))


@pytest.mark.parametrize("method", QUICK.methods)
def test_every_method_gives_the_scores_of_the_stage(method: str, inputs: Inputs, fitted: Fitted, again: Model) -> None:
    recorded = fitted.scores[method]
    items = recorded.ids.tolist()
    whole = again.rank(inputs.features, items, method=method)
    assert whole.dtype == np.float64
    np.testing.assert_array_equal(whole.astype(np.float32), recorded.values)
    some = ["tree", "boat"]
    columns = [again.names.index(word) for word in some]
    np.testing.assert_allclose(again.rank(inputs.features, items, some, method), whole[:, columns], rtol=1e-5)
    np.testing.assert_allclose(again.rank(inputs.features, items[3:4], method=method)[0], whole[3], rtol=1e-5)


def test_what_is_kept(fitted: Fitted, again: Model) -> None:
    assert (again.methods, again.served, again.names) == (
        fitted.model.methods, fitted.model.served, fitted.model.names,
    )  # fmt: skip
    assert again.ranker("2pknn") is again.ranker("jec")
    assert isinstance(again.ranker("rnn"), BoostedOrder)
    assert isinstance(again.ranker("tagprop"), WeightedSum)
    chosen = again.facts["settings"]["rnn"]
    assert chosen["pairs"] == 20
    assert chosen["rounds"] in (5, 20)
    assert again.to_arrays()[1] == fitted.model.to_arrays()[1]
    assert Model.needs_of(again.facts) == Needs(("colour", "noise"), collection=("colour", "noise"))


def test_only_what_a_method_needs_is_opened(inputs: Inputs, fitted: Fitted) -> None:
    arrays, facts = fitted.model.to_arrays()
    stored, matrices = Lazy(arrays), Lazy(inputs.features)
    model = Model.from_arrays(stored, facts, Parts(matrices))
    assert not stored.read
    assert not matrices.read
    test = inputs.roles.items("test")
    model.rank(inputs.features, test, ["sea"], "best_feature")
    assert stored.read == {"keyword_starts", "keywords", "best_feature.weights"}
    assert matrices.read == {"colour"}, "the best feature is the only one that it looks at"
    np.testing.assert_array_equal(
        model.rank({"colour": inputs.features["colour"]}, test, ["sea"], "best_feature"),
        model.rank(inputs.features, test, ["sea"], "best_feature"),
    )


def test_a_labelled_image_is_annotated_by_the_others(inputs: Inputs, again: Model) -> None:
    item = again.facts["items"][0]
    as_item = again.rank(inputs.features, [item], method="jec")[0]
    named = {again.names[w] for w in np.flatnonzero(as_item > 1)}
    words = set(inputs.labels["keywords"].query("item == @item")["keyword"])
    assert not {w for w in words if w.startswith("rare")} & named, "no other image has topic and rare word alike"
    renamed = {
        name: FeatureMatrix(np.array(["outside.jpg"]), matrix.names, matrix.rows([item]))
        for name, matrix in inputs.features.items()
    }
    as_file = again.rank(renamed, ["outside.jpg"], method="jec")[0]
    assert words <= {again.names[w] for w in np.flatnonzero(as_file > 1)}, "its own copy is its nearest neighbour"


def test_what_is_missing_is_named(inputs: Inputs, fitted: Fitted, again: Model) -> None:
    test = inputs.roles.items("test")
    with pytest.raises(ConfigError, match="mystery"):
        again.rank(inputs.features, test, method="mystery")
    with pytest.raises(DataError, match="unicorn"):
        again.rank(inputs.features, test, ["unicorn"])
    with pytest.raises(DataError, match="noise"):
        again.rank({"colour": inputs.features["colour"]}, test, method="jec")
    few = {name: FeatureMatrix(m.ids[:9], m.names, m.values[:9]) for name, m in inputs.features.items()}
    arrays, facts = fitted.model.to_arrays()
    for matrices in (few, {}):
        with pytest.raises(DataError, match="dvc repro"):
            Model.from_arrays(arrays, facts, Parts(matrices)).rank(inputs.features, test, method="jec")
