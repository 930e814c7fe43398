from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_concepts import CONCEPTS, CONFIG, SVM, collection
from pydantic import TypeAdapter, ValidationError

from mediarank.base_models.concept import ConceptModels
from mediarank.base_models.pool import SVMPool
from mediarank.evaluation.blocks import Figure
from mediarank.evaluation.measured import EvaluationConfig
from mediarank.evaluation.metrics import average_precision
from mediarank.labels import Labels
from mediarank.stages.base_models import fit_base_models
from mediarank.systems.concepts import fit as concepts
from mediarank.systems.concepts import model as concepts_model
from mediarank.systems.concepts import report as concepts_report
from mediarank.systems.concepts.fit import METHODS, ConceptsConfig
from mediarank.systems.concepts.model import ConceptsModel
from mediarank.systems.contract import Inputs
from mediarank.types import ConfigError, DataError, FeatureMatrix, Judgments, NotApplicable, Roles


@pytest.fixture(scope="module")
def fitted() -> ConceptsModel:
    return concepts.fit(*collection(), CONFIG, SVM)


def test_every_method_ranks_new_items_far_better_than_chance(fitted: ConceptsModel) -> None:
    features, judgments, roles = collection()
    scores = concepts_model.rank(fitted, features, roles.items("test"))
    assert set(scores) == set(METHODS)
    for matrix in scores.values():
        assert matrix.ids.tolist() == list(CONCEPTS)
        for row, concept in enumerate(CONCEPTS):
            relevant = judgments.grades(concept, matrix.names)
            assert average_precision(relevant, matrix.values[row]) > 2 * relevant.mean()


@pytest.mark.parametrize("method", METHODS)
def test_skipping_ranks_as_scoring_everything_does_for_no_more_work(fitted: ConceptsModel, method: str) -> None:
    features, _, roles = collection()
    items = sorted(roles.items("test"))
    full = concepts_model.rank(fitted, features, items)[method]
    for row, concept in enumerate(CONCEPTS):
        skipped, ask = concepts_model.rank_one(fitted, method, concept, features, items)
        np.testing.assert_array_equal(np.argsort(-skipped, kind="stable"), np.argsort(-full.values[row], kind="stable"))
        everything = len(items) * sum(int(m.support_counts[0]) for m in ask.models.machines)
        assert 0 < ask.kernel_evaluations <= everything
        if "cascade" in method:
            assert ask.kernel_evaluations < 0.6 * everything


def test_test_items_change_nothing_that_is_fitted(fitted: ConceptsModel) -> None:
    features, judgments, roles = collection()
    test = set(roles.items("test"))
    rows = [n for n, item in enumerate(features["colour"].ids) if item in test]
    for kind, matrix in features.items():
        values = matrix.values.copy()
        values[rows] = 99.0
        features[kind] = FeatureMatrix(matrix.ids, matrix.names, values)
    relevant = {c: {i: g for i, g in grades.items() if i not in test} for c, grades in judgments}
    other = concepts.fit(features, Judgments(judgments.queries, judgments.candidates, relevant), roles, CONFIG, SVM)
    for name, array in fitted.to_arrays()[0].items():
        np.testing.assert_array_equal(array, other.to_arrays()[0][name])
    for kind, pool in fitted.pools.items():
        np.testing.assert_array_equal(pool.coefficients, other.pools[kind].coefficients)


def test_arrays_keep_the_model(fitted: ConceptsModel) -> None:
    features, _, roles = collection()
    arrays, facts = fitted.to_arrays()
    again = ConceptsModel.from_arrays(fitted.pools, arrays, facts)
    for method, matrix in concepts_model.rank(fitted, features, roles.items("test")).items():
        np.testing.assert_array_equal(
            concepts_model.rank(again, features, roles.items("test"))[method].values, matrix.values
        )
    assert again.chosen == fitted.chosen
    assert fitted.chosen["strength"] in CONFIG.strengths
    assert fitted.chosen["cost_weight"] in CONFIG.cost_weights
    assert all(array.dtype.kind in "fib" for array in arrays.values())


def test_scores_can_be_made_once_and_used_again(fitted: ConceptsModel) -> None:
    features, judgments, roles = collection()
    pools = concepts.fit_pools(features, judgments, roles, SVM)
    scores = concepts_model.score_items(pools, features, roles.items("rank", "valid"))
    again = concepts.fit_rankers(pools, scores, judgments, CONFIG)
    for method, plans in fitted.plans.items():
        for concept, plan in plans.items():
            np.testing.assert_array_equal(plan.weights, again.plans[method][concept].weights)


def test_dear_features_are_asked_later() -> None:
    features, judgments, roles = collection()
    config = replace(CONFIG, methods=("forward_cascade",), cost_weights=(5.0,))
    pools = concepts.fit_pools(features, judgments, roles, SVM)
    scores = concepts_model.score_items(pools, features, roles.items("rank"))
    for dear in features:
        model = concepts.fit_rankers(pools, scores, judgments, config, {dear: 1.0})
        for concept, plan in model.plans["forward_cascade"].items():
            names = ConceptModels.of(pools, concept).names
            assert not names[plan.distinct_models[0]].startswith(dear)


def test_items_without_a_feature_are_left_out() -> None:
    features, judgments, roles = collection()
    short = features["edges"]
    features["edges"] = FeatureMatrix(short.ids[:-20], short.names, short.values[:-20])
    config = replace(CONFIG, methods=("mean_fusion",))
    model = concepts.fit(features, judgments, roles, config, SVM)
    scores = concepts_model.rank(model, features, roles.items("test"))["mean_fusion"]
    assert set(scores.names) == set(roles.items("test")) & set(short.ids[:-20].tolist())


@pytest.mark.filterwarnings("ignore:Concept")
def test_concepts_with_one_positive_with_none_and_with_all_are_left_out() -> None:
    features, judgments, roles = collection()
    ids = features["colour"].ids.tolist()
    relevant = {c: dict(g) for c, g in judgments} | {"one": {ids[0]: 1.0}, "all": dict.fromkeys(ids, 1.0)}
    wider = Judgments((*judgments.queries, "none", "one", "all"), tuple(ids), relevant)
    model = concepts.fit(features, wider, roles, replace(CONFIG, methods=("rankboost",)), SVM)
    assert model.concepts == CONCEPTS


def test_a_concept_that_the_rank_role_lacks_is_left_out_and_none_at_all_is_refused() -> None:
    features, judgments, roles = collection()
    rank = set(roles.items("rank"))
    without = {i: g for i, g in judgments.relevant["fish"].items() if i not in rank}
    config = replace(CONFIG, methods=("rankboost",))
    model = concepts.fit(
        features,
        Judgments(judgments.queries, judgments.candidates, {**judgments.relevant, "fish": without}),
        roles,
        config,
        SVM,
    )
    assert model.concepts == ("boat",)
    with pytest.raises(DataError, match="change the splits"):
        concepts.fit(features, Judgments(("fish",), judgments.candidates, {"fish": without}), roles, config, SVM)


def inputs_of(features: Mapping[str, FeatureMatrix], judgments: Judgments, roles: Roles) -> Inputs:
    """As the stage before leaves it: pools and their scores; features are needed no more."""
    rows = [(item, concept, item in grades) for concept, grades in judgments for item in judgments.candidates]
    labels = Labels({"concepts": pd.DataFrame(rows, columns=["item", "concept", "relevant"])})
    pools, scores = {}, {}
    for kind, matrix in features.items():
        arrays, facts, scores[kind] = fit_base_models(kind, matrix, labels, roles, SVM)
        pools[kind] = SVMPool.from_arrays(arrays, facts)
    return Inputs({}, labels, roles, pools, scores)


def test_the_system_ranks_from_base_scores_measures_and_shows() -> None:
    features, judgments, roles = collection()
    inputs = inputs_of(features, judgments, roles)
    outcome = concepts.run(inputs, CONFIG)
    assert set(outcome.scores) == set(METHODS)
    same = concepts_model.rank(concepts.fit(features, judgments, roles, CONFIG, SVM), features, roles.items("test"))
    np.testing.assert_array_equal(outcome.scores["rankboost"].values, same["rankboost"].values)
    measured = concepts_report.measure(outcome.scores, inputs.labels, EvaluationConfig(resamples=20))
    assert measured.metrics["forward_cascade"]["map"] > 0.3
    facts = json.loads(json.dumps(outcome.facts, sort_keys=True))
    shown = concepts_report.section(outcome.scores, measured, inputs.labels, lambda item: None, 5, facts)
    titles = [block.heading for block in shown.blocks if isinstance(block, Figure)]
    assert titles[-5:] == [
        "What work buys",
        "What work buys, of the first 100",
        "Concepts at equal work",
        "Single concepts",
        "Regularisers of Imbalanced RankBoost",
    ]
    end = {m: t["evaluations"].max() for m, t in pd.DataFrame(facts["figures"]["figure6"]).groupby("method")}
    assert end["forward_cascade"] < end["rankboost"], "skipping skips"


def test_a_collection_without_concepts_is_none_for_it() -> None:
    features, _, roles = collection()
    nothing = Judgments((), tuple(features["colour"].ids.tolist()), {})
    with pytest.warns(UserWarning, match="No concept has"):
        inputs = inputs_of(features, nothing, roles)
    assert all(len(pool) == 0 for pool in inputs.pools.values())
    with pytest.raises(NotApplicable, match="enough items"):
        concepts.run(inputs, CONFIG)


def test_base_models_that_are_not_there_are_named() -> None:
    inputs = inputs_of(*collection())
    with pytest.raises(ConfigError, match="sound"):
        concepts.run(inputs, replace(CONFIG, base_models=("colour", "sound")))


def test_settings_are_checked_and_strangers_refused() -> None:
    adapter = TypeAdapter(ConceptsConfig)
    assert adapter.validate_python({"methods": ["rankboost"], "rounds": 3}).rounds == 3
    for bad in (
        {"method": ["rankboost"]},
        {"methods": ["lambdamart"]},
        {"methods": []},
        {"strengths": [0.0]},
        {"keep": 2},
    ):
        with pytest.raises(ValidationError):
            adapter.validate_python(bad)
