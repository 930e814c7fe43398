"""Pair accuracy: counted without listing pairs, against listed pairs, Somers' D and known answers."""

from __future__ import annotations

import doctest
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import somersd

from mediarank.evaluation import pairs as module
from mediarank.evaluation.pairs import listed_pair_accuracy, pair_accuracy
from mediarank.types import DataError

small = st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), min_size=2, max_size=15)


@settings(max_examples=60, deadline=None)
@given(small)
def test_counting_equals_listing(rows: list[tuple[int, int]]) -> None:
    strengths, scores = np.array(rows).T
    listed = [(i, j) for i, j in itertools.permutations(range(len(rows)), 2) if strengths[i] > strengths[j]]
    if not listed:
        assert math.isnan(pair_accuracy(strengths, scores))
        return
    stronger, weaker = np.array(listed).T
    right = [(scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]) for i, j in listed]
    assert pair_accuracy(strengths, scores) == pytest.approx(np.mean(right))
    assert listed_pair_accuracy(scores, stronger, weaker) == pytest.approx(np.mean(right))


@settings(max_examples=30, deadline=None)
@given(small.filter(lambda rows: len({s for s, _ in rows}) > 1 and len({c for _, c in rows}) > 1))
def test_somers_d_agrees(rows: list[tuple[int, int]]) -> None:
    strengths, scores = np.array(rows).T
    assert pair_accuracy(strengths, scores) == pytest.approx((1 + somersd(strengths, scores).statistic) / 2)


def test_known_answers() -> None:
    assert pair_accuracy([1, 2, 3], [10, 20, 30]) == 1
    assert pair_accuracy([1, 2, 3], [30, 20, 10]) == 0
    assert pair_accuracy([1, 2, 3], [7, 7, 7]) == 0.5
    assert pair_accuracy([1, 1, 2], [5, 9, 7]) == 0.5  # the two ones form no pair
    assert math.isnan(pair_accuracy([1, 1], [1, 2]))
    assert math.isnan(listed_pair_accuracy([1, 2], [], []))


@settings(max_examples=30, deadline=None)
@given(small)
def test_reversed_scores_reverse_the_accuracy(rows: list[tuple[int, int]]) -> None:
    strengths, scores = np.array(rows).T
    if len(set(strengths)) > 1:
        assert pair_accuracy(strengths, scores) + pair_accuracy(strengths, -scores) == pytest.approx(1)


def test_the_kernel_means_the_same_uncompiled() -> None:
    level, score = np.array([1, 0, 2, 1, 0]), np.array([0.0, 1.0, 1.0, 1.0, 2.0])
    # Of the 8 pairs of different level, (2 over 1 at 0), and within the tie (2, 1), (2, 0), (1, 0) as halves.
    assert module._count_twice_right(level, score, 3) == module._count_twice_right.py_func(level, score, 3) == 5


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(DataError, match="2 strengths can't be paired with 3 scores"):
        pair_accuracy([1, 2], [1, 2, 3])
    with pytest.raises(DataError, match="without NaN"):
        pair_accuracy([1, 2], [1, np.nan])
    with pytest.raises(DataError, match="1 stronger and 2 weaker"):
        listed_pair_accuracy([1, 2], [0], [1, 0])
    for outside in (-1, 2):
        with pytest.raises(DataError, match="positions from 0 to 1"):
            listed_pair_accuracy([1, 2], [0], [outside])


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
