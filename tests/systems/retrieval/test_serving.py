"""A served retrieval model gives the scores that the system gave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_retrieval import CONFIG, inputs

from mediarank.systems.retrieval import fit as retrieval
from mediarank.systems.retrieval import serving as retrieval_serving
from mediarank.types import ConfigError, DataError, FeatureMatrix


def test_scores_are_those_of_the_stage() -> None:
    given = inputs()
    outcome = retrieval.run(given, CONFIG)
    served = retrieval_serving.serve(outcome.arrays, outcome.facts, given.features)
    recorded = outcome.scores[served.method]
    assert served.names == recorded.names
    np.testing.assert_array_equal(served.rank(given.features, recorded.ids.tolist()), recorded.values)


def test_the_method_with_the_best_validation_is_served() -> None:
    outcome = retrieval.run(inputs(), CONFIG)
    found = {name: method["validation_map"] for name, method in outcome.facts["methods"].items()}
    assert found[retrieval_serving.method(outcome.arrays, outcome.facts)] == max(found.values())
    assert retrieval_serving.needs(outcome.facts) == CONFIG.features


def test_without_a_linear_method_there_is_nothing_to_serve() -> None:
    outcome = retrieval.run(inputs(), replace(CONFIG, methods=("ranknet",)))
    with pytest.raises(ConfigError, match=r"systems\.retrieval\.methods"):
        retrieval_serving.method(outcome.arrays, outcome.facts)


def test_items_that_no_feature_type_shares_are_refused() -> None:
    given = inputs()
    outcome = retrieval.run(given, CONFIG)
    good, noise = given.features["good"], given.features["noise"]
    apart = {
        "good": FeatureMatrix(good.ids[:4], good.names, good.values[:4]),
        "noise": FeatureMatrix(noise.ids[4:], noise.names, noise.values[4:]),
    }
    with pytest.raises(DataError, match="No item has all of the feature types"):
        retrieval_serving.serve(outcome.arrays, outcome.facts, apart)
