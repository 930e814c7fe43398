"""Timed curves of the concepts benchmark, and the numbers that summarise two of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from concepts_compare import Run, compare, gain_at, priced, speed_up, summary, trace
from concepts_data import Described
from concepts_train import read_trained, trained_pools, write_trained
from made_concepts import CONFIG, SVM, collection, inputs_of

from mediarank.base_models.concept import ConceptModels
from mediarank.base_models.training import train_pool
from mediarank.evaluation.metrics import average_precision
from mediarank.learners.boosting.costs import Costs
from mediarank.learners.boosting.plan import Plan
from mediarank.systems.concepts.figures import FULL, Trace
from mediarank.systems.concepts.fit import fit
from mediarank.systems.concepts.model import Model
from mediarank.types import Judgments


def line(concept: str, costs: list[float], precision: list[float]) -> Trace:
    cost = np.array(costs, dtype=np.float64)
    return Trace(concept, cost, cost, cost * 10, {100: np.array(precision) / 2, FULL: np.array(precision)})


SLOW = [line("boat", [1, 2, 4], [0.2, 0.4, 0.5]), line("fish", [1, 3, 8], [0.1, 0.2, 0.3])]
QUICK = [line("boat", [1, 1.5], [0.3, 0.6]), line("fish", [1, 2], [0.1, 0.4])]


def test_a_trace_notes_what_the_walk_did() -> None:
    features, judgments, roles = collection()
    given = inputs_of(features, judgments, roles)
    model = fit(given, replace(CONFIG, methods=("forward_cascade",))).model
    assert isinstance(model, Model)
    items = sorted(roles.items("test"))
    relevant = judgments.grades("boat", items) > 0
    models = ConceptModels.of(given.pools, "boat")
    plan = model.plans["forward_cascade"]["boat"]
    found = trace(plan, models, features, items, relevant, depths=(10, FULL), repeats=2)
    answer = model.ask(features, items, "boat")
    assert found.precision[FULL][-1] == pytest.approx(average_precision(relevant, answer.scores))
    assert found.precision[10][-1] == pytest.approx(average_precision(relevant, answer.scores, k=10))
    assert found.evaluations[-1] == pytest.approx(answer.evaluations / len(items))
    assert found.kernel_evaluations[-1] > found.evaluations[-1]
    assert found.evaluations[0] == 1
    assert len(found.seconds) == len(plan)
    assert np.all(np.diff(found.seconds) > 0)
    assert np.all(np.diff(found.evaluations) >= 0)


def test_speed_up_and_gain_by_hand() -> None:
    # 99 % of the slow one's best, .4, is reached at 8 by itself and at 2 by the other.
    assert speed_up(SLOW, QUICK, "seconds", FULL) == pytest.approx(4)
    assert speed_up(SLOW, QUICK, "kernel_evaluations", 100) == pytest.approx(4)
    assert speed_up(SLOW, QUICK, "seconds", FULL, share=0.5) == pytest.approx(2 / 1)
    assert speed_up(QUICK, SLOW, "seconds", FULL) == 0.0
    assert gain_at(SLOW, QUICK, "seconds", FULL, 2.0) == pytest.approx(0.5 / 0.25 - 1)
    assert np.isnan(gain_at(SLOW, QUICK, "seconds", FULL, 0.5))


def whole(concept: str, costs: list[float], precision: list[float], timed: bool = True) -> Trace:
    cost, found = np.array(costs, dtype=np.float64), np.array(precision)
    seconds = cost if timed else np.full(len(cost), np.nan)
    return Trace(concept, seconds, cost, seconds, {100: found, 500: found / 2, FULL: found})


def test_ties_are_not_wins_and_speed_ups_are_counted_in_evaluations() -> None:
    slow = [whole("boat", [2, 8], [0.2, 0.4]), whole("fish", [2, 8], [0.2, 0.4]), whole("sky", [2, 8], [0.2, 0.4])]
    quick = [whole("boat", [1, 2], [0.4, 0.5]), whole("fish", [1, 2], [0.2, 0.2]), whole("sky", [1, 2], [0.4, 0.5])]
    traces = {"slow": slow, "quick": quick}
    found = compare("quick", "slow", Run(traces, traces, {}, {}, {}, {}, {}, 8))
    assert found["map"] == pytest.approx(0.4)
    assert found["map500"] == pytest.approx(0.2)
    assert found["concepts_won"] == pytest.approx(2 / 3)
    assert found["concepts_tied"] == pytest.approx(1 / 3)
    assert found["speedup_full_evaluations"] == pytest.approx(8 / 2)
    assert found["evaluations_fraction"] == pytest.approx(2 / 8)
    assert found["p_fixed_time"] == pytest.approx(0.5), "two of three differ, all in one direction: 4 of 8 patterns"


def test_a_feature_is_paid_for_once_per_item() -> None:
    scores = np.array([[0.5, 0.5, 0.1], [-0.5, 0.1, 0.2]], dtype=np.float32)
    plan = Plan.of_steps([{0: 1.0}, {1: 1.0}, {2: 1.0}], thresholds=[-np.inf, 0.0, 0.0])
    costs = Costs(np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]), np.array([10.0, 20.0]))
    found = priced(plan, "boat", scores, np.array([True, False]), costs)
    # Both items pay feature 0 and model 0; the survivor pays model 1, then feature 1 and model 2.
    np.testing.assert_allclose(found.seconds, [11.0, 11 + 2 / 2, 12 + 23 / 2])
    np.testing.assert_allclose(found.evaluations, [1, 1.5, 2])


def both(timed: bool) -> Run:
    slow = [whole("boat", [2, 8], [0.2, 0.4], timed), whole("fish", [2, 8], [0.2, 0.4], timed)]
    quick = [whole("boat", [1, 2], [0.4, 0.5], timed), whole("fish", [1, 4], [0.2, 0.3], timed)]
    settings = {("symmetric", "bound", "squared", 0.05): slow}
    return Run(
        {"slow": slow, "quick": quick}, {"slow": slow}, {"lightgbm": 0.3}, {"strength": 0.1}, {}, {}, settings, 8
    )


def test_curves_without_times_are_compared_at_equal_evaluations() -> None:
    found = compare("quick", "slow", both(timed=False))
    assert "speedup_full_time" not in found
    # At 3 evaluations, the mean of the quick ends, the slow ones have .2 and .2, the quick ones .5 and .2.
    assert found["gain_fixed_evaluations"] == pytest.approx(0.35 / 0.2 - 1)
    assert (found["concepts_won"], found["concepts_tied"]) == (0.5, 0.5)
    assert compare("quick", "slow", both(timed=True))["speedup_full_time"] == pytest.approx(8 / 4)


def test_p_is_over_concepts_and_not_over_splits() -> None:
    found = summary("quick", [both(timed=False)] * 6, "slow")
    assert found["p_end"] == pytest.approx(1.0), "one concept won and one lost by the same, however many splits"
    assert found["p_fixed_evaluations"] == pytest.approx(1.0), "one won and one tied at three evaluations"


def test_a_run_is_kept_as_json() -> None:
    run = both(timed=False)
    again = Run.from_json(json.loads(json.dumps(run.to_json())))
    assert not again.timed
    assert again.settings.keys() == run.settings.keys()
    assert compare("quick", "slow", again) == compare("quick", "slow", run)


def test_trained_models_are_read_back_as_they_were(tmp_path: Path) -> None:
    features, judgments, roles = collection()
    learning = roles.items("base", "rank")
    for learner in ("svm", "ridge"):
        config = replace(SVM, learner=learner)
        trained = train_pool("colour", features["colour"], judgments, learning, config)
        write_trained(tmp_path / "colour.npz", trained)
        again = read_trained(tmp_path / "colour.npz")
        for given in (learning, roles.items("test")):
            expected = trained.score(features["colour"], sorted(given)).values
            np.testing.assert_array_equal(again.score(features["colour"], sorted(given)).values, expected)


def test_base_models_are_trained_once_and_again_when_labels_or_settings_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, judgments, roles = collection()
    described = Described(features, judgments, {}, {}, judgments)
    fits: list[str] = []
    monkeypatch.setattr(
        "concepts_train.train_pool", lambda name, *rest: (fits.append(name), train_pool(name, *rest))[1]
    )
    for config in (SVM, SVM, replace(SVM, penalties=(1.0,))):
        trained_pools(described, {"colour": config}, roles, tmp_path)
    other = Judgments.from_pairs(
        [("boat", "0001.jpg"), ("boat", "0006.jpg"), ("boat", "0011.jpg")], judgments.candidates
    )
    trained_pools(replace(described, judgments=other), {"colour": SVM}, roles, tmp_path)
    assert fits == ["colour"] * 3
    mixed = {"edges": replace(SVM, learner="ridge"), "colour": SVM, "texture": replace(SVM, learner="ridge")}
    for _ in range(2):
        found = trained_pools(described, mixed, roles, tmp_path)
        assert list(found) == ["colour", "edges", "texture"]
    assert fits == ["colour"] * 3 + ["edges", "texture"], "those of SVM on colour were kept"
