from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_concepts import CONFIG, collection, inputs_of

from mediarank.base_models.concept import ConceptModels
from mediarank.evaluation.metrics import average_precision
from mediarank.learners.boosting.plan import Plan
from mediarank.systems.concepts.figures import (
    FULL,
    Trace,
    figure6,
    figure7,
    figure8,
    figure9,
    gain_at,
    mean_curve,
    speed_up,
    trace,
    trace_scored,
)
from mediarank.systems.concepts.fit import fit
from mediarank.systems.concepts.model import Model
from mediarank.types import DataError


def line(concept: str, costs: list[float], precision: list[float]) -> Trace:
    cost = np.array(costs, dtype=np.float64)
    return Trace(concept, cost, cost, cost * 10, {100: np.array(precision) / 2, FULL: np.array(precision)})


SLOW = [line("boat", [1, 2, 4], [0.2, 0.4, 0.5]), line("fish", [1, 3, 8], [0.1, 0.2, 0.3])]
QUICK = [line("boat", [1, 1.5], [0.3, 0.6]), line("fish", [1, 2], [0.1, 0.4])]


def test_a_plan_without_steps_costs_nothing_and_orders_nothing() -> None:
    relevant = np.array([False, True, False, False])
    found = trace_scored(Plan.of_steps([]), "boat", np.ones((4, 2), np.float32), relevant)
    assert found.evaluations.tolist() == [0.0]
    assert found.precision[FULL].tolist() == [average_precision(relevant, np.zeros(4))]


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


def test_precision_at_a_budget_is_that_of_the_last_step_it_paid_for() -> None:
    found = SLOW[0].at("seconds", np.array([0.5, 1.0, 1.9, 2.0, 99.0]), FULL)
    np.testing.assert_allclose(found, [0, 0.2, 0.2, 0.4, 0.5])


def test_mean_curves_average_concepts_at_equal_budgets() -> None:
    budgets, values = mean_curve(SLOW, "seconds", FULL)
    np.testing.assert_allclose(budgets, [1, 2, 3, 4, 8])
    np.testing.assert_allclose(values, [0.15, 0.25, 0.3, 0.35, 0.4])
    with pytest.raises(DataError, match="no trace"):
        mean_curve([], "seconds", FULL)


def test_speed_up_and_gain_by_hand() -> None:
    # 99 % of the slow one's best, .4, is reached at 8 by itself and at 2 by the other.
    assert speed_up(SLOW, QUICK, "seconds", FULL) == pytest.approx(4)
    assert speed_up(SLOW, QUICK, "kernel_evaluations", 100) == pytest.approx(4)
    assert speed_up(SLOW, QUICK, "seconds", FULL, share=0.5) == pytest.approx(2 / 1)
    assert speed_up(QUICK, SLOW, "seconds", FULL) == 0.0
    assert gain_at(SLOW, QUICK, "seconds", FULL, 2.0) == pytest.approx(0.5 / 0.25 - 1)
    assert np.isnan(gain_at(SLOW, QUICK, "seconds", FULL, 0.5))


def test_figures_are_tables() -> None:
    traces = {"rankboost": SLOW, "cascade": QUICK}
    six = figure6(traces)
    assert list(six.columns) == ["method", "depth", "seconds", "map"]
    assert set(six["depth"]) == {100, FULL}
    assert six.groupby(["method", "depth"])["map"].max()["rankboost", FULL] == pytest.approx(0.4)
    assert len(figure6(traces, points=2)) == 8
    seven = figure7(traces, budget=2.0).set_index("concept")
    assert seven.loc["fish", "cascade"] == pytest.approx(0.4)
    assert seven.loc["fish", "rankboost"] == pytest.approx(0.1)
    eight = figure8(traces, ["boat"], axis="evaluations")
    assert set(eight["concept"]) == {"boat"}
    assert len(eight) == 5
    with pytest.raises(DataError, match="unicorn"):
        figure8(traces, ["unicorn"])
    nine = figure9({("squared", 0.05): SLOW, ("exponential", 0.5): QUICK})
    assert list(nine.columns) == ["regulariser", "regularization", "seconds", "map"]
    assert nine[nine["regularization"] == 0.5]["map"].max() == pytest.approx(0.5)
