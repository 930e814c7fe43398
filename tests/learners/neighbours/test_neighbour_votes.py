"""Votes of neighbours: eq 6 and its mean by chance, votes by plain loops, JEC's rule on a worked example."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.learners.neighbours import neighbour_votes
from mediarank.learners.neighbours.keywords import Keywords
from mediarank.learners.neighbours.neighbour_votes import (
    Neighbours,
    count_relevance,
    find_neighbours,
    transferred,
    voted,
)
from mediarank.types import DataError


def made(images: int = 12, words: int = 5, seed: int = 0) -> Keywords:
    rows = np.random.default_rng(seed).random((images, words)) < 0.4
    return Keywords(tuple(f"w{k}" for k in range(words)), rows.astype(np.float32))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=15), st.integers(1, 20))
@settings(max_examples=40, deadline=None)
def test_neighbours_are_the_most_similar_in_order(values: list[int], k: int) -> None:
    found = find_neighbours(np.array([values], dtype=np.float32), k)
    expected = sorted(range(len(values)), key=lambda i: (-values[i], i))[:k]
    assert found.places[0].tolist() == expected
    assert found.scores[0].tolist() == [values[i] for i in expected]
    assert found.k == min(k, len(values))


def test_a_neighbour_at_least() -> None:
    with pytest.raises(DataError, match="at least"):
        find_neighbours(np.zeros((1, 3), np.float32), 0)


def test_counting_is_eq_6() -> None:
    keywords = Keywords(("sea", "sky"), np.float32([[1, 1], [1, 0], [0, 1], [0, 0]]))
    neighbours = find_neighbours(np.float32([[4, 3, 2, 1]]), 4)
    # sea: both of the two nearest, expected 2 · 2/4; sky: one of them, expected 1
    np.testing.assert_allclose(count_relevance(neighbours, keywords, 2), [[1.0, 0.0]])


def test_random_neighbours_have_no_relevance_on_average() -> None:
    keywords = made(40, 6, 1)
    rng = np.random.default_rng(2)
    places = np.stack([rng.permutation(40)[:10] for _ in range(4000)])
    relevance = count_relevance(Neighbours(places, np.zeros(places.shape, np.float32)), keywords, 10)
    np.testing.assert_allclose(relevance.mean(axis=0), 0, atol=0.1)


def test_all_images_as_neighbours_have_none_at_all() -> None:
    keywords = made()
    everyone = find_neighbours(np.random.default_rng(0).random((3, 12)).astype(np.float32), 99)
    np.testing.assert_allclose(count_relevance(everyone, keywords, 99), 0, atol=1e-6)


@given(st.integers(0, 999), st.integers(1, 15), st.floats(0, 5))
@settings(max_examples=25, deadline=None)
def test_votes_equal_a_plain_loop(seed: int, k: int, sharpness: float) -> None:
    keywords = made(12, 5, seed)
    similarity = np.random.default_rng(seed).normal(size=(3, 12)).astype(np.float32)
    got = voted(find_neighbours(similarity, 12), keywords, k, sharpness)
    for q in range(3):
        order = np.argsort(-similarity[q], kind="stable")[:k]
        weight = np.exp(sharpness * (similarity[q, order].astype(float) - similarity[q, order[0]]))
        np.testing.assert_allclose(got[q], (weight / weight.sum()) @ keywords.rows[order], rtol=1e-5, atol=1e-7)


def test_images_without_keywords_vote_for_nothing() -> None:
    keywords = Keywords(("sea",), np.zeros((3, 1), np.float32))
    neighbours = find_neighbours(np.float32([[1, 2, 3]]), 3)
    for got in (voted(neighbours, keywords, 3, 1.0), count_relevance(neighbours, keywords, 3)):
        assert got.tolist() == [[0.0]]
    assert transferred(neighbours, keywords, 3).tolist() == [[0.0]]


def test_jecs_rule_on_a_worked_example() -> None:
    #               sea  sky  sand boat
    rows = np.float32([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    keywords = Keywords(("sea", "sky", "sand", "boat"), rows)
    scores = transferred(find_neighbours(np.float32([[5, 4, 3, 2, 1]]), 5), keywords, 4)[0]
    # the nearest image's words first, the more frequent (sky, 3 of 5 against 2) before the other
    assert scores[1] > scores[0] > 1
    # then by local count times common occurrences with sea and sky: sand 2 · (1 + 1), boat 1 · (0 + 1)
    assert scores[2] == 1
    assert scores[3] == pytest.approx(1 / 4)


def test_jecs_rule_without_words_on_the_nearest_counts_the_others() -> None:
    keywords = Keywords(("sea", "sky"), np.float32([[0, 0], [1, 0], [1, 1]]))
    np.testing.assert_allclose(transferred(find_neighbours(np.float32([[3, 2, 1]]), 3), keywords, 3), [[1.0, 0.5]])


def test_the_kernel_is_its_python() -> None:
    keywords = made(6, 3, 4)
    places, weights = np.array([[0, 5, 2]]), np.array([[1.0, 0.5, 0.25]])
    votes = np.zeros((1, 3))
    neighbour_votes._vote.py_func(places, weights, *keywords.by_image, votes)
    np.testing.assert_allclose(votes, weights @ keywords.rows[places[0]])
