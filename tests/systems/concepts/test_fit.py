from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_concepts import CONCEPTS, CONFIG, collection, inputs_of
from pydantic import TypeAdapter, ValidationError

from mediarank.base_models.concept import ConceptModels
from mediarank.evaluation.folded import Folded
from mediarank.evaluation.measured import EvaluationConfig
from mediarank.evaluation.metrics import average_precision
from mediarank.learners.boosting.choice import Examples
from mediarank.systems.concepts import report
from mediarank.systems.concepts.config import Config
from mediarank.systems.concepts.fit import METHODS, fit, fit_rankers, rank_examples, settle, validate
from mediarank.systems.concepts.model import Model
from mediarank.systems.contract import Inputs
from mediarank.systems.model import Fitted
from mediarank.systems.results import SystemResult
from mediarank.types import ConfigError, DataError, FeatureMatrix, Judgments, NotApplicable

QUICK = replace(CONFIG, methods=("mean_fusion", "rankboost"))


@pytest.fixture(scope="module")
def given() -> Inputs:
    return inputs_of(*collection())


@pytest.fixture(scope="module")
def fitted(given: Inputs) -> Fitted:
    return fit(given, CONFIG)


def known(inputs: Inputs) -> tuple[dict[str, FeatureMatrix], Judgments]:
    """Scores of the rank role, and who is relevant."""
    items = sorted(inputs.roles.items("rank"))
    ids = np.array(items)
    scores = {kind: FeatureMatrix(ids, m.names, m.rows(items)) for kind, m in inputs.base_scores.items()}
    return scores, Judgments.from_pairs(inputs.labels.shown, sorted(inputs.labels.looked_at))


def test_every_method_ranks_new_items_far_better_than_chance(given: Inputs, fitted: Fitted) -> None:
    _, judgments, roles = collection()
    assert tuple(fitted.scores) == tuple(METHODS)
    for matrix in fitted.scores.values():
        assert matrix.names == CONCEPTS
        assert matrix.ids.tolist() == sorted(roles.items("test"))
        for column, concept in enumerate(CONCEPTS):
            relevant = judgments.grades(concept, matrix.ids.tolist())
            assert average_precision(relevant, matrix.values[:, column]) > 2 * relevant.mean()


def test_test_items_change_nothing_that_is_fitted(given: Inputs, fitted: Fitted) -> None:
    features, judgments, roles = collection()
    test = set(roles.items("test"))
    rows = [n for n, item in enumerate(features["colour"].ids) if item in test]
    for kind, matrix in features.items():
        values = matrix.values.copy()
        values[rows] = 99.0
        features[kind] = FeatureMatrix(matrix.ids, matrix.names, values)
    relevant = {c: {i: g for i, g in grades.items() if i not in test} for c, grades in judgments}
    other = inputs_of(features, Judgments(judgments.queries, judgments.candidates, relevant), roles)
    for kind, pool in given.pools.items():
        np.testing.assert_array_equal(pool.coefficients, other.pools[kind].coefficients)
    arrays, facts = fit(other, CONFIG).model.to_arrays()
    before, told = fitted.model.to_arrays()
    assert facts == told, "validation and the served method included"
    for name, array in before.items():
        np.testing.assert_array_equal(array, arrays[name])


def test_the_served_method_validated_best_and_params_can_pin_one(given: Inputs, fitted: Fitted) -> None:
    model = fitted.model
    assert set(model.validation) == set(METHODS)
    assert model.validation[model.served] == max(model.validation.values())
    pinned = fit(given, replace(QUICK, serve="rankboost")).model
    assert pinned.served == "rankboost"
    assert fit(given, replace(QUICK, serve="mean_fusion")).model.served == "mean_fusion"
    with pytest.raises(ValueError, match="ridge_stacking"):
        replace(QUICK, serve="ridge_stacking")


def test_validation_holds_groups_out_together() -> None:
    """Copies of one item in the held-out fold would show what is only memory."""
    rng = np.random.default_rng(0)
    relevant = np.repeat(rng.random(60) < 0.3, 4)
    scores = np.repeat(rng.uniform(-1, 1, (60, 12)), 4, axis=0).astype(np.float32)  # noise, each four times
    groups = np.repeat(np.arange(60), 4)
    config = Config(methods=("logistic_stacking",))
    apart = validate([Examples(scores, relevant)], config)["logistic_stacking"]
    together = validate([Examples(scores, relevant, groups=groups)], config)["logistic_stacking"]
    assert together < apart - 0.05


def test_dear_features_are_asked_later(given: Inputs) -> None:
    config = replace(CONFIG, methods=("forward_cascade",), cost_weights=(5.0,), strengths=(0.01,))
    scores, judgments = known(given)
    for dear in given.pools:
        model = fit_rankers(given.pools, rank_examples(given.pools, scores, judgments, {dear: 1.0}), config)
        for concept, plan in model.plans["forward_cascade"].items():
            names = ConceptModels.of(given.pools, concept).names
            assert not names[plan.distinct_models[0]].startswith(dear)


def test_items_without_a_feature_are_left_out() -> None:
    features, judgments, roles = collection()
    short = features["edges"]
    features["edges"] = FeatureMatrix(short.ids[:-20], short.names, short.values[:-20])
    scores = fit(inputs_of(features, judgments, roles), QUICK).scores["mean_fusion"]
    assert set(scores.ids.tolist()) == set(roles.items("test")) & set(short.ids[:-20].tolist())


@pytest.mark.filterwarnings("ignore:Concept")
def test_concepts_with_one_positive_with_none_and_with_all_are_left_out() -> None:
    features, judgments, roles = collection()
    ids = features["colour"].ids.tolist()
    relevant = {c: dict(g) for c, g in judgments} | {"one": {ids[0]: 1.0}, "all": dict.fromkeys(ids, 1.0)}
    wider = Judgments((*judgments.queries, "none", "one", "all"), tuple(ids), relevant)
    assert fit(inputs_of(features, wider, roles), QUICK).model.names == CONCEPTS


def test_rankers_learn_from_held_out_scores_of_training_items(given: Inputs) -> None:
    """More items to learn from, and none of their scores is of an SVM that has seen the item."""
    _, judgments, roles = collection()
    more = fit(given, replace(QUICK, learn_from=("base", "rank"))).model
    less = fit(given, replace(QUICK, learn_from=("rank",))).model
    assert isinstance(more, Model)
    assert isinstance(less, Model)
    assert not np.array_equal(more.plans["rankboost"]["boat"].weights, less.plans["rankboost"]["boat"].weights)
    base = roles.items("base")
    for kind, scores in given.base_scores.items():
        held_in = given.pools[kind].score(collection()[0][kind], base).values
        relevant = judgments.grades("boat", base) > 0
        honest = average_precision(relevant, scores.rows(base)[:, 0])
        assert honest < average_precision(relevant, held_in[:, 0])


def test_a_concept_that_the_rank_role_lacks_is_left_out_and_none_at_all_is_refused() -> None:
    features, judgments, roles = collection()
    rank = set(roles.items("rank"))
    without = {i: g for i, g in judgments.relevant["fish"].items() if i not in rank}
    relevant = {**judgments.relevant, "fish": without}
    inputs = inputs_of(features, Judgments(judgments.queries, judgments.candidates, relevant), roles)
    config = replace(QUICK, learn_from=("rank", "valid"))
    assert fit(inputs, config).model.names == ("boat",)
    inputs = inputs_of(features, Judgments(("fish",), judgments.candidates, {"fish": without}), roles)
    with pytest.raises(DataError, match="change the splits"):
        fit(inputs, config)


def test_the_system_measures_and_shows(given: Inputs) -> None:
    fitted = fit(given, replace(CONFIG, lambdas=(0.05,)))
    measured = report.measure(fitted.scores, given.labels, EvaluationConfig(resamples=20))
    assert measured.metrics["forward_cascade"]["map"] > 0.3
    facts, figures = (json.loads(json.dumps(v, sort_keys=True)) for v in (fitted.model.to_arrays()[1], fitted.figures))
    result = SystemResult(fitted.scores, measured, given.labels, facts, figures)
    shown = report.section(result, lambda item: None, 5)
    folded = shown.blocks[-1]
    assert isinstance(folded, Folded)
    assert len(folded.blocks) == 5
    bare = report.section(replace(result, figures={}), lambda item: None, 5)
    assert len(bare.blocks) == len(shown.blocks) - 1
    end = {m: t["evaluations"].max() for m, t in pd.DataFrame(figures["figure6"]).groupby("method")}
    assert end["forward_cascade"] < end["rankboost"], "skipping skips"


def test_measures_are_of_concepts_over_items(given: Inputs) -> None:
    """A perfect table of items × concepts has a perfect measure."""
    _, judgments, roles = collection()
    items = sorted(roles.items("test"))
    right = np.stack([judgments.grades(concept, items) for concept in CONCEPTS], axis=1).astype(np.float32)
    scores = {"right": FeatureMatrix(np.array(items), CONCEPTS, right)}
    assert report.measure(scores, given.labels, EvaluationConfig(resamples=5)).metrics["right"]["map"] == 1


def test_a_collection_without_concepts_is_not_applicable() -> None:
    features, _, roles = collection()
    nothing = Judgments((), tuple(features["colour"].ids.tolist()), {})
    with pytest.warns(UserWarning, match="No concept has"):
        inputs = inputs_of(features, nothing, roles)
    assert all(len(pool) == 0 for pool in inputs.pools.values())
    with pytest.raises(NotApplicable, match="enough items"):
        fit(inputs, CONFIG)


def test_base_models_are_those_named_or_all(given: Inputs) -> None:
    assert fit(given, QUICK).model.needs.base_models == ("colour", "edges", "texture")
    assert fit(given, replace(QUICK, base_models=("texture", "colour"))).model.needs.features == ("colour", "texture")
    with pytest.raises(ConfigError, match="names sound, but there are no base models"):
        fit(given, replace(QUICK, base_models=("colour", "sound")))
    with pytest.raises(ConfigError, match="none are trained"):
        fit(replace(given, pools={}), QUICK)


def test_settings_are_checked_and_unknown_keys_refused() -> None:
    adapter = TypeAdapter(Config)
    assert adapter.validate_python({"methods": ["rankboost"], "rounds": 3}).rounds == 3
    for bad in (
        {"method": ["rankboost"]},
        {"methods": ["lambdamart"]},
        {"methods": []},
        {"strengths": [0.0]},
        {"stacking_strengths": []},
        {"finish_floor": 0},
        {"budget_firsts": []},
        {"budget_per_relevant": [-1.0]},
        {"budget": 0.5},
        {"keep": 2},
        {"serve": "stacked_cascade"},
        {"learn_from": ["test"]},
        {"learn_from": []},
    ):
        with pytest.raises(ValidationError):
            adapter.validate_python(bad)


def test_settings_are_chosen_among_those_given(fitted: Fitted) -> None:
    assert isinstance(fitted.model, Model)
    assert fitted.model.chosen["strength"] in CONFIG.strengths
    assert fitted.model.chosen["cost_weight"] in CONFIG.cost_weights
    assert fitted.model.chosen["stacking_strength"] in CONFIG.stacking_strengths


def test_the_schedule_of_the_budget_cascade_is_the_best_within_the_budget() -> None:
    """With 1.3 evaluations per item, one that looks at all items twice stays at its first model."""
    rng = np.random.default_rng(0)
    examples = []
    for _ in range(3):
        relevant = np.arange(600) % 20 == 0
        scores = np.where(relevant, 0.2, -0.2)[:, None] + rng.normal(scale=0.3, size=(600, 12))
        examples.append(Examples(scores.clip(-1, 1).astype(np.float32), relevant))
    config = replace(CONFIG, methods=("budget_cascade",), keep=0.9, budget_firsts=(1.0, 0.1))
    assert settle(examples, replace(config, budget=1.3)).budget_firsts == (0.1,)
    assert settle(examples, replace(config, budget=12.0)).budget_firsts == (1.0,)


def test_the_strength_of_the_stack_is_the_one_that_validates_best(given: Inputs) -> None:
    alone = {
        strength: fit(given, replace(CONFIG, methods=("logistic_stacking",), stacking_strengths=(strength,))).model
        for strength in (1e-6, 0.3)
    }
    both = fit(given, replace(CONFIG, methods=("logistic_stacking",), stacking_strengths=tuple(alone))).model
    assert isinstance(both, Model)
    best = max(alone, key=lambda strength: alone[strength].validation["logistic_stacking"])
    assert both.chosen["stacking_strength"] == best
    assert both.validation == alone[best].validation


def test_the_distilled_cascade_ends_as_the_stack_would(given: Inputs) -> None:
    """Without pruning both give the same order, so they share the strength that was chosen."""
    open_end = replace(CONFIG, methods=("logistic_stacking", "distilled_cascade"), keep=1.0, finish_floor=1.0)
    scores = fit(given, open_end).scores
    np.testing.assert_array_equal(scores["distilled_cascade"].values, scores["logistic_stacking"].values)
