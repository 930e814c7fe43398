from __future__ import annotations

import numpy as np
import pytest

from mediarank.evaluation.metrics import average_precision
from mediarank.learners.boosting.plan import Plan
from mediarank.systems.concepts.figures import (
    FULL,
    Trace,
    figure6,
    figure7,
    figure8,
    figure9,
    mean_curve,
    trace_scored,
)
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


def test_precision_at_a_budget_is_that_of_the_last_step_it_paid_for() -> None:
    found = SLOW[0].at("seconds", np.array([0.5, 1.0, 1.9, 2.0, 99.0]), FULL)
    np.testing.assert_allclose(found, [0, 0.2, 0.2, 0.4, 0.5])


def test_mean_curves_average_concepts_at_equal_budgets() -> None:
    budgets, values = mean_curve(SLOW, "seconds", FULL)
    np.testing.assert_allclose(budgets, [1, 2, 3, 4, 8])
    np.testing.assert_allclose(values, [0.15, 0.25, 0.3, 0.35, 0.4])
    with pytest.raises(DataError, match="no trace"):
        mean_curve([], "seconds", FULL)


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
