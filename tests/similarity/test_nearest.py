"""The best rows: against a full sort, with ties, and among a shortlist."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.similarity.nearest import nearest, top
from mediarank.similarity.shortlist import Shortlist, recall
from mediarank.types import DataError


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 50))
def test_top_is_the_beginning_of_a_stable_sort(values: list[int], count: int) -> None:
    scores = np.array(values, dtype=np.float32)
    assert top(scores, count).tolist() == np.argsort(-scores, kind="stable")[:count].tolist()


def test_a_search_shows_something() -> None:
    with pytest.raises(DataError, match="not 0"):
        top([1.0], 0)


def clustered(count: int = 3000, seed: int = 0) -> list[np.ndarray]:
    """Two types of rows around sixty centres."""
    rng = np.random.default_rng(seed)
    member = rng.integers(60, size=count)
    return [
        np.abs(rng.normal(size=(60, d))[member] + 0.2 * rng.normal(size=(count, d))).astype(np.float32)
        for d in (24, 40)
    ]


def test_identical_items_stand_in_their_order() -> None:
    rows = [np.ones((5, 3), np.float32)]
    places, scores = nearest([rows[0][0]], rows, np.ones(4), 3)
    assert places.tolist() == [0, 1, 2]
    assert np.ptp(scores) == 0


def test_among_some_rows_only_these_are_found() -> None:
    rows = clustered()
    queries = [matrix[5] for matrix in rows]
    whole = nearest(queries, rows, np.ones(8), 50)
    some = nearest(queries, rows, np.ones(8), 50, among=whole[0][::2])
    assert some[0].tolist() == whole[0][::2].tolist()
    assert np.array_equal(some[1], whole[1][::2])


def test_the_shortlist_finds_most_of_what_the_exact_pass_finds() -> None:
    rows = clustered()
    shortlist = Shortlist.build(rows, dimensions=32, seed=1)
    found = []
    for k in range(0, 3000, 150):
        queries = [matrix[k] for matrix in rows]
        exact = nearest(queries, rows, np.ones(8), 20)[0]
        candidates = shortlist.candidates(queries, 400, probes=8)
        assert len(candidates) <= 400
        found.append(recall(exact, candidates))
    assert np.mean(found) > 0.8
    everything = shortlist.candidates([matrix[0] for matrix in rows], 3000, probes=10_000)
    assert sorted(everything.tolist()) == list(range(3000)), "all probes see all items"


def test_recall_and_bad_shortlists() -> None:
    assert recall(np.array([1, 2, 3, 4]), np.array([4, 2, 9])) == 0.5
    with pytest.raises(DataError, match="not empty"):
        Shortlist.build([np.zeros((0, 3), np.float32)])
    with pytest.raises(DataError, match="each of the 1 feature types"):
        Shortlist.build([np.ones((3, 3), np.float32)], type_weights=[1, 2])
