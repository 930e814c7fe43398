from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.learners.boosting.plan import Plan, pack_plans, unpack_plan, walk
from mediarank.types import DataError


def random_plan(rng: np.random.Generator, models: int, steps: int, layered: bool) -> Plan:
    chosen = [
        {int(m): float(rng.normal()) for m in rng.choice(models, size=rng.integers(1, 3), replace=False)}
        for _ in range(steps)
    ]
    thresholds = [-np.inf, *np.sort(rng.normal(scale=0.5, size=steps - 1))]
    return Plan.of_steps(chosen, thresholds, rng.normal(size=steps).tolist(), layered)


def full_scoring_with_masks(plan: Plan, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The definition: every model on every item, and an indicator a step. Scores and the last step each item took."""
    sums, last, inside = np.zeros(len(X)), np.zeros(len(X)), np.ones(len(X), dtype=bool)
    for t in range(len(plan)):
        inside &= sums >= plan.thresholds[t]
        entries = slice(plan.starts[t], plan.starts[t + 1])
        sums = sums + inside * (plan.offsets[t] + X[:, plan.models[entries]] @ plan.weights[entries])
        last[inside] = t
    return sums, last


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_walking_with_skips_equals_full_scoring_with_masks(seed: int, layered: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(30, 6)).astype(np.float32)
    plan = random_plan(rng, 6, 8, layered)
    sums, last = full_scoring_with_masks(plan, X)
    scores = plan.score(X)
    if layered:
        np.testing.assert_array_equal(np.argsort(scores), np.lexsort((sums, last)))
    else:
        np.testing.assert_allclose(scores, sums, atol=1e-6)


def test_a_model_is_asked_once_an_item_and_never_about_the_pruned() -> None:
    X = np.array([[0.9, 0.1, 0.0], [0.5, 0.2, 0.0], [-0.9, 0.3, 0.0]], dtype=np.float32)
    plan = Plan.of_steps([{0: 1.0}, {1: 1.0}, {0: 1.0}, {2: 1.0}], thresholds=[-np.inf, 0.0, 0.0, 1.5])
    asked: list[tuple[int, list[int]]] = []

    def evaluate(model: int, items: np.ndarray) -> np.ndarray:
        asked.append((model, items.tolist()))
        return X[items, model]

    states = list(walk(plan, evaluate, 3))
    assert asked == [(0, [0, 1, 2]), (1, [0, 1]), (2, [0])]
    assert [state.evaluations for state in states] == [3, 5, 5, 6]
    assert [state.active.tolist() for state in states] == [[0, 1, 2], [0, 1], [0, 1], [0]]
    np.testing.assert_allclose(states[-1].scores, [1.9, 1.2, -0.9], atol=1e-6)


def test_who_falls_out_does_not_come_back() -> None:
    X = np.array([[0.0, -1.0, 1.0]], dtype=np.float32)
    plan = Plan.of_steps([{0: 1.0}, {1: 1.0}, {2: 1.0}], thresholds=[-np.inf, -0.5, -0.5])
    assert [len(state.active) for state in walk(plan, lambda m, i: X[i, m], 1)] == [1, 1, 0]


def test_layers_rank_survivors_above_the_pruned_whatever_their_scores() -> None:
    X = np.array([[0.2, -1.0], [0.1, 0.0]], dtype=np.float32)
    steps, thresholds = [{0: 1.0}, {1: 5.0}], [-np.inf, 0.15]
    assert np.argmax(Plan.of_steps(steps, thresholds).score(X)) == 1
    assert np.argmax(Plan.of_steps(steps, thresholds, layered=True).score(X)) == 0


def test_prefixes_and_arrays_keep_the_plan() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(20, 5)).astype(np.float32)
    plan = random_plan(rng, 5, 6, layered=True)
    states = list(walk(plan, lambda m, i: X[i, m], 20))
    np.testing.assert_array_equal(plan.first(3).score(X), states[2].scores)
    plans = [random_plan(rng, 5, 3, layered=False), Plan.of_steps([]), plan]
    packed = pack_plans(plans)
    for number, one in enumerate(plans):
        again = unpack_plan(packed, number)
        np.testing.assert_array_equal(again.score(X), one.score(X))
        assert (again.layered, len(again)) == (one.layered, len(one))
    assert plan.distinct_models == list(dict.fromkeys(plan.models.tolist()))


def test_a_plan_refuses_arrays_that_do_not_fit() -> None:
    with pytest.raises(DataError, match="do not fit together"):
        Plan(np.zeros(2), np.zeros(1), np.array([0, 1, 1]), np.array([0]), np.array([1.0]))
    with pytest.raises(DataError, match="lacks steps"):
        unpack_plan({k: v for k, v in pack_plans([Plan.of_steps([{0: 1.0}])]).items() if k != "steps"}, 0)


def test_no_items_and_no_steps_are_fine() -> None:
    assert Plan.of_steps([{0: 1.0}]).score(np.zeros((0, 1), dtype=np.float32)).shape == (0,)
    np.testing.assert_array_equal(Plan.of_steps([]).score(np.zeros((2, 1), dtype=np.float32)), [0, 0])
