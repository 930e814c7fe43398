"""Retrieval: baselines and learned methods on data whose answer is known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from made_retrieval import CONFIG, FAST, inputs

from mediarank.evaluation.measured import EvaluationConfig
from mediarank.labels import Labels
from mediarank.learners.pairwise.phi_rankers import RANKERS
from mediarank.similarity.phi import weighted_phi
from mediarank.similarity.scaling import PhiScaler
from mediarank.systems.contract import Inputs
from mediarank.systems.retrieval import fit as retrieval
from mediarank.systems.retrieval import report as retrieval_report
from mediarank.systems.retrieval.fit import RetrievalConfig
from mediarank.types import ConfigError, DataError, FeatureMatrix


def test_every_test_item_is_a_query_against_everything() -> None:
    given = inputs()
    outcome = retrieval.run(given, CONFIG)
    assert tuple(outcome.scores) == FAST
    for scores in outcome.scores.values():
        assert scores.ids.tolist() == given.roles.items("test")
        assert scores.names == tuple(given.features["good"].ids.tolist())


def test_best_fea_takes_a_dimension_that_tells_the_classes_apart_and_wins_over_noise() -> None:
    given = inputs()
    outcome = retrieval.run(given, CONFIG)
    assert outcome.facts["best_fea"].startswith("good/")
    metrics = retrieval_report.measure(outcome.scores, given.labels, EvaluationConfig(resamples=50)).metrics
    noise_only = retrieval.run(given, replace(CONFIG, features=("noise",)))
    by_noise = retrieval_report.measure(noise_only.scores, given.labels, EvaluationConfig(resamples=50)).metrics
    assert metrics["best_fea"]["map"] > 0.85
    assert 0.4 < by_noise["uni_con"]["map"] < 0.6, "two equal classes: chance is about a half"
    assert by_noise["uni_con"]["map"] < metrics["uni_con"]["map"] < metrics["best_fea"]["map"]
    for learned in ("opar2", "arow"):
        assert metrics[learned]["map"] > metrics["uni_con"]["map"] + 0.05, "noise is found out"


def test_test_labels_are_not_looked_at() -> None:
    """Whatever the classes of the test items say, the model and its scores are the same."""
    given = inputs()
    table = given.labels["classes"].copy()
    secret = table["item"].isin(given.roles.items("test"))
    table.loc[secret, "class"] = table.loc[secret, "class"].to_numpy()[::-1]
    changed = Inputs(given.features, Labels({"classes": table}), given.roles)
    one, other = retrieval.run(given, CONFIG), retrieval.run(changed, CONFIG)
    assert all(np.array_equal(one.arrays[k], other.arrays[k]) for k in one.arrays)
    assert all(np.array_equal(one.scores[m].values, other.scores[m].values) for m in FAST)


def test_without_validation_items_the_choice_is_made_on_rank() -> None:
    assert retrieval.run(inputs(roles=("base", "rank", "test")), CONFIG).facts["best_fea"].startswith("good/")


@pytest.mark.parametrize(
    ("roles", "message"),
    [(("rank", "test"), "scales φ on items of role base"), (("base", "test"), "valid or rank")],
)
def test_missing_roles_are_named(roles: tuple[str, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        retrieval.run(inputs(roles=roles), CONFIG)


def test_missing_features_and_labels_are_named() -> None:
    given = inputs()
    with pytest.raises(DataError, match="'gist' is not there"):
        retrieval.run(given, RetrievalConfig(features=("gist",)))
    with pytest.raises(DataError, match="with a class"):
        retrieval.run(Inputs(given.features, Labels({}), given.roles), CONFIG)


def test_all_methods_run_and_are_stored_without_pickle() -> None:
    given = inputs()
    outcome = retrieval.run(given, replace(CONFIG, methods=tuple(RANKERS), instances=300))
    assert tuple(outcome.scores) == tuple(RANKERS)
    assert all(array.dtype != object for array in outcome.arrays.values())
    assert set(outcome.arrays) >= {"mean", "deviation", "ranksvm", "ranknet_outer", "lambdamart_forest"}
    json.dumps(outcome.facts, allow_nan=False)
    assert outcome.facts["methods"]["opar1"]["parameters"]["C"] > 0


def test_a_linear_method_is_its_weights() -> None:
    """Scores are the stored weights times scaled φ: what a search computes from the model alone."""
    given = inputs()
    outcome = retrieval.run(given, CONFIG)
    collection = retrieval.Collection.of(given, CONFIG.features)
    scaler = PhiScaler(outcome.arrays["mean"], outcome.arrays["deviation"])
    query = given.roles.items("test")[3]
    v, offset = scaler.unscaled(outcome.arrays["arow"])
    assert weighted_phi(collection.query(query), collection.rows, v, offset) == pytest.approx(
        outcome.scores["arow"].rows([query])[0], abs=2e-4
    )


def test_the_same_bytes_every_time() -> None:
    one, other = (retrieval.run(inputs(), CONFIG) for _ in range(2))
    assert all(np.array_equal(one.arrays[name], other.arrays[name]) for name in one.arrays)
    assert all(np.array_equal(one.scores[m].values, other.scores[m].values) for m in FAST)


def test_identical_items_tie_and_nothing_breaks() -> None:
    given = inputs()
    features = {
        name: FeatureMatrix(matrix.ids, matrix.names, np.ones_like(matrix.values))
        for name, matrix in given.features.items()
    }
    outcome = retrieval.run(Inputs(features, given.labels, given.roles), CONFIG)
    assert all(np.ptp(scores.values) == 0 for scores in outcome.scores.values())


def test_a_query_without_a_relevant_item_is_skipped_and_counted() -> None:
    given = inputs()
    table = given.labels["classes"].copy()
    lonely = given.roles.items("test")[0]
    table.loc[table["item"] == lonely, "class"] = "alone"
    changed = Inputs(given.features, Labels({"classes": table}), given.roles)
    outcome = retrieval.run(changed, CONFIG)
    metrics = retrieval_report.measure(outcome.scores, changed.labels, EvaluationConfig(resamples=20)).metrics
    assert metrics["arow"]["skipped"] == 1


def test_unknown_methods_are_named() -> None:
    with pytest.raises(ConfigError, match="magic; choose of best_fea"):
        RetrievalConfig(methods=("magic",))


def test_the_section_shows_methods_and_pictures() -> None:
    given = inputs()
    outcome = retrieval.run(given, CONFIG)
    measured = retrieval_report.measure(outcome.scores, given.labels, EvaluationConfig(resamples=50))
    section = retrieval_report.section(
        outcome.scores, measured, given.labels, lambda item: None, results=5, facts=outcome.facts
    )
    assert section.title == "Retrieval"
    assert {type(block).__name__ for block in section.blocks} >= {"Table", "Figure", "Gallery"}
