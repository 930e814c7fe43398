"""Keywords in three equivalent forms."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from mediarank.learners.neighbours.keywords import Keywords
from mediarank.types import DataError


def test_the_three_forms_agree() -> None:
    keywords = Keywords.of(["a", "b", "c"], {"a": {"sea", "sky"}, "c": {"sky", "unheard"}}, ["sand", "sea", "sky"])
    assert keywords.rows.tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 1]]
    assert keywords.frequencies.tolist() == [0, 1, 2]
    starts, words = keywords.by_image
    assert [words[a:b].tolist() for a, b in pairwise(starts)] == [[1, 2], [], [2]]
    starts, images = keywords.by_word
    assert [images[a:b].tolist() for a, b in pairwise(starts)] == [[], [0], [0, 2]]


def test_a_part_keeps_the_vocabulary() -> None:
    part = Keywords(("x", "y"), np.float32([[1, 0], [0, 1], [1, 1]])).restricted_to(np.array([2, 0]))
    assert part.words == ("x", "y")
    assert part.rows.tolist() == [[1, 1], [1, 0]]


def test_words_and_columns_must_fit() -> None:
    with pytest.raises(DataError, match="2 words"):
        Keywords(("x", "y"), np.zeros((3, 3), np.float32))
