"""The fitted annotation system: kept whole, served by its best method, and honest about labelled images."""

from __future__ import annotations

import json

import numpy as np
import pytest
from made_annotation import QUICK, made_inputs

from mediarank.learners.neighbours.neighbour_rankers import BoostedOrder, WeightedSum
from mediarank.systems.annotation.fit import run
from mediarank.systems.annotation.model import AnnotationModel, method, needs, serve
from mediarank.systems.contract import Inputs, Outcome
from mediarank.types import ConfigError, DataError, FeatureMatrix


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    return made_inputs()


@pytest.fixture(scope="module")
def outcome(inputs: Inputs) -> Outcome:
    return run(inputs, QUICK)


def test_the_model_is_kept_whole(inputs: Inputs, outcome: Outcome) -> None:
    facts = json.loads(json.dumps(outcome.facts, sort_keys=True))  # as it comes back from disk
    model = AnnotationModel.of_arrays(outcome.arrays, facts)
    test = inputs.roles.items("test")
    rows = [[inputs.features[name].rows(items) for name in QUICK.features] for items in (test, model.items)]
    for name, scores in model.scores(*rows).items():
        np.testing.assert_array_equal(scores, outcome.scores[name].rows(test), err_msg=name)
    assert model.rankers["2pknn"] is model.rankers["jec"]
    assert isinstance(model.rankers["rnn"], BoostedOrder)
    assert isinstance(model.rankers["tagprop"], WeightedSum)
    chosen = outcome.facts["methods"]["rnn"]
    assert chosen["pairs"] == 20
    assert chosen["rounds"] in (5, 20)


def test_served_it_is_the_best_in_cross_validation(inputs: Inputs, outcome: Outcome) -> None:
    served = serve(outcome.arrays, outcome.facts, inputs.features)
    found = outcome.facts["methods"]
    assert found[served.method]["validation_f1"] == max(method["validation_f1"] for method in found.values())
    test = inputs.roles.items("test")
    got = served.rank(inputs.features, test)
    np.testing.assert_array_equal(got, outcome.scores[served.method].rows(test))
    assert serve(outcome.arrays, outcome.facts, inputs.features, "jec").method == "jec"
    with pytest.raises(ConfigError, match="no method 'mystery'"):
        serve(outcome.arrays, outcome.facts, inputs.features, "mystery")
    few = {name: FeatureMatrix(m.ids[:9], m.names, m.values[:9]) for name, m in inputs.features.items()}
    with pytest.raises(DataError, match="run dvc repro"):
        serve(outcome.arrays, outcome.facts, few)


def test_a_labelled_image_is_not_asked_about_itself(inputs: Inputs, outcome: Outcome) -> None:
    model = AnnotationModel.of_arrays(outcome.arrays, outcome.facts)
    known = [inputs.features[name].rows(model.items) for name in QUICK.features]
    own = [rows[:1] for rows in known]
    alone = model.scores(own, known, ["jec"], names=model.items[:1])["jec"][0]
    named = [model.keywords.words[w] for w in np.flatnonzero(alone > 1)]
    words = set(inputs.labels["keywords"].query("item == @model.items[0]")["keyword"])
    assert not {w for w in words if w.startswith("rare")} & set(named), "no other image has topic and rare word alike"
    assert model.scores(own, known, ["jec"])["jec"][0].max() > 1


def test_what_a_server_asks_for(outcome: Outcome) -> None:
    assert needs(outcome.facts) == ("colour", "noise")
    assert method(outcome.arrays, outcome.facts) in outcome.facts["methods"]
