"""Retrieval: baselines and learned methods on data whose answer is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
from mediarank.systems.model import Arrays, Fitted, Parts
from mediarank.systems.results import SystemResult
from mediarank.systems.retrieval import collection as collection_module
from mediarank.systems.retrieval import fit as retrieval
from mediarank.systems.retrieval import report as retrieval_report
from mediarank.systems.retrieval.collection import Collection
from mediarank.systems.retrieval.config import Config
from mediarank.systems.retrieval.model import Model
from mediarank.types import ConfigError, DataError, FeatureMatrix, Floats, NotApplicable


def arrays(fitted: Fitted) -> Arrays:
    return fitted.model.to_arrays()[0]


def test_every_test_item_is_a_query_against_everything() -> None:
    given = inputs()
    outcome = retrieval.fit(given, CONFIG)
    assert tuple(outcome.scores) == FAST
    for scores in outcome.scores.values():
        assert scores.ids.tolist() == given.roles.items("test")
        assert scores.names == tuple(given.features["good"].ids.tolist())


def test_best_fea_takes_a_dimension_that_tells_the_classes_apart_and_wins_over_noise() -> None:
    given = inputs()
    outcome = retrieval.fit(given, CONFIG)
    assert outcome.model.best_feature.startswith("good/")
    metrics = retrieval_report.measure(outcome.scores, given.labels, EvaluationConfig(resamples=50)).metrics
    noise_only = retrieval.fit(given, replace(CONFIG, features=("noise",)))
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
    one, other = retrieval.fit(given, CONFIG), retrieval.fit(changed, CONFIG)
    assert all(np.array_equal(arrays(one)[k], arrays(other)[k]) for k in arrays(one))
    assert all(np.array_equal(one.scores[m].scores, other.scores[m].scores) for m in FAST)


def test_without_validation_items_the_choice_is_made_on_rank() -> None:
    assert retrieval.fit(inputs(roles=("base", "rank", "test")), CONFIG).model.best_feature.startswith("good/")


def test_without_base_items_there_is_nothing_to_scale_by() -> None:
    with pytest.raises(NotApplicable, match="role base"):
        retrieval.fit(inputs(roles=("rank", "test")), CONFIG)


@pytest.mark.parametrize("roles", [("base", "rank", "valid", "test"), ("base", "test")])
def test_without_classes_all_similarities_count_alike(roles: tuple[str, ...]) -> None:
    given = inputs(roles=roles)
    labels = given.labels if "rank" not in roles else Labels({})
    fitted = retrieval.fit(Inputs(given.features, labels, given.roles), CONFIG)
    assert fitted.model.served == "uni_con"
    assert fitted.model.methods == ("uni_con",)
    assert not fitted.scores, "nothing says what is relevant"
    items = given.features["good"].ids.tolist()
    assert fitted.model.rank(given.features, items[:2]).shape == (2, len(items))
    assert "class" in fitted.model.to_arrays()[1]["warning"]
    with pytest.raises(ConfigError, match="serve"):
        retrieval.fit(Inputs(given.features, labels, given.roles), replace(CONFIG, serve="arow"))


def test_items_without_a_class_are_searched_but_not_measured() -> None:
    given = inputs()
    table = given.labels["classes"]
    some = Labels({"classes": table[table["item"] != "i000"].reset_index(drop=True)})
    fitted = retrieval.fit(Inputs(given.features, some, given.roles), CONFIG)
    assert "i000" in fitted.model.names
    assert "i000" not in fitted.scores["arow"].names


def test_classes_that_say_nothing_leave_the_uniform_combination() -> None:
    given = inputs(count=160)
    table = given.labels["classes"].copy()
    table["class"] = np.random.default_rng(1).permutation(table["class"].to_numpy())
    fitted = retrieval.fit(Inputs(given.features, Labels({"classes": table}), given.roles), CONFIG)
    assert fitted.model.served == "uni_con"
    assert "chance" in fitted.model.to_arrays()[1]["warning"]
    assert retrieval.fit(given, CONFIG).model.to_arrays()[1].get("warning") is None


def test_test_queries_are_a_sample_of_a_stated_size() -> None:
    fitted = retrieval.fit(inputs(), replace(CONFIG, test_queries=5))
    assert {len(scores) for scores in fitted.scores.values()} == {5}


def test_missing_features_are_named() -> None:
    with pytest.raises(DataError, match="'gist' is missing"):
        retrieval.fit(inputs(), Config(features=("gist",)))


def test_all_methods_run_and_are_stored_without_pickle() -> None:
    given = inputs()
    outcome = retrieval.fit(given, replace(CONFIG, methods=tuple(RANKERS), instances=300))
    assert tuple(outcome.scores) == tuple(RANKERS)
    kept, facts = outcome.model.to_arrays()
    assert all(array.dtype != object for array in kept.values())
    assert set(kept) >= {"mean", "deviation", "ranksvm", "ranknet_outer", "lambdamart_forest"}
    facts = json.loads(json.dumps(facts, allow_nan=False, sort_keys=True))
    assert facts["parameters"]["opar1"]["C"] > 0
    again = Model.from_arrays(kept, facts, Parts(given.features))
    assert again.methods == outcome.model.methods
    for method, recorded in outcome.scores.items():
        found = again.rank(given.features, recorded.ids.tolist(), recorded.names, method)
        wanted = recorded.rows(recorded.ids)
        kept = ~np.isnan(wanted)
        assert (kept.sum(axis=1) == len(recorded.names) - 1).all(), "all but the query itself"
        np.testing.assert_allclose(found[kept], wanted[kept], atol=1e-5, err_msg=method)


def test_a_linear_method_is_its_weights() -> None:
    """Scores are the stored weights times scaled φ: what a search computes from the model alone."""
    given = inputs()
    outcome = retrieval.fit(given, CONFIG)
    collection = Collection.of(given, CONFIG.features)
    scaler = outcome.model.scaler
    query = given.roles.items("test")[3]
    v, offset = scaler.unscaled(outcome.model.rankers["arow"].ranking_weights)
    wanted = outcome.scores["arow"].rows([query])[0]
    kept = ~np.isnan(wanted)
    found = weighted_phi(collection.query(query), collection.rows, v, offset)
    assert found[kept] == pytest.approx(wanted[kept], abs=2e-4)


def test_the_same_bytes_every_time() -> None:
    one, other = (retrieval.fit(inputs(), CONFIG) for _ in range(2))
    assert all(np.array_equal(arrays(one)[name], arrays(other)[name]) for name in arrays(one))
    assert all(np.array_equal(one.scores[m].scores, other.scores[m].scores) for m in FAST)


@pytest.mark.parametrize("at_a_time", [1, 3])
def test_scores_do_not_depend_on_how_many_queries_are_asked_at_a_time(
    at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = inputs()
    whole = retrieval.fit(given, CONFIG)
    calls: list[int] = []
    scaled_phi_of = Collection.scaled_phi_of

    def counted(self: Collection, queries: Sequence[str], scaler: PhiScaler) -> Floats:
        calls.append(len(queries))
        return scaled_phi_of(self, queries, scaler)

    monkeypatch.setattr(Collection, "scaled_phi_of", counted)
    collection = Collection.of(given, CONFIG.features)
    one_query = 4 * len(whole.model.scaler.mean) * len(collection.items)
    monkeypatch.setattr(collection_module, "PHI_BYTES", at_a_time * one_query + 1)
    tested = given.roles.items("test")
    found = collection.scores(tested, whole.model.scaler, FAST, whole.model.predict)
    assert sum(calls) == len(tested)
    assert max(calls) == at_a_time
    for method in FAST:
        assert np.array_equal(found[method].best, whole.scores[method].best)
        assert np.array_equal(found[method].scores, whole.scores[method].scores)
        assert np.array_equal(found[method].places, whole.scores[method].places)


def test_identical_items_tie_and_nothing_breaks() -> None:
    given = inputs()
    features = {
        name: FeatureMatrix(matrix.ids, matrix.names, np.ones_like(matrix.values))
        for name, matrix in given.features.items()
    }
    outcome = retrieval.fit(Inputs(features, given.labels, given.roles), CONFIG)
    assert all(np.ptp(scores.scores[scores.best >= 0]) == 0 for scores in outcome.scores.values())


def test_a_query_without_a_relevant_item_is_skipped_and_counted() -> None:
    given = inputs()
    table = given.labels["classes"].copy()
    lonely = given.roles.items("test")[0]
    table.loc[table["item"] == lonely, "class"] = "alone"
    changed = Inputs(given.features, Labels({"classes": table}), given.roles)
    outcome = retrieval.fit(changed, CONFIG)
    metrics = retrieval_report.measure(outcome.scores, changed.labels, EvaluationConfig(resamples=20)).metrics
    assert metrics["arow"]["skipped"] == 1


def test_unknown_methods_are_named() -> None:
    with pytest.raises(ConfigError, match="magic; choose of best_fea"):
        Config(methods=("magic",))


def test_the_section_shows_methods_and_pictures() -> None:
    given = inputs()
    outcome = retrieval.fit(given, CONFIG)
    measured = retrieval_report.measure(outcome.scores, given.labels, EvaluationConfig(resamples=50))
    result = SystemResult(outcome.scores, measured, given.labels, outcome.model.to_arrays()[1])
    section = retrieval_report.section(result, lambda item: None, 5)
    assert section.title == "Retrieval"
    assert {type(block).__name__ for block in section.blocks} >= {"Table", "Figure", "Gallery"}


def test_a_large_collection_is_validated_against_a_sample_of_it() -> None:
    given = inputs()
    known = len(given.roles.items("base", "rank", "valid"))
    whole, capped = (
        retrieval.fit(given, replace(CONFIG, validation_items=count, class_items=4)) for count in (known, known // 2)
    )
    same = retrieval.fit(given, CONFIG)
    assert whole.model.validation == same.model.validation, "a limit above the collection changes nothing"
    assert capped.model.validation != whole.model.validation
    assert capped.model.best_feature.startswith("good/")
    assert all(capped.scores[m].names == whole.scores[m].names for m in FAST), "the test is against everything"
