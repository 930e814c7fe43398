from __future__ import annotations

import numpy as np
import pytest

from mediarank.learners.choice import Examples, choose, held_out_precision
from mediarank.learners.plan import Plan
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


def test_the_better_candidate_is_chosen_and_all_are_told() -> None:
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

    value = held_out_precision(memorise, example(3), folds=3, seed=0)
    assert [(len(labels), int(labels.sum())) for labels in seen] == [(60, 6)] * 3
    assert value < 0.5


def test_a_concept_with_one_positive_does_not_count() -> None:
    lonely = example(5, positives=1)
    assert np.isnan(held_out_precision(Fixed({0: 1.0}).on, lonely, folds=3, seed=0))
    _, means = choose({"good": Fixed({0: 1.0}).on}, [lonely, example(6)])
    assert means["good"] == pytest.approx(1.0)
    assert choose({"a": Fixed({0: 1.0}).on, "b": Fixed({1: 1.0}).on}, [lonely])[0] == "a"


def test_nothing_to_choose_from_is_refused() -> None:
    with pytest.raises(DataError, match="at least one candidate"):
        choose({}, [example(7)])
