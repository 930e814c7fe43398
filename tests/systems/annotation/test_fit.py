"""The system `annotation`: what it may use, what it learns, what it keeps, and collections that lack something."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_annotation import QUICK, TOPICS, made_inputs

from mediarank.evaluation.measured import EvaluationConfig
from mediarank.labels import Labels
from mediarank.systems.annotation import report as annotation_report
from mediarank.systems.annotation.fit import fit, fit_model
from mediarank.systems.contract import Inputs
from mediarank.systems.model import Fitted
from mediarank.types import ConfigError, DataError, FeatureMatrix, NotApplicable, Roles


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    return made_inputs()


@pytest.fixture(scope="module")
def fitted(inputs: Inputs) -> Fitted:
    return fit(inputs, QUICK)


@pytest.mark.parametrize("method", QUICK.methods)
def test_every_method_finds_the_topic(method: str, inputs: Inputs, fitted: Fitted) -> None:
    measured = annotation_report.measure({method: fitted.scores[method]}, inputs.labels, EvaluationConfig(resamples=10))
    topical = measured.per_query[measured.per_query["query"].isin([word for words in TOPICS for word in words])]
    assert len(topical) == 8
    assert topical["recall"].mean() > 0.85, "by chance it would be 5 of 17"


def test_every_test_image_is_scored_for_every_known_word(inputs: Inputs, fitted: Fitted) -> None:
    assert set(fitted.scores) == set(QUICK.methods)
    for matrix in fitted.scores.values():
        assert matrix.ids.tolist() == sorted(inputs.roles.items("test"))
        assert set(matrix.names) == set(inputs.labels["keywords"]["keyword"])


def test_test_images_words_are_never_seen(inputs: Inputs, fitted: Fitted) -> None:
    table = inputs.labels["keywords"]
    hidden = set(inputs.roles.items("test"))
    changed = table.assign(keyword=table["keyword"].where(~table["item"].isin(hidden), "sea"))
    again = fit(replace(inputs, labels=Labels({"keywords": changed.drop_duplicates()})), QUICK)
    for method, matrix in fitted.scores.items():
        np.testing.assert_array_equal(again.scores[method].values, matrix.values)


def test_the_same_on_any_number_of_threads(inputs: Inputs, fitted: Fitted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    again = fit(inputs, QUICK)
    for method, matrix in fitted.scores.items():
        assert again.scores[method].values.tobytes() == matrix.values.tobytes(), method


def test_figure_1_has_every_k(fitted: Fitted) -> None:
    points = fitted.figures["effect_of_k"]
    assert [point["k"] for point in points] == [5, 10, 20, 30, 50, 100, 200, 400]
    assert points[0]["f1"] > points[-1]["f1"] + 0.2, "with all images as neighbours nothing is left to tell"
    assert fit(made_inputs(40), replace(QUICK, methods=("jec",))).figures["effect_of_k"] == []


def test_a_feature_that_is_constant_changes_nothing(inputs: Inputs) -> None:
    config = replace(QUICK, methods=("jec", "rnn", "nw_rnn"), features=("colour", "noise", "flat"))
    with_flat, without = fit(inputs, config), fit(inputs, replace(config, features=("colour", "noise")))
    arrays, _ = with_flat.model.to_arrays()
    assert not arrays["rnn.tables"][2].any()
    for method in ("rnn", "nw_rnn"):
        np.testing.assert_array_equal(with_flat.scores[method].values, without.scores[method].values)
    assert arrays["jec.weights"][2] == 0


def test_few_queries_and_several_numbers_of_pairs(inputs: Inputs) -> None:
    config = replace(QUICK, methods=("rnn", "ridge", "tagprop"), queries=20, pairs=(5, 15))
    found = fit(inputs, config)
    _, facts = found.model.to_arrays()
    assert facts["settings"]["rnn"]["pairs"] in (5, 15)
    assert len(facts["items"]) == 60, "all labelled images are neighbours"
    for matrix in found.scores.values():
        assert np.isfinite(matrix.values).all()


def test_the_served_method_validated_best_or_is_pinned(inputs: Inputs, fitted: Fitted) -> None:
    model = fitted.model
    assert model.methods == QUICK.methods
    assert model.validation[model.served] == max(model.validation.values())
    config = replace(QUICK, methods=("jec", "best_feature"), serve="best_feature")
    assert fit(inputs, config).model.served == "best_feature"
    with pytest.raises(ConfigError, match="rnn"):
        fit(inputs, replace(config, serve="rnn"))


def test_images_of_one_group_are_held_out_together(inputs: Inputs) -> None:
    table = inputs.roles.table
    paired = table.assign(group_id=[f"g{k // 8}" for k in range(len(table))], role="base")
    grouped = replace(inputs, roles=Roles(paired))
    model, _ = fit_model(grouped, inputs.roles.items("base"), replace(QUICK, methods=("jec",)))
    assert len(model.facts["items"]) == 20


def test_a_given_vocabulary_is_kept(inputs: Inputs) -> None:
    items = sorted(inputs.roles.items("base", "rank"))
    model, _ = fit_model(inputs, items, replace(QUICK, methods=("jec",)), vocabulary=["sea", "boat"])
    assert model.names == ("sea", "boat")


def test_images_that_share_no_word_have_nothing_to_prefer() -> None:
    inputs = made_inputs(40)
    items = inputs.features["colour"].ids.tolist()
    alone = pd.DataFrame({"item": items, "keyword": [f"only{k}" for k in range(40)]})
    with pytest.raises(NotApplicable, match="no two of"):
        fit(replace(inputs, labels=Labels({"keywords": alone})), replace(QUICK, methods=("rnn", "jec")))


def test_a_collection_without_keywords_has_nothing_for_annotation(inputs: Inputs) -> None:
    with pytest.raises(NotApplicable, match="keywords"):
        fit(replace(inputs, labels=Labels({})), QUICK)


def test_a_feature_type_that_describes_none_of_the_images(inputs: Inputs) -> None:
    other = FeatureMatrix(np.array(["elsewhere.jpg"]), ("x",), np.ones((1, 1), np.float32))
    features = {**inputs.features, "noise": other}
    with pytest.raises(DataError, match="has all of the feature types"):
        fit(replace(inputs, features=features), QUICK)


def test_of_many_test_images_a_sample_is_annotated(inputs: Inputs, fitted: Fitted) -> None:
    few = fit(inputs, replace(QUICK, methods=("jec",), test_items=5)).scores["jec"]
    every = fit(inputs, replace(QUICK, methods=("jec",))).scores["jec"]
    assert len(few) == 5
    assert len(every) == len(fitted.scores["jec"])
    assert np.array_equal(few.values, every.rows(few.ids.tolist())), "the others don't matter"
