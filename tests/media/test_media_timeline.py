"""Which frames are on screen when, and which packets are needed to see them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.media.timeline import Timeline


def timeline(stamps: list[int], keys: list[int], end: int, timed: bool = True) -> Timeline:
    is_key = np.isin(np.arange(len(stamps)), keys)
    return Timeline(np.array(stamps, np.int64), is_key, timed, Fraction(1, 10), end)


def test_uniform_takes_what_is_on_screen_in_the_middle_of_each_part() -> None:
    # Frame 2 is shown from 20 to 80, which spans the middles of the second and third quarter of 100.
    assert timeline([0, 10, 20, 80, 90], [0], 100).uniform(4).tolist() == [10, 20, 80]


@given(
    st.lists(st.integers(0, 10_000), min_size=1, max_size=60, unique=True),
    st.integers(1, 200),
    st.integers(1, 12),
)
@settings(max_examples=100, deadline=None)
def test_uniform_against_looking_at_each_moment(stamps: list[int], last: int, count: int) -> None:
    times = timeline(stamps, [0], max(stamps) + last)
    start, length = min(stamps), max(stamps) + last - min(stamps)
    shown = {max(s for s in stamps if s <= start + (2 * i + 1) * length // (2 * count)) for i in range(count)}
    assert times.uniform(count).tolist() == sorted(shown)


def test_seconds_count_from_the_first_frame_shown() -> None:
    times = timeline([30, 10, 20], [0], 40)
    assert times.seconds == pytest.approx(3.0)
    assert times.seconds_at(20) == pytest.approx(1.0)


def test_only_the_way_from_the_key_frame_is_needed() -> None:
    times = timeline(list(range(12)), [0, 4, 8], 12)
    assert times.not_needed(np.array([5])) == {0, 1, 2, 3, 6, 7, 8, 9, 10, 11}
    assert times.not_needed(np.array([4])) == set(range(12)) - {4}
    assert times.not_needed(np.array([2, 11])) == {3, 4, 5, 6, 7}


def test_a_frame_coded_after_a_key_frame_but_shown_before_it_needs_the_group_before() -> None:
    # Coded: key 0, 1, 2, key 5, then 3 and 4, which refer to both 2 and 5, then 6.
    times = timeline([0, 1, 2, 5, 3, 4, 6], [0, 3], 7)
    assert times.not_needed(np.array([3])) == {4, 6}
    assert times.not_needed(np.array([6])) == {0, 1, 2}


def test_everything_is_needed_when_nothing_is_known() -> None:
    assert timeline([0, 1, 2, 3], [0, 2], 4, timed=False).not_needed(np.array([3])) == frozenset()
    assert timeline([0, 1, 2, 3], [], 4).not_needed(np.array([3])) == frozenset()
