"""Joined groupings: items that share a group in any grouping end up in one group."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.collections.groups import joined_groups


def test_chains_are_one_group_and_the_first_names_it() -> None:
    assert joined_groups(["x", "a", "a", "b", "y"], ["1", "2", "3", "3", "4"]).tolist() == [0, 1, 1, 1, 4]
    assert joined_groups(["a", "b", "a"]).tolist() == [0, 1, 0]
    assert joined_groups([]).tolist() == []


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_groups_are_the_finest_that_tear_nothing_apart(pairs: list[tuple[int, int]]) -> None:
    """The oracle merges until nothing changes."""
    one, other = zip(*pairs, strict=True)
    expected = list(range(len(pairs)))
    for _ in pairs:
        for a in range(len(pairs)):
            for b in range(len(pairs)):
                if one[a] == one[b] or other[a] == other[b]:
                    expected[a] = expected[b] = min(expected[a], expected[b])
    assert joined_groups(np.array(one), other).tolist() == expected
