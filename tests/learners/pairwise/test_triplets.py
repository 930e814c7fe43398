"""Training pairs: all relevant items, sampled others, and triplets that stay within a query."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.learners.pairwise.triplets import Triplets, draw_pairs
from mediarank.types import DataError


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=4, max_size=30),
    st.integers(1, 400),
    st.integers(1, 4),
    st.integers(0, 2**32 - 1),
)
def test_pairs_are_what_they_say(classes: list[int], instances: int, negatives: int, seed: int) -> None:
    labels = np.array(classes)
    sizes = np.bincount(labels)[labels]
    if not ((sizes > 1) & (sizes < len(labels))).any():
        return
    drawn = draw_pairs(labels, instances, np.random.default_rng(seed), negatives)
    assert np.array_equal(drawn.relevant, labels[drawn.query] == labels[drawn.item])
    assert (drawn.query != drawn.item).all(), "a query is not compared with itself"
    assert drawn.relevant[drawn.better].all()
    assert not drawn.relevant[drawn.worse].any()
    assert np.array_equal(drawn.visit[drawn.better], drawn.visit[drawn.worse])
    assert instances <= len(drawn.better) < instances + negatives
    assert (np.diff(drawn.visit) >= 0).all()


def test_a_visited_query_meets_all_its_relevant_items() -> None:
    labels = np.repeat([0, 1, 2], 5)
    drawn = draw_pairs(labels, 15 * 4 * 2, np.random.default_rng(0), negatives=2)
    assert sorted(np.unique(drawn.query).tolist()) == list(range(15)), "each query once"
    for query in range(15):
        met = drawn.item[(drawn.query == query) & drawn.relevant]
        assert sorted(met.tolist()) == [k for k in range(15) if labels[k] == labels[query] and k != query]


def test_an_item_alone_in_its_class_is_no_query() -> None:
    drawn = draw_pairs(["a", "b", "b"], 10, np.random.default_rng(0))
    assert 0 not in drawn.query
    for classes in (["a", "b", "c"], ["a", "a", "a"]):
        with pytest.raises(DataError, match="two items of one class and one of another"):
            draw_pairs(classes, 10, np.random.default_rng(0))


def made() -> Triplets:
    phi = np.arange(12, dtype=np.float32).reshape(6, 2)
    return Triplets(
        phi, np.array([0, 0, 0, 1, 1, 1]), np.array([1, 0, 0, 0, 1, 0], bool), np.array([0, 4]), np.array([2, 3])
    )


def test_differences_and_offsets() -> None:
    assert made().differences.tolist() == [[-4, -4], [2, 2]]
    assert made().offsets.tolist() == [0, 3, 6]
    first = made().first_queries(1)
    assert (len(first.phi), first.better.tolist(), len(made().first_queries(9))) == (3, [0], 2)


def test_what_does_not_fit_is_refused() -> None:
    good = made()
    with pytest.raises(DataError, match="rows of two queries"):
        Triplets(good.phi, good.query, good.relevant, np.array([0]), np.array([3]))
    with pytest.raises(DataError, match="may not fall"):
        Triplets(good.phi, good.query[::-1].copy(), good.relevant, good.better, good.worse)
    with pytest.raises(DataError, match="6 rows of φ"):
        Triplets(good.phi, good.query[:5], good.relevant, good.better, good.worse)
    with pytest.raises(DataError, match="2 better rows"):
        Triplets(good.phi, good.query, good.relevant, good.better, good.worse[:1])
