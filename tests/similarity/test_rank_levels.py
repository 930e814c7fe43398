"""Ranks read off at thresholds: by sorting and by selection, with ties, and for any number of items."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.similarity import rank_levels
from mediarank.similarity.rank_levels import MOST, cuts, levels_of, rank_thresholds
from mediarank.types import DataError


def plain_ranks(distances: np.ndarray) -> np.ndarray:
    """1 + the number of items strictly nearer."""
    return 1 + (distances[None, :] < distances[:, None]).sum(axis=1)


@given(st.integers(1, 3000), st.integers(1, MOST))
@settings(max_examples=60, deadline=None)
def test_thresholds_are_ranks_in_order_and_as_many_as_allowed(items: int, most: int) -> None:
    found = rank_thresholds(items, most)
    assert len(found) == min(most, max(items - 1, 1))
    assert (np.diff(found) > 0).all()
    assert found[0] == 1
    assert len(found) == 1 or found[-1] == items - 1


def test_a_byte_holds_a_level() -> None:
    with pytest.raises(DataError, match="thresholds"):
        rank_thresholds(10, MOST + 1)
    assert levels_of(np.random.default_rng(0).random((2, 5000)).astype(np.float32), rank_thresholds(5000)).max() == MOST


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_levels_and_cuts_say_whether_a_rank_is_within_a_threshold(values: list[int], most: int) -> None:
    """The three ways agree, with many ties: a sort, a selection, and counting who is nearer."""
    distances = np.array(values, dtype=np.float32)
    thresholds = rank_thresholds(len(values), most)
    levels = levels_of(distances[None, :], thresholds)[0]
    expected = plain_ranks(distances)[:, None] <= thresholds[None, :]
    np.testing.assert_array_equal(levels[:, None] <= np.arange(len(thresholds))[None, :], expected)
    np.testing.assert_array_equal(distances[:, None] <= cuts(distances, thresholds)[None, :], expected)


def test_a_constant_feature_ranks_everything_first() -> None:
    assert not levels_of(np.ones((3, 9), np.float32), rank_thresholds(9)).any()


def test_the_query_itself_comes_last() -> None:
    distances = np.float32([[np.inf, 0.0, 5.0, 1.0]])
    assert levels_of(distances, rank_thresholds(4)).tolist() == [[3, 0, 2, 1]]


def test_beyond_the_last_item_everything_is_near_enough() -> None:
    assert cuts(np.float32([3, 1]), np.array([1, 2, 9])).tolist() == [1, 3, np.inf]


def test_blocks_and_threads_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    distances = np.random.default_rng(1).integers(0, 50, (rank_levels.BLOCK * 2 + 3, 60)).astype(np.float32)
    whole = levels_of(distances, rank_thresholds(60))
    monkeypatch.setenv("MEDIARANK_JOBS", "3")
    np.testing.assert_array_equal(levels_of(distances, rank_thresholds(60)), whole)
    np.testing.assert_array_equal(levels_of(distances[-1:], rank_thresholds(60)), whole[-1:])


def test_the_kernel_is_its_python() -> None:
    distances = np.float32([[2, 1, 2, 0]])
    out = np.empty((1, 4), np.uint8)
    rank_levels._assign.py_func(distances, np.argsort(distances, axis=1), np.uint8([0, 1, 2, 3]), out)
    assert out.tolist() == [[2, 1, 2, 0]]


def test_the_examples_hold() -> None:
    assert doctest.testmod(rank_levels).failed == 0
