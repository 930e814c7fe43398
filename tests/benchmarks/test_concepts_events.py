"""The benchmarks of concepts and events can be imported, and their comparisons hold on a case done by hand."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from concepts_compare import Run, compare, priced

from mediarank.learners.boosting.costs import Costs
from mediarank.learners.boosting.plan import Plan
from mediarank.systems.concepts.figures import FULL, Trace

MODULES = (
    "concepts", "concepts_compare", "concepts_data", "concepts_speed",
    "events", "events_bands", "events_data", "events_made", "events_real", "events_speed",
)  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_they_are_imported(name: str) -> None:
    import_module(name)


def line(concept: str, costs: list[float], precision: list[float]) -> Trace:
    cost, found = np.array(costs), np.array(precision)
    return Trace(concept, cost, cost, cost, {100: found, 500: found, FULL: found})


def test_ties_are_not_wins_and_speed_ups_are_counted_in_evaluations() -> None:
    slow = [line("boat", [2, 8], [0.2, 0.4]), line("fish", [2, 8], [0.2, 0.4]), line("sky", [2, 8], [0.2, 0.4])]
    quick = [line("boat", [1, 2], [0.4, 0.5]), line("fish", [1, 2], [0.2, 0.2]), line("sky", [1, 2], [0.4, 0.5])]
    traces = {"slow": slow, "quick": quick}
    ends = {"slow": 0.4, "quick": 0.4}
    found = compare("quick", "slow", Run(traces, traces, ends, {}, {}, {}))
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
