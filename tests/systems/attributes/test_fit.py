"""Fitting `attributes`: learns from training roles alone, by every method, and says what it can't learn."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_attributes import CLASSES, CONFIG, ORDER, collection
from threadpoolctl import threadpool_limits

from mediarank.evaluation.measured import EvaluationConfig
from mediarank.labels import Labels
from mediarank.learners.pairwise.supervision import supervise
from mediarank.systems.attributes.config import Config, KernelChoice
from mediarank.systems.attributes.fit import fit, fit_model
from mediarank.systems.attributes.model import Model
from mediarank.systems.attributes.prepare import prepare
from mediarank.systems.attributes.report import measure, pairs_in_order
from mediarank.systems.contract import Inputs
from mediarank.types import ConfigError, DataError, Doubles, FeatureMatrix, NotApplicable, Roles

ONLY_MKL = replace(CONFIG, methods=("rankmkl",))


def training(inputs: Inputs) -> list[str]:
    return inputs.roles.items("base", "rank", "valid")


def accuracy(inputs: Inputs, items: list[str], attribute: str, scores: Doubles) -> float:
    return pairs_in_order(supervise(inputs.labels, items)[attribute], scores)


def test_the_digits_do_not_depend_on_the_threads_of_blas() -> None:
    quick = replace(CONFIG, gamma_factors=(1.0,), exact_up_to=20, landmarks=300, methods=("equal_weights",))
    inputs, fitted = collection(1000), []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            fitted.append(fit(inputs, quick).model.to_arrays()[0])
    assert all(np.array_equal(fitted[0][name], fitted[1][name]) for name in fitted[0])


def test_it_learns_each_attribute_from_the_feature_that_shows_it() -> None:
    inputs = collection()
    model = fit_model(inputs, training(inputs), ONLY_MKL)
    assert model.names == ("green", "open")  # flat ties all classes: there is nothing to learn
    asked = inputs.roles.items("test")
    scores = model.rank(inputs.features, asked)
    for column, attribute in enumerate(model.names):
        assert accuracy(inputs, asked, attribute, scores[:, column]) > 0.9
    learned = model.facts["learned"]["rankmkl"]
    green, opened = learned["green"]["weights"], learned["open"]["weights"]
    assert green[1] > green[0]
    assert opened[0] > opened[1]


def test_every_method_scores_every_test_item() -> None:
    inputs = collection()
    fitted = fit(inputs, CONFIG)
    methods = (
        "rankmkl", "equal_weights", "only_shape", "only_colour", "concatenation", "posterior", "posterior_mkl",
        "levels", "local",
    )  # fmt: skip
    assert fitted.model.methods == tuple(fitted.scores) == methods
    for matrix in fitted.scores.values():
        assert matrix.names == ("green", "open")
        assert matrix.ids.tolist() == inputs.roles.items("test")
    by_attribute = measure(fitted.scores, inputs.labels, EvaluationConfig(resamples=50)).per_query.set_index(
        ["method", "query"]
    )["accuracy"]
    assert by_attribute["rankmkl"].mean() > 0.9
    assert by_attribute["concatenation"].mean() > 0.8
    assert by_attribute["posterior"].mean() > 0.9
    assert by_attribute["posterior_mkl"].mean() > 0.9
    assert by_attribute["only_colour", "open"] < 0.75 < by_attribute["only_shape", "open"]
    assert by_attribute["only_shape", "green"] < by_attribute["only_colour", "green"]


def test_methods_can_be_chosen_and_come_in_the_order_of_the_settings() -> None:
    inputs = collection()
    model = fit_model(inputs, training(inputs), replace(CONFIG, methods=("each_kernel", "equal_weights")))
    assert model.methods == ("only_shape", "only_colour", "equal_weights")
    average = fit_model(inputs, training(inputs), replace(CONFIG, methods=("posterior_mkl",)))
    assert average.methods == ("posterior_mkl", "posterior", "rankmkl"), "it brings its parts"


def test_the_served_method_validated_best_or_is_pinned() -> None:
    inputs = collection()
    model = fit(inputs, CONFIG).model
    assert set(model.validation) == set(model.methods)
    assert model.validation[model.served] == max(model.validation.values())
    for method, share in model.validation.items():
        held_out = [found["held_out_accuracy"] for found in model.facts["learned"][method].values()]
        assert share == pytest.approx(np.mean(held_out))
    assert fit(inputs, replace(CONFIG, serve="only_colour")).model.served == "only_colour"
    with pytest.raises(ConfigError, match="only_smell"):
        fit(inputs, replace(CONFIG, serve="only_smell"))


def test_test_items_are_never_seen() -> None:
    inputs = collection()
    spoiled = {
        name: FeatureMatrix(matrix.ids, matrix.names, matrix.values.copy()) for name, matrix in inputs.features.items()
    }
    for matrix in spoiled.values():
        matrix.values[matrix.positions(inputs.roles.items("test"))] = 1e6
    (arrays, facts), (others, other_facts) = (
        fit(given, CONFIG).model.to_arrays() for given in (inputs, Inputs(spoiled, inputs.labels, inputs.roles))
    )
    assert facts == other_facts
    for name, values in arrays.items():
        np.testing.assert_array_equal(values, others[name], err_msg=name)


def test_the_same_bytes_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = collection()
    first = fit(inputs, CONFIG)
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    again = fit(inputs, CONFIG)
    for method, matrix in first.scores.items():
        assert again.scores[method].values.tobytes() == matrix.values.tobytes(), method


def test_items_without_an_order_take_no_part() -> None:
    """Clips have the same features as images but no class: they must not become anchors."""
    inputs = collection()
    silent = set(inputs.roles.items("base")[::2])
    classes = inputs.labels["classes"]
    labels = Labels({**inputs.labels.tables, "classes": classes[~classes["item"].isin(silent)]})
    arrays, _ = fit(Inputs(inputs.features, labels, inputs.roles), ONLY_MKL).model.to_arrays()
    assert len(arrays["anchors_0"]) == len(training(inputs)) - len(silent)


def test_landmarks_replace_anchors_where_there_are_too_many_items() -> None:
    inputs = collection(n=160)
    items, asked = training(inputs), inputs.roles.items("test")
    exact = fit_model(inputs, items, CONFIG)
    near = fit_model(inputs, items, replace(CONFIG, exact_up_to=50, landmarks=40))
    assert len(near.to_arrays()[0]["anchors_0"]) == 40 < len(exact.to_arrays()[0]["anchors_0"])
    assert near.methods == tuple(name for name in exact.methods if name != "local")
    for method in ("rankmkl", "equal_weights", "concatenation", "posterior", "posterior_mkl"):
        first, second = (
            accuracy(inputs, asked, "open", model.rank(inputs.features, asked, ["open"], method)[:, 0])
            for model in (exact, near)
        )
        assert second > first - 0.04, method
    all_of_them = fit_model(inputs, items, replace(ONLY_MKL, exact_up_to=1, landmarks=len(items)))
    np.testing.assert_allclose(  # as many landmarks as items lose nothing
        all_of_them.rank(inputs.features, asked), exact.rank(inputs.features, asked, method="rankmkl"), atol=0.02
    )


def test_concatenation_is_a_linear_function_of_the_features() -> None:
    inputs = collection()
    model = fit_model(inputs, training(inputs), replace(CONFIG, methods=("concatenation",)))
    arrays, asked = model.to_arrays()[0], inputs.roles.items("test")
    expected = arrays["concatenation.offset"] + sum(
        inputs.features[name].rows(asked).astype(float) @ arrays[f"concatenation.direction_{name}"]
        for name in ("shape", "colour")
    )
    np.testing.assert_allclose(model.rank(inputs.features, asked), expected, rtol=1e-9)


def test_gamma_is_chosen_by_cross_validation() -> None:
    inputs = collection()
    config = replace(ONLY_MKL, gamma_factors=(1e-6, 1.0, 1e6))  # all items alike, as usual, all unlike
    chosen, usual = (
        fit_model(inputs, training(inputs), one).facts["kernels"][0]["gamma"] for one in (config, ONLY_MKL)
    )
    assert chosen in (usual, pytest.approx(1e-6 * usual))
    assert chosen != pytest.approx(1e6 * usual)


def test_compared_pairs_are_enough_and_equal_ones_are_measured() -> None:
    inputs = collection()
    ids = list(inputs.features["shape"].ids)
    kind = {item: inputs.labels.class_of[item] for item in ids}
    rank = dict(zip(CLASSES, ORDER["open"], strict=True))
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(600):
        a, b = rng.choice(ids, 2, replace=False)
        gap = rank[kind[a]] - rank[kind[b]]
        if gap >= 0:
            rows.append(("open", a, b, ">" if gap > 0 else "="))
    labels = Labels({"pairs": pd.DataFrame(rows, columns=["attribute", "first", "second", "relation"])})
    fitted = fit(Inputs(inputs.features, labels, inputs.roles), ONLY_MKL)
    measured = measure(fitted.scores, labels, EvaluationConfig(resamples=20))
    assert measured.metrics["rankmkl"]["accuracy"] > 0.9
    assert measured.metrics["rankmkl"]["equal_separation"] > 0.8


def test_posteriors_are_left_out_where_classes_have_no_strengths() -> None:
    inputs = collection()
    ids = inputs.features["shape"].ids.tolist()
    pairs = pd.DataFrame([("open", a, b, ">") for a, b in zip(ids[::4], ids[3::4], strict=True)],
                         columns=["attribute", "first", "second", "relation"])  # fmt: skip
    labels = Labels({"classes": inputs.labels["classes"], "pairs": pairs})
    config = replace(CONFIG, methods=("posterior", "posterior_mkl", "equal_weights"))
    assert fit(Inputs(inputs.features, labels, inputs.roles), config).model.methods == ("equal_weights", "rankmkl")


def test_what_can_not_be_learned_is_reported() -> None:
    inputs = collection()
    tied = inputs.labels["orderings"].assign(strength=1.0)
    labels = Labels({**inputs.labels.tables, "orderings": tied})
    with pytest.raises(NotApplicable, match="ordered pairs"):
        fit(Inputs(inputs.features, labels, inputs.roles), CONFIG)
    with pytest.raises(DataError, match="gist"):
        fit(inputs, Config())
    nobody = inputs.roles.table[inputs.roles.table["role"] != "test"]
    with pytest.raises(NotApplicable, match="role test"):
        fit(Inputs(inputs.features, inputs.labels, Roles(nobody)), CONFIG)


def test_strengths_of_items_override_those_of_their_class() -> None:
    """Strengths of items alone teach the attribute, and where they contradict the class they win."""
    inputs = collection()
    rank = dict(zip(CLASSES, ORDER["open"], strict=True))
    by_item = pd.DataFrame(
        [("open", item, -rank[name]) for item, name in inputs.labels.class_of.items()],
        columns=["attribute", "target", "strength"],
    )
    classes = inputs.labels["orderings"].query("attribute == 'open'")
    for orderings in (by_item, pd.concat([classes, by_item])):
        labels = Labels({**inputs.labels.tables, "orderings": orderings})
        scores = fit(Inputs(inputs.features, labels, inputs.roles), ONLY_MKL).scores["rankmkl"]
        truth = np.array([rank[inputs.labels.class_of[item]] for item in scores.ids.tolist()])
        assert np.corrcoef(scores.values[:, 0], truth)[0, 1] < -0.8


def test_one_training_pair_is_enough_to_rank() -> None:
    """Cross-validation has nothing to hold out then; the first setting is taken and the share is unknown."""
    inputs = collection()
    (strong, weak), asked = training(inputs)[:2], inputs.roles.items("test")
    rows = [("open", strong, weak, ">"), ("open", asked[0], asked[1], ">")]
    labels = Labels({"pairs": pd.DataFrame(rows, columns=["attribute", "first", "second", "relation"])})
    model = fit(Inputs(inputs.features, labels, inputs.roles), replace(CONFIG, gamma_factors=(1.0, 2.0))).model
    _, facts = model.to_arrays()
    assert facts["learned"]["rankmkl"]["open"]["held_out_accuracy"] is None
    assert facts["learned"]["rankmkl"]["open"]["C"] == min(CONFIG.cost)
    assert facts["served"] == "rankmkl"
    first, second = model.rank(inputs.features, [strong, weak], ["open"])[:, 0]
    assert first > second
    json.dumps(facts, allow_nan=False)


def test_a_kernel_that_is_constant_gets_no_weight() -> None:
    inputs = collection()
    ids = inputs.features["shape"].ids
    still = FeatureMatrix(ids, ("a", "b"), np.zeros((len(ids), 2), np.float32))
    config = replace(CONFIG, kernels=(*CONFIG.kernels, KernelChoice("still", "linear"), KernelChoice("still")))
    fitted = fit(Inputs({**inputs.features, "still": still}, inputs.labels, inputs.roles), config)
    for learned in fitted.model.to_arrays()[1]["learned"]["rankmkl"].values():
        assert max(learned["weights"][2:]) < 1e-9
    np.testing.assert_allclose(
        fitted.scores["rankmkl"].values, fit(inputs, ONLY_MKL).scores["rankmkl"].values, atol=0.05
    )
    assert np.ptp(fitted.scores["only_still_linear"].values) == 0
    measured = measure(fitted.scores, inputs.labels, EvaluationConfig(resamples=10))
    assert measured.metrics["only_still_exponential_chi2"]["accuracy"] == 0.5  # all ties: a guess


def test_duplicates_are_held_out_together_and_score_the_same() -> None:
    inputs = collection()
    items = training(inputs)
    twins = {f"{item}.copy": item for item in items}
    features = {
        name: FeatureMatrix(
            np.array([*matrix.ids, *twins]), matrix.names, np.concatenate([matrix.values, matrix.rows(twins.values())])
        )
        for name, matrix in inputs.features.items()
    }
    classes = inputs.labels["classes"]
    copies = pd.DataFrame({"item": [*twins], "class": [inputs.labels.class_of[item] for item in twins.values()]})
    labels = Labels({**inputs.labels.tables, "classes": pd.concat([classes, copies])})
    table = inputs.roles.table
    of_twins = pd.DataFrame({"item_id": [*twins], "group_id": [*twins.values()]})
    of_twins = of_twins.merge(table[["item_id", "role", "fold"]], left_on="group_id", right_on="item_id")
    of_twins = of_twins.rename(columns={"item_id_x": "item_id"})[["item_id", "group_id", "role", "fold"]]
    doubled = Inputs(features, labels, Roles(pd.concat([table, of_twins], ignore_index=True)))
    both = [*items, *twins]
    prepared = prepare(doubled, both, CONFIG)
    fold = dict(zip(both, prepared.fold_of.tolist(), strict=True))
    assert all(fold[copy] == fold[item] for copy, item in twins.items())
    model = fit_model(doubled, both, ONLY_MKL)
    np.testing.assert_allclose(model.rank(features, list(twins)), model.rank(features, list(twins.values())), rtol=1e-5)
    assert 0.8 < model.facts["learned"]["rankmkl"]["open"]["held_out_accuracy"] < 1.0


def test_a_model_is_what_its_arrays_and_facts_say() -> None:
    model = fit(collection(), ONLY_MKL).model
    assert isinstance(model, Model)
    assert model.needs.features == ("shape", "colour")
    assert not model.needs.collection
