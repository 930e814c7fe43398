"""Near-duplicates against a comparison of all pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.similarity import near_duplicates
from mediarank.similarity.near_duplicates import near_duplicate_groups
from mediarank.types import DataError


def oracle(hashes: list[str], max_distance: int) -> list[int]:
    """Label propagation over all pairs until nothing changes."""
    group = list(range(len(hashes)))
    changed = True
    while changed:
        changed = False
        for i, left in enumerate(hashes):
            for j, right in enumerate(hashes):
                near = left and right and (int(left, 16) ^ int(right, 16)).bit_count() <= max_distance
                if near and group[i] > group[j]:
                    group[i], changed = group[j], True
    numbers = {g: k for k, g in enumerate(dict.fromkeys(group))}
    return [numbers[g] for g in group]


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(0, 6))
def test_equals_the_comparison_of_all_pairs(data: st.DataObject, max_distance: int) -> None:
    centres = data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=3))
    flips = st.lists(st.integers(0, 63), max_size=5)
    drawn = data.draw(st.lists(st.tuples(st.sampled_from(centres), flips), min_size=1, max_size=12))
    hashes = [f"{centre ^ sum(1 << b for b in set(bits)):016x}" for centre, bits in drawn] + [""]
    assert near_duplicate_groups(hashes, max_distance).tolist() == oracle(hashes, max_distance)


def test_a_chain_is_one_group_and_others_are_not() -> None:
    chain = [f"{(1 << k) - 1:016x}" for k in range(0, 60, 4)]
    assert set(near_duplicate_groups(chain, 4)) == {0}
    assert len(set(near_duplicate_groups(chain, 3))) == len(chain)


def test_many_equal_hashes_cost_no_quadratic_number_of_comparisons() -> None:
    groups = near_duplicate_groups(["00000000000000ff"] * 50_000 + ["ffff00000000ffff"], 4)
    assert groups[-1] == 1
    assert not groups[:-1].any()


def test_pictures_without_a_hash_are_alone() -> None:
    assert near_duplicate_groups(["", "", "ff"]).tolist() == [0, 1, 2]
    assert np.issubdtype(near_duplicate_groups([]).dtype, np.integer)


def test_the_distance_must_leave_bands_to_look_up() -> None:
    with pytest.raises(DataError, match="from 0 to 15 bits"):
        near_duplicate_groups(["ff"], 16)


@pytest.mark.parametrize("agreeing", [1, 2, 3, 4])
def test_any_number_of_bands_that_must_agree_finds_the_same(agreeing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    bases = rng.integers(0, 2**63, 60, dtype=np.uint64)
    values = [int(bases[k % 60]) for k in range(240)]
    for k in range(240):  # up to six bits away from their base
        for bit in rng.choice(64, int(rng.integers(0, 7)), replace=False).tolist():
            values[k] ^= 1 << bit
    hashes = [f"{value:016x}" for value in values]
    expected = near_duplicate_groups(hashes, 4).tolist()
    masks = near_duplicates._masks
    monkeypatch.setattr(near_duplicates, "MOST_AGREEING", agreeing)
    monkeypatch.setattr(near_duplicates, "_masks", lambda distance, _: masks(distance, 1 << 60))
    assert len(near_duplicates._masks(4, 0)) == math.comb(4 + agreeing, agreeing)
    assert near_duplicate_groups(hashes, 4).tolist() == expected
    assert len(set(expected)) > 60
