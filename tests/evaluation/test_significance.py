"""Intervals cover the mean, p-values of small samples are exact, and the seed decides everything."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap, permutation_test

from mediarank.evaluation import significance as module
from mediarank.evaluation.significance import Interval, bootstrap_interval, paired_randomisation
from mediarank.types import DataError


def test_the_bootstrap_agrees_with_scipy() -> None:
    values = np.random.default_rng(0).beta(2, 5, 150)
    ours = bootstrap_interval(values, seed=1, resamples=4000)
    theirs = bootstrap((values,), np.mean, n_resamples=4000, method="percentile", rng=2).confidence_interval
    width = theirs.high - theirs.low
    assert ours.mean == pytest.approx(values.mean())
    assert abs(ours.low - theirs.low) < 0.1 * width
    assert abs(ours.high - theirs.high) < 0.1 * width


def test_intervals_cover_the_true_mean_about_as_often_as_they_say() -> None:
    draw = np.random.default_rng(3)
    found = [bootstrap_interval(draw.normal(0.4, 0.2, 60), seed=k, resamples=300, confidence=0.9) for k in range(200)]
    covered = np.mean([interval.low <= 0.4 <= interval.high for interval in found])
    assert 0.83 <= covered <= 0.96  # 200 draws of .9 stay within ± 3 standard deviations


def test_queries_without_a_value_are_skipped() -> None:
    some = bootstrap_interval([0.25, np.nan, 0.75, np.nan], seed=1)
    assert (some.mean, some.queries, some.skipped) == (0.5, 2, 2)
    assert bootstrap_interval([0.3, 0.3], seed=1) == Interval(0.3, 0.3, 0.3, 2, 0)
    none = bootstrap_interval([np.nan], seed=1)
    assert math.isnan(none.low)
    assert none.skipped == 1


def test_blocks_and_repeats_give_the_same_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).random(40)
    first = bootstrap_interval(values, seed=5)
    assert first == bootstrap_interval(values, seed=5)
    assert first != bootstrap_interval(values, seed=6)
    monkeypatch.setattr(module, "BLOCK_CELLS", 4000)
    assert bootstrap_interval(values, seed=5) == first


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=7))
def test_small_samples_get_the_exact_p_value(differences: list[int]) -> None:
    """All sign patterns, listed, in whole numbers so that nothing is rounded."""
    sums = [
        sum(s * d for s, d in zip(p, differences, strict=True))
        for p in itertools.product((1, -1), repeat=len(differences))
    ]
    exact = np.mean([abs(s) >= abs(sum(differences)) for s in sums])
    scaled = np.array(differences) * 0.1
    assert paired_randomisation(scaled, np.zeros(len(scaled)), seed=0) == exact


def test_known_p_values() -> None:
    assert paired_randomisation([1, 1, 1], [0, 0, 0], seed=0) == 2 / 8
    assert paired_randomisation([0.4, 0.6], [0.4, 0.6], seed=0) == 1
    assert math.isnan(paired_randomisation([np.nan], [1], seed=0))
    clear = np.full(50, 0.2)
    assert paired_randomisation(clear, np.zeros(50), seed=0, rounds=999) == 1 / 1000


def test_large_samples_agree_with_scipy() -> None:
    draw = np.random.default_rng(8)
    one = draw.random(80)
    other = one + draw.normal(0.02, 0.1, 80)
    ours = paired_randomisation(one, other, seed=0)
    theirs = permutation_test(
        (one, other), lambda a, b, axis: np.mean(a - b, axis=axis), permutation_type="samples", n_resamples=9999, rng=1
    ).pvalue
    assert ours == pytest.approx(theirs, abs=0.02)
    assert ours == paired_randomisation(other, one, seed=0)
    assert ours == paired_randomisation([*one, np.nan], [*other, 0.5], seed=0)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(DataError, match="3 and 2 queries can't be paired"):
        paired_randomisation([1, 2, 3], [1, 2], seed=0)
    for wrong in ({"resamples": 0}, {"confidence": 1.0}):
        with pytest.raises(DataError, match="resamples at confidence"):
            bootstrap_interval([1.0], seed=0, **wrong)
