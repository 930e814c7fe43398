from __future__ import annotations

import numpy as np
import pytest

from mediarank.learners.boosting.choice import Examples, Fit, choose, early_precision, final_precision, held_out
from mediarank.learners.boosting.costs import Costs
from mediarank.learners.boosting.plan import Plan
from mediarank.types import DataError


class Fixed:
    """A ranker that knows its weights."""

    def __init__(self, weights: dict[int, float]) -> None:
        self.plan_ = Plan.of_steps([weights])

    def on(self, examples: Examples) -> Fixed:
        return self


def example(seed: int, positives: int = 9, items: int = 90) -> Examples:
    rng = np.random.default_rng(seed)
    relevant = np.arange(items) < positives
    good = np.clip(np.where(relevant, 0.5, -0.5) + rng.normal(scale=0.2, size=items), -1, 1)
    return Examples(np.column_stack([good, rng.uniform(-1, 1, items)]).astype(np.float32), relevant)


def test_the_better_candidate_is_chosen_and_all_are_reported() -> None:
    candidates = {"noise": Fixed({1: 1.0}).on, "good": Fixed({0: 1.0}).on}
    name, means = choose(candidates, [example(1), example(2)])
    assert name == "good"
    assert means["good"] == pytest.approx(1.0)
    assert means["noise"] < 0.5


def test_rankers_are_measured_on_folds_they_did_not_see() -> None:
    seen: list[np.ndarray] = []

    def memorise(examples: Examples) -> Fixed:
        """Ranks by what it saw: perfect on it, blind elsewhere."""
        seen.append(examples.relevant)
        return Fixed({1: 1.0})

    value = held_out(memorise, example(3), folds=3, seed=0)
    assert [(len(labels), int(labels.sum())) for labels in seen] == [(60, 6)] * 3
    assert value < 0.5


def test_a_concept_with_one_positive_does_not_count() -> None:
    lonely = example(5, positives=1)
    assert np.isnan(held_out(Fixed({0: 1.0}).on, lonely, folds=3, seed=0))
    _, means = choose({"good": Fixed({0: 1.0}).on}, [lonely, example(6)])
    assert means["good"] == pytest.approx(1.0)
    assert choose({"a": Fixed({0: 1.0}).on, "b": Fixed({1: 1.0}).on}, [lonely])[0] == "a"


def test_nothing_to_choose_from_is_refused() -> None:
    with pytest.raises(DataError, match="at least one candidate"):
        choose({}, [example(7)])


def test_early_precision_counts_what_a_budget_pays_for() -> None:
    relevant = np.array([True, False])
    scores = np.array([[-0.5, 0.5, 1.0], [0.5, -0.5, 0.0]], dtype=np.float32)  # wrong, right, right
    plan = Plan.of_steps([{0: 1.0}, {1: 2.0}])
    alike = Examples(scores, relevant)
    assert final_precision(plan, alike) == 1.0
    assert early_precision(plan, alike, budgets=(0.5, 1, 2)) == pytest.approx((0 + 0.5 + 1) / 3)
    # The second model costs 8 times the first: within 2 mean prices, 20 in all, both can be had, within 1 one.
    priced = Examples(scores, relevant, Costs.of_models([1.0, 8.0, 6.0]))
    assert early_precision(plan, priced, budgets=(0.2, 1, 2)) == pytest.approx((0.5 + 0.5 + 1) / 3)
    # Pruned, the second step is for one item of two, which it takes below the other.
    pruned = Plan.of_steps([{0: 1.0}, {1: 2.2}], thresholds=[-np.inf, 0.0])
    assert early_precision(pruned, alike, budgets=(1.5,)) == 1.0


def test_the_worth_decides_what_is_chosen() -> None:
    examples = [example(8)]
    candidates: dict[str, Fit] = {
        "late": lambda e: _steps({1: 1.0}, {0: 9.0}),
        "early": lambda e: _steps({0: 1.0}, {1: 0.01}),
    }
    assert choose(candidates, examples)[0] == "late"
    assert choose(candidates, examples, worth=early_precision)[0] == "early"


def _steps(*steps: dict[int, float]) -> Fixed:
    ranker = Fixed(steps[0])
    ranker.plan_ = Plan.of_steps(steps)
    return ranker
