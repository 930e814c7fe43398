"""2PKNN: against plain loops, with words that rarely or never occur, and images that must not vote."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.learners.neighbours import two_pass
from mediarank.learners.neighbours.keywords import Keywords
from mediarank.learners.neighbours.two_pass import two_pass_relevance
from mediarank.types import DataError


def made(images: int, words: int, seed: int) -> Keywords:
    rows = np.random.default_rng(seed).random((images, words)) < 0.3
    return Keywords(tuple(f"w{k}" for k in range(words)), rows.astype(np.float32))


def oracle(similarity: np.ndarray, rows: np.ndarray, per_word: int, sharpness: float) -> np.ndarray:
    chosen: set[int] = set()
    for w in range(rows.shape[1]):
        own = [i for i in range(len(rows)) if rows[i, w] and np.isfinite(similarity[i])]
        chosen |= set(sorted(own, key=lambda i: (-similarity[i], i))[:per_word])
    votes = np.zeros(rows.shape[1])
    for i in chosen:
        votes += np.exp(sharpness * (similarity[i] - max(similarity[list(chosen)]))) * rows[i]
    return votes


@given(st.integers(0, 9999), st.integers(1, 5), st.floats(0, 4))
@settings(max_examples=40, deadline=None)
def test_equals_a_plain_loop(seed: int, per_word: int, sharpness: float) -> None:
    keywords = made(14, 4, seed)
    similarity = np.random.default_rng(seed).integers(0, 6, (2, 14)).astype(np.float32)
    similarity[:, seed % 14] = -np.inf
    got = two_pass_relevance(similarity, keywords, per_word, sharpness)
    for q in range(2):
        expected = oracle(similarity[q].astype(float), keywords.rows, per_word, sharpness)
        np.testing.assert_allclose(got[q], expected, rtol=1e-5)


def test_a_rare_word_gets_votes_from_far_neighbours() -> None:
    rows = np.zeros((50, 2), np.float32)
    rows[:49, 0], rows[49, 1] = 1, 1
    similarity = -np.arange(50, dtype=np.float32)[None] / 50
    scores = two_pass_relevance(similarity, Keywords(("common", "rare"), rows), 2, 1.0)[0]
    assert scores.tolist() == pytest.approx([1 + np.exp(-1 / 50), np.exp(-49 / 50)], rel=1e-5)


def test_a_word_without_images_scores_nothing() -> None:
    keywords = Keywords(("seen", "unseen"), np.float32([[1, 0], [1, 0]]))
    assert two_pass_relevance(np.float32([[1, 2]]), keywords, 3, 1.0)[0, 1] == 0


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(DataError, match="at least"):
        two_pass_relevance(np.zeros((1, 4), np.float32), made(4, 2, 0), 0, 1.0)
    with pytest.raises(DataError, match="don't fit"):
        two_pass_relevance(np.zeros((1, 5), np.float32), made(4, 2, 0), 1, 1.0)


def test_the_kernel_is_its_python() -> None:
    keywords = made(9, 3, 5)
    similarity = np.random.default_rng(6).normal(size=(2, 9)).astype(np.float32)
    votes = np.zeros((2, 3))
    two_pass._two_passes.py_func(similarity, *keywords.by_image, *keywords.by_word, 2, 1.5, votes)
    np.testing.assert_allclose(votes, two_pass_relevance(similarity, keywords, 2, 1.5), rtol=1e-5)
