"""`attributes` as a system: learns from training roles alone, serves what it learned, leaves out what it can't."""

from __future__ import annotations

import doctest
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_attributes import CLASSES, CONFIG, ORDER, collection
from pydantic import TypeAdapter, ValidationError

from mediarank.evaluation.measured import EvaluationConfig
from mediarank.labels import Labels
from mediarank.learners.pairwise.supervision import supervise
from mediarank.systems.attributes import report as attributes_report
from mediarank.systems.attributes.fit import (
    AttributesConfig,
    AttributesModel,
    Config,
    KernelChoice,
    fit,
    prepare,
    run,
)
from mediarank.systems.attributes.report import equal_separation, measure, pairs_in_order, section, weights_figure
from mediarank.systems.contract import Inputs
from mediarank.types import ConfigError, DataError, FeatureMatrix, NotApplicable, Roles


def training(inputs: Inputs) -> list[str]:
    return inputs.roles.items("base", "rank", "valid")


@pytest.fixture(scope="module")
def model() -> AttributesModel:
    inputs = collection()
    return fit(inputs.features, inputs.labels, training(inputs), CONFIG)


def test_it_learns_each_attribute_from_the_feature_that_tells_it(model: AttributesModel) -> None:
    inputs = collection()
    assert model.attributes == ("green", "open")  # flat ties: there is nothing to learn, and nothing is pretended
    asked = inputs.roles.items("test")
    known, scores = supervise(inputs.labels, asked), model.scores(inputs.features, asked)
    for column, attribute in enumerate(model.attributes):
        assert pairs_in_order(known[attribute], scores.values[:, column].astype(float)) > 0.9
    green, opened = model.weights
    assert green[1] > green[0]
    assert opened[0] > opened[1]


def test_a_pair_is_a_comparison_of_scores(model: AttributesModel) -> None:
    inputs = collection()
    ids = inputs.roles.items("test")
    scores = model.scores(inputs.features, ids)
    expected = scores.values[3, 1] - scores.values[5, 1]
    assert model.margin(inputs.features, "open", ids[3], ids[5]) == pytest.approx(float(expected), abs=1e-5)
    assert model.margin(inputs.features, "open", ids[5], ids[3]) == pytest.approx(-float(expected), abs=1e-5)
    with pytest.raises(DataError, match="green, open"):
        model.margin(inputs.features, "flat", ids[0], ids[1])


def test_scores_do_not_depend_on_who_else_is_scored(model: AttributesModel) -> None:
    inputs = collection()
    ids = list(inputs.features["shape"].ids)
    alone = model.scores(inputs.features, ids[7:8]).values[0]
    np.testing.assert_allclose(model.scores(inputs.features, ids).values[7], alone, rtol=1e-5)
    turned = model.scores(inputs.features, ids[::-1])  # rows are found by id
    np.testing.assert_allclose(turned.rows([ids[7]])[0], alone, rtol=1e-5)


def test_it_survives_being_stored(model: AttributesModel) -> None:
    inputs = collection()
    ids = list(inputs.features["shape"].ids)
    arrays, facts = model.to_arrays()
    again = AttributesModel.from_arrays(arrays, json.loads(json.dumps(facts, sort_keys=True)))
    np.testing.assert_array_equal(again.scores(inputs.features, ids).values, model.scores(inputs.features, ids).values)
    assert again.to_arrays()[1] == facts


def test_test_items_are_never_seen() -> None:
    inputs = collection()
    spoiled = {
        name: FeatureMatrix(matrix.ids, matrix.names, matrix.values.copy()) for name, matrix in inputs.features.items()
    }
    for matrix in spoiled.values():
        matrix.values[matrix.positions(inputs.roles.items("test"))] = 1e6
    one = run(inputs, replace(CONFIG, baselines=False))
    other = run(Inputs(spoiled, inputs.labels, inputs.roles), replace(CONFIG, baselines=False))
    assert one.facts == other.facts
    for name, values in one.arrays.items():
        np.testing.assert_array_equal(values, other.arrays[name])


def test_run_ranks_by_every_method_and_measures_them() -> None:
    inputs = collection()
    outcome = run(inputs, CONFIG)
    methods = {"rankmkl", "equal_weights", "only_shape", "only_colour", "concatenation"}
    assert set(outcome.scores) == methods
    for matrix in outcome.scores.values():
        assert matrix.ids.tolist() == ["green", "open"]
        assert list(matrix.names) == inputs.roles.items("test")
    measured = measure(outcome.scores, inputs.labels, EvaluationConfig(resamples=50))
    assert set(measured.metrics) == methods
    assert measured.metrics["rankmkl"]["accuracy"] > 0.9
    by_attribute = measured.per_query.set_index(["method", "query"])["accuracy"]
    assert by_attribute["only_colour", "open"] < 0.75 < by_attribute["only_shape", "open"]
    assert by_attribute["only_shape", "green"] < by_attribute["only_colour", "green"]
    page = section(outcome.scores, measured, inputs.labels, lambda item: None, 5, outcome.facts)
    gallery = page.blocks[-1]
    assert [row.title for row in gallery.rows] == ["green", "open"]
    weakest, strongest = gallery.rows[1].tiles[0], gallery.rows[1].tiles[-1]
    best = outcome.scores[page.facts[0].value]
    values, names = best.rows(["open"])[0], best.names
    assert (weakest.title, strongest.title) == (names[values.argmin()], names[values.argmax()])
    assert weakest.rank == 1
    assert strongest.rank == len(names)


def test_items_that_nobody_ordered_take_no_part() -> None:
    """Clips have the same features as images but no class: they must not crowd the kernels."""
    inputs = collection()
    silent = set(inputs.roles.items("base")[::2])
    classes = inputs.labels["classes"]
    labels = Labels({**inputs.labels.tables, "classes": classes[~classes["item"].isin(silent)]})
    outcome = run(Inputs(inputs.features, labels, inputs.roles), replace(CONFIG, baselines=False))
    assert len(outcome.arrays["anchors_0"]) == len(training(inputs)) - len(silent)


def test_landmarks_serve_where_there_are_too_many_items() -> None:
    inputs = collection(n=160)
    items, asked = training(inputs), inputs.roles.items("test")
    exact = fit(inputs.features, inputs.labels, items, CONFIG)
    near = fit(inputs.features, inputs.labels, items, replace(CONFIG, exact_up_to=50, landmarks=40))
    assert len(near.kernels[0].anchors) == 40 < len(exact.kernels[0].anchors)
    known = supervise(inputs.labels, asked)["open"]
    accuracies = [
        pairs_in_order(known, one.scores(inputs.features, asked).values[:, 1].astype(float)) for one in (exact, near)
    ]
    assert accuracies[1] > accuracies[0] - 0.03
    all_of_them = fit(inputs.features, inputs.labels, items, replace(CONFIG, exact_up_to=1, landmarks=len(items)))
    np.testing.assert_allclose(  # as many landmarks as items lose nothing
        all_of_them.scores(inputs.features, asked).values, exact.scores(inputs.features, asked).values, atol=0.02
    )
    methods = run(inputs, replace(CONFIG, exact_up_to=50, landmarks=40)).scores
    assert set(methods) == {"rankmkl", "equal_weights", "only_shape", "only_colour"}


def test_gamma_is_chosen_by_cross_validation() -> None:
    inputs = collection()
    config = replace(CONFIG, gamma_factors=(1e-6, 1.0, 1e6))  # all alike, and all strangers
    chosen = fit(inputs.features, inputs.labels, training(inputs), config)
    usual = fit(inputs.features, inputs.labels, training(inputs), CONFIG)
    assert chosen.kernels[0].gamma in (usual.kernels[0].gamma, pytest.approx(1e-6 * usual.kernels[0].gamma))
    assert chosen.kernels[0].gamma != pytest.approx(1e6 * usual.kernels[0].gamma)


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
    outcome = run(Inputs(inputs.features, labels, inputs.roles), replace(CONFIG, baselines=False))
    measured = measure(outcome.scores, labels, EvaluationConfig(resamples=20))
    assert measured.metrics["rankmkl"]["accuracy"] > 0.9
    assert measured.metrics["rankmkl"]["equal_separation"] > 0.8


def test_separation_of_equal_pairs() -> None:
    labels = Labels(
        {
            "pairs": pd.DataFrame(
                [("open", "a", "b", ">"), ("open", "a", "c", "="), ("open", "b", "d", "=")],
                columns=["attribute", "first", "second", "relation"],
            )
        }
    )
    known = supervise(labels, ["a", "b", "c", "d"])["open"]
    # margins: ordered 2; equal 1 and 3, so half of them are smaller
    assert equal_separation(known, np.array([2.0, 0.0, 1.0, 3.0])) == 0.5
    assert pairs_in_order(known, np.array([2.0, 0.0, 1.0, 3.0])) == 1.0


def test_what_can_not_be_learned_is_said() -> None:
    inputs = collection()
    tied = inputs.labels["orderings"].assign(strength=1.0)
    labels = Labels({**inputs.labels.tables, "orderings": tied})
    with pytest.raises(NotApplicable, match="ordered pairs"):
        fit(inputs.features, labels, training(inputs), CONFIG)
    with pytest.raises(DataError, match="'gist' is not there"):
        fit(inputs.features, inputs.labels, training(inputs), AttributesConfig())


def test_strengths_of_items_go_before_those_of_their_class() -> None:
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
        scores = run(Inputs(inputs.features, labels, inputs.roles), replace(CONFIG, baselines=False)).scores["rankmkl"]
        truth = np.array([rank[inputs.labels.class_of[item]] for item in scores.names])
        assert np.corrcoef(scores.values[0], truth)[0, 1] < -0.8


def test_one_training_pair_is_enough_to_rank() -> None:
    """Cross-validation has nothing to hold out then; the first setting is taken and the share is unknown."""
    inputs = collection()
    (strong, weak), asked = training(inputs)[:2], inputs.roles.items("test")
    rows = [("open", strong, weak, ">"), ("open", asked[0], asked[1], ">")]
    labels = Labels({"pairs": pd.DataFrame(rows, columns=["attribute", "first", "second", "relation"])})
    outcome = run(Inputs(inputs.features, labels, inputs.roles), replace(CONFIG, gamma_factors=(1.0, 2.0)))
    facts = outcome.facts["learned"]["open"]
    assert facts["held_out_accuracy"] is None
    assert facts["C"] == min(CONFIG.cost)
    model = AttributesModel.from_arrays(outcome.arrays, outcome.facts)
    assert model.margin(inputs.features, "open", strong, weak) > 0
    json.dumps(outcome.facts, allow_nan=False)


def test_a_kernel_that_tells_nothing_gets_no_weight() -> None:
    inputs = collection()
    ids = inputs.features["shape"].ids
    still = FeatureMatrix(ids, ("a", "b"), np.zeros((len(ids), 2), np.float32))
    config = replace(CONFIG, kernels=(*CONFIG.kernels, KernelChoice("still", "linear"), KernelChoice("still")))
    outcome = run(Inputs({**inputs.features, "still": still}, inputs.labels, inputs.roles), config)
    assert np.all(outcome.arrays["weights"][:, 2:] < 1e-9)
    np.testing.assert_allclose(
        outcome.scores["rankmkl"].values, run(inputs, CONFIG).scores["rankmkl"].values, atol=0.05
    )
    assert np.ptp(outcome.scores["only_still_linear"].values) == 0
    measured = measure(outcome.scores, inputs.labels, EvaluationConfig(resamples=10))
    assert measured.metrics["only_still_exponential_chi2"]["accuracy"] == 0.5  # all ties: a guess


def test_duplicates_are_held_out_together_and_score_alike() -> None:
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
    group_of = {**{item: item for item in items}, **twins}
    both = [*items, *twins]
    prepared = prepare(features, labels, both, CONFIG, group_of)
    fold = dict(zip(both, prepared.fold_of.tolist(), strict=True))
    assert all(fold[copy] == fold[item] for copy, item in twins.items())
    model = fit(features, labels, both, CONFIG, group_of)
    known = model.scores(features, both)
    np.testing.assert_allclose(known.rows(twins), known.rows(twins.values()), rtol=1e-5)
    held_out = model.facts["learned"]["open"]["held_out_accuracy"]
    assert 0.8 < held_out < 1.0


def test_it_is_a_system_as_the_registry_wants_it() -> None:
    config = Config(kernels=(KernelChoice("shape"), KernelChoice("shape", "linear"), KernelChoice("colour", "rbf")))
    assert config.features == ("shape", "colour")
    assert config.kernel_names == ("shape_exponential_chi2", "shape_linear", "colour")
    with pytest.raises(ConfigError, match="none of them twice"):
        Config(kernels=(KernelChoice("shape"), KernelChoice("shape")))
    inputs = collection()
    nobody = inputs.roles.table[inputs.roles.table["role"] != "test"]
    with pytest.raises(NotApplicable, match="role test"):
        run(Inputs(inputs.features, inputs.labels, Roles(nobody)), CONFIG)


def test_kernel_weights_are_drawn_as_shares() -> None:
    facts = {
        "kernels": [{"feature": "gist", "kernel": "rbf"}, {"feature": "gist", "kernel": "linear"}],
        "learned": {"open": {"weights": [3.0, 1.0]}, "flat": {"weights": [0.0, 0.0]}},
    }
    drawn = weights_figure(facts)
    assert "gist_linear" in drawn.svg
    assert all(share in drawn.svg for share in ("75", "25"))


def test_examples() -> None:
    tried = doctest.testmod(attributes_report)
    assert tried.failed == 0
    assert tried.attempted > 0


def test_configuration_refuses_strangers() -> None:
    validate = TypeAdapter(AttributesConfig).validate_python
    assert validate({"kernels": [{"feature": "hog", "kernel": "linear"}]}).kernels == (KernelChoice("hog", "linear"),)
    for wrong in ({"folds": 1}, {"cost": [0.0]}, {"costs": [1.0]}, {"kernels": [{"feature": "hog", "kernel": "poly"}]}):
        with pytest.raises(ValidationError):
            validate(wrong)
