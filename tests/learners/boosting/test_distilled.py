"""The distilled cascade ends in the order of the whole stack, for a small share of its evaluations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mediarank.evaluation.metrics import average_precision
from mediarank.learners.boosting.cascade import ForwardCascade
from mediarank.learners.boosting.costs import Costs
from mediarank.learners.boosting.distilled import DistilledCascade
from mediarank.learners.boosting.plan import walk
from mediarank.learners.fusion.stacking import LogisticStacking
from mediarank.types import DataError


def example(seed: int = 0, items: int = 1000, models: int = 30, share: float = 0.02) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.random(items) < share
    X = np.where(y, 0.25, -0.1)[:, None] + rng.normal(scale=0.35, size=(items, models))
    return np.clip(X, -1, 1).astype(np.float32), y


def test_the_last_survivors_are_in_the_order_of_the_whole_stack() -> None:
    X, y = example()
    plan = DistilledCascade(teacher=0.3).fit(X, y).plan_
    *_, last = walk(plan, lambda m, i: X[i, m], len(X))
    stack = LogisticStacking(0.3).fit(X, y).predict(X)
    np.testing.assert_array_equal(np.argsort(last.scores[last.active]), np.argsort(stack[last.active]))
    others = np.setdiff1d(np.arange(len(X)), last.active)
    assert last.scores[others].max() < last.scores[last.active].min()


def test_its_first_stages_are_those_of_the_forward_cascade() -> None:
    X, y = example(1)
    plan = DistilledCascade(stages=4, floor=0.1, per_relevant=0, strength=0.1).fit(X, y).plan_
    forward = ForwardCascade(stages=4, floor=0.1, strength=0.1).fit(X, y).plan_
    np.testing.assert_array_equal(plan.first(4).score(X), forward.score(X))
    assert len(plan) == 5


def test_evaluations_are_those_of_the_schedule() -> None:
    X, y = example(2)
    plan = DistilledCascade(stages=3, floor=0.05, per_relevant=0).fit(X, y).plan_
    states = list(walk(plan, lambda m, i: X[i, m], len(X)))
    assert [len(state.active) for state in states] == [1000, 500, 250, 50]
    assert states[-1].evaluations == 1000 + 500 + 250 + 50 * 27


def test_frequent_concepts_keep_more_items() -> None:
    X, y = example(3, share=0.2)
    plan = DistilledCascade(floor=0.01, per_relevant=2).fit(X, y).plan_
    sizes = [len(state.active) for state in walk(plan, lambda m, i: X[i, m], len(X))]
    assert sizes[-1] == 2 * y.sum()


def test_without_pruning_it_is_the_stack() -> None:
    X, y = example(4)
    found = DistilledCascade(keep=1.0, floor=1.0).fit(X, y)
    stack = LogisticStacking(0.1).fit(X, y)
    np.testing.assert_array_equal(np.argsort(found.predict(X)), np.argsort(stack.predict(X)))


def test_new_items_rank_nearly_as_by_the_stack_for_a_fraction_of_the_work() -> None:
    X, y = example(5, items=4000)
    X[:, :3] = np.clip(X[:, :3] + np.where(y, 0.4, 0.0)[:, None], -1, 1)  # three good models among thirty
    cascade, forward, stack = (
        learner.fit(X[:2000], y[:2000])
        for learner in (DistilledCascade(), ForwardCascade(stages=6, floor=0.03), LogisticStacking(0.1))
    )
    whole, few, early = (average_precision(y[2000:], found.predict(X[2000:])) for found in (stack, cascade, forward))
    assert few > 0.85 * whole
    assert few > early
    *_, last = walk(cascade.plan_, lambda m, i: X[2000:][i, m], 2000)
    assert last.evaluations < 0.15 * 2000 * 30


def test_a_score_does_not_depend_on_company_and_stages_are_nested() -> None:
    X, y = example(6)
    fitted = DistilledCascade().fit(X, y)
    np.testing.assert_allclose(fitted.predict(X)[5:9], fitted.predict(X[5:9]), atol=1e-12)
    states = list(walk(fitted.plan_, lambda m, i: X[i, m], len(X)))
    for earlier, later in itertools.pairwise(states):
        assert set(later.active) <= set(earlier.active)


def test_a_recall_aim_keeps_relevant_examples() -> None:
    X, y = example(7)
    for recall in (0.0, 1.0):
        plan = DistilledCascade(recall=recall, per_relevant=0).fit(X, y).plan_
        *_, last = walk(plan, lambda m, i: X[i, m], len(X))
        assert bool(y[last.active].sum() == y.sum()) is (recall == 1.0)


def test_dear_models_come_later() -> None:
    X, y = example(8)
    first = DistilledCascade().fit(X, y).plan_.models[0]
    own = np.ones(30)
    own[first] = 1000.0
    assert DistilledCascade(cost_weight=1.0).fit(X, y, Costs.of_models(own)).plan_.models[0] != first


def test_labels_of_one_kind_are_refused() -> None:
    with pytest.raises(DataError, match="items are relevant"):
        DistilledCascade().fit(np.zeros((3, 2), dtype=np.float32), [0, 0, 0])
