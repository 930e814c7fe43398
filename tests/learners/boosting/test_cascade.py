from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.evaluation.metrics import average_precision
from mediarank.learners.boosting.cascade import (
    BoostedCascade,
    ForwardCascade,
    Schedule,
    StackedCascade,
    survivors,
    with_recall,
)
from mediarank.learners.boosting.costs import Costs
from mediarank.learners.boosting.plan import walk
from mediarank.learners.boosting.rankboost import RankBoost, distribution
from mediarank.learners.fusion.stacking import ridge_logistic
from mediarank.types import DataError

CASCADES = (BoostedCascade, StackedCascade, ForwardCascade)


def example(seed: int = 0, items: int = 400, models: int = 8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.random(items) < 0.1
    X = np.where(y, 0.25, -0.1)[:, None] + rng.normal(scale=0.35, size=(items, models))
    return np.clip(X, -1, 1).astype(np.float32), y


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=20), st.integers(1, 25))
def test_survivors_are_the_best_and_their_ties_and_the_threshold_agrees(values: list[int], count: int) -> None:
    scores = np.array(values, dtype=np.float64)
    kept, threshold = survivors(scores, np.arange(len(values)), count)
    np.testing.assert_array_equal(kept, np.flatnonzero(scores >= threshold))
    assert len(kept) >= min(count, len(values))
    assert (scores[kept] > scores[kept].min()).sum() < count


@pytest.mark.parametrize("cascade", CASCADES)
def test_survivors_follow_the_schedule(cascade: Any) -> None:
    X, y = example()
    plan = cascade(keep=0.5, floor=0.1).fit(X, y).plan_
    sizes = [len(state.active) for state in walk(plan, lambda m, i: X[i, m], len(X))]
    assert sizes[:6] == [400, 200, 100, 50, 40, 40]
    assert all(size == 40 for size in sizes[6:])


@pytest.mark.parametrize("cascade", CASCADES)
def test_survivors_rank_above_the_pruned_and_sets_are_nested(cascade: Any) -> None:
    X, y = example(1)
    states = list(walk(cascade().fit(X, y).plan_, lambda m, i: X[i, m], len(X)))
    for earlier, later in itertools.pairwise(states):
        assert set(later.active) <= set(earlier.active)
        outside = np.setdiff1d(np.arange(len(X)), later.active)
        if len(outside):
            assert later.scores[outside].max() < later.scores[later.active].min()


@pytest.mark.parametrize("cascade", CASCADES)
def test_an_items_score_does_not_depend_on_its_company(cascade: Any) -> None:
    X, y = example(2)
    fitted = cascade().fit(X, y)
    np.testing.assert_allclose(fitted.predict(X)[5:9], fitted.predict(X[5:9]), atol=1e-12)


@pytest.mark.parametrize("cascade", CASCADES)
def test_the_plan_does_to_the_training_examples_what_training_did(cascade: Any) -> None:
    """Thresholds lie between examples, so carrying the plan out prunes none that training kept."""
    X, y = example(3)
    fitted = cascade(keep=0.7).fit(np.round(X, 1), y)
    sizes = [len(state.active) for state in walk(fitted.plan_, lambda m, i: np.round(X, 1)[i, m], len(X))]
    for t, size in enumerate(sizes):
        assert size >= round(max(0.1, 0.7**t) * 400)


def test_without_pruning_and_shrinking_the_boosted_cascade_is_exact_rankboost_of_positive_steps() -> None:
    X, y = example(4)
    plain = RankBoost(rounds=8, step="exact", tolerance=0).fit(X, y)
    assert (plain.weights_ > 0).all()
    cascade = BoostedCascade(rounds=8, keep=1.0, shrinkage=1.0).fit(X, y)
    np.testing.assert_array_equal(cascade.models_, plain.models_)
    np.testing.assert_allclose(cascade.plan_.weights, plain.weights_, rtol=1e-6)


def test_the_loss_of_a_round_is_over_its_survivors() -> None:
    X, y = example(5)
    cascade = BoostedCascade(rounds=2, shrinkage=1.0).fit(X, y)
    first = cascade.plan_.weights[0] * X[:, cascade.models_[0]].astype(np.float64)
    active = np.flatnonzero(first >= cascade.plan_.thresholds[1])
    u, _ = distribution(first[active], y[active])
    assert cascade.models_[1] == np.argmax(u @ X[active])


def test_stages_of_the_stacked_cascade_are_ridge_logistic_fits() -> None:
    X, y = example(6)
    plan = StackedCascade(keep=1.0, strength=0.1).fit(X, y).plan_
    for t in (0, 2, len(plan) - 1):
        used = plan.distinct_models[: t + 1]
        weights = ridge_logistic(X[:, used], y, 0.1)
        sums = X[:, used] @ weights[:-1] + weights[-1]
        np.testing.assert_array_equal(np.argsort(plan.first(t + 1).score(X)), np.argsort(sums))


def test_stages_of_the_forward_cascade_are_fitted_to_everyone_whatever_was_pruned() -> None:
    X, y = example(11)
    plan = ForwardCascade(strength=0.1).fit(X, y).plan_
    for t in (0, 3, len(plan) - 1):
        state = list(walk(plan.first(t + 1), lambda m, i: X[i, m], len(X)))[-1]
        used = plan.distinct_models[: t + 1]
        weights = ridge_logistic(X[:, used], y, 0.1)
        expected = (X[:, used] @ weights[:-1])[state.active]
        np.testing.assert_array_equal(np.argsort(state.scores[state.active]), np.argsort(expected))


def test_the_forward_cascade_takes_what_the_last_fit_left_unexplained() -> None:
    rng = np.random.default_rng(12)
    y = rng.random(600) < 0.3
    first = np.clip(np.where(y, 0.3, -0.3) + rng.normal(scale=0.3, size=600), -1, 1)
    copy = np.clip(first + rng.normal(scale=0.01, size=600), -1, 1)
    other = np.clip(np.where(y, 0.25, -0.25) + rng.normal(scale=0.3, size=600), -1, 1)
    X = np.column_stack([first, copy, other]).astype(np.float32)
    assert ForwardCascade(keep=1.0, strength=1.0).fit(X, y).plan_.distinct_models[1] == 2


def test_the_schedule() -> None:
    assert [Schedule(0.5, 0.1).count(t, 1000) for t in range(6)] == [1000, 500, 250, 125, 100, 100]
    assert Schedule(0.5, 0.0).count(30, 10) == 1
    assert [Schedule(0.5, 0.02, first=0.1).count(t, 1000) for t in range(5)] == [1000, 100, 50, 25, 20]


def test_the_forward_cascade_keeps_few_after_its_first_model_and_more_of_frequent_concepts() -> None:
    X, y = example(7)
    for per_relevant in (0.0, 3.0):
        plan = ForwardCascade(4, floor=0.02, first=0.2, per_relevant=per_relevant).fit(X, y).plan_
        sizes = [len(state.active) for state in walk(plan, lambda m, i: X[i, m], len(X))]
        least = max(0.02, per_relevant * y.mean())
        assert sizes == [len(X), *(round(max(least, 0.2 * 0.5**t) * len(X)) for t in range(3))]


def test_weights_are_never_negative_in_the_boosted_cascade() -> None:
    X, y = example(7)
    X[:, 0] *= -1
    cascade = BoostedCascade().fit(X, y)
    assert (cascade.plan_.weights > 0).all()
    assert 0 not in cascade.models_[:3]


@pytest.mark.parametrize("cascade", CASCADES)
def test_cascades_rank_new_items_better_than_their_first_model_for_a_fraction_of_the_work(cascade: Any) -> None:
    X, y = example(8, items=2000)
    plan = cascade().fit(X[:1000], y[:1000]).plan_
    states = list(walk(plan, lambda m, i: X[1000:][i, m], 1000))
    first, last = states[0], states[-1]
    assert average_precision(y[1000:], last.scores) > 1.3 * average_precision(y[1000:], first.scores)
    assert last.evaluations < 0.4 * 1000 * len(plan.distinct_models)


@pytest.mark.parametrize("cascade", CASCADES)
def test_dear_models_come_later(cascade: Any) -> None:
    X, y = example(9)
    free = cascade().fit(X, y).plan_.distinct_models
    costs = np.ones(8)
    costs[free[0]] = 100.0
    priced = cascade(cost_weight=0.5).fit(X, y, Costs.of_models(costs)).plan_.distinct_models
    assert priced[0] != free[0]
    same = cascade(cost_weight=0.0).fit(X, y, Costs.of_models(costs)).plan_.distinct_models
    assert same == free


@pytest.mark.parametrize("cascade", CASCADES)
def test_one_relevant_none_all_and_constant_scores(cascade: Any) -> None:
    X, _ = example(10, items=50)
    y = np.arange(50) == 7
    assert len(cascade().fit(X, y).plan_) >= 1
    for labels in (np.zeros(50), np.ones(50)):
        with pytest.raises(DataError, match="items are relevant"):
            cascade().fit(X, labels)
    flat = cascade().fit(np.zeros((50, 3), dtype=np.float32), y)
    assert len(set(flat.predict(np.zeros((4, 3), dtype=np.float32)))) == 1


def test_it_stops_where_no_relevant_example_survives() -> None:
    X = np.linspace(1, -1, 40, dtype=np.float32)[:, None].repeat(2, axis=1)
    X[:, 1] *= -1
    y = np.arange(40) == 21  # in the middle: neither order keeps it among the first few
    plan = BoostedCascade(keep=0.3).fit(X, y).plan_
    assert len(plan) < 3


def test_a_recall_aim_keeps_relevant_examples_that_the_schedule_would_prune() -> None:
    scores, relevant = np.array([5.0, 4, 3, 2, 1, 0]), np.array([True, False, False, True, False, True])
    everyone = np.arange(6)
    assert with_recall(scores, everyone, relevant, 0.0, 2) == 2
    assert with_recall(scores, everyone, relevant, 0.3, 1) == 1
    assert with_recall(scores, everyone, relevant, 0.6, 2) == 4, "two of three"
    assert with_recall(scores, everyone, relevant, 1.0, 2) == 6
    assert with_recall(scores, np.array([0, 1, 3]), relevant, 1.0, 1) == 3, "what was pruned is lost"
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.1
    X = np.clip(rng.normal(scale=0.4, size=(400, 8)) + 0.2 * y[:, None], -1, 1).astype(np.float32)
    for recall in (0.0, 0.9):
        plan = ForwardCascade(recall=recall).fit(X, y).plan_
        last = list(walk(plan, lambda m, i: X[i, m], 400))[-1]
        kept = y[last.active].sum() / y.sum()
        assert kept >= recall
        assert recall or kept < 0.9
