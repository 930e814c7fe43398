"""Training images: distances are computed once, parts see only their own images, and positions agree everywhere."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.learners.neighbours.keywords import Keywords
from mediarank.learners.neighbours.neighbour_rankers import BoostedOrder, WeightedSum
from mediarank.learners.neighbours.preferences import consistency
from mediarank.similarity.distances import DISTANCES
from mediarank.similarity.rank_levels import rank_thresholds
from mediarank.systems.annotation.images import Labelled, Part
from mediarank.types import NotApplicable


def labelled(asked: list[int] | None = None, images: int = 12) -> Labelled:
    rng = np.random.default_rng(0)
    rows = [rng.random((images, d)).astype(np.float32) for d in (3, 5)]
    keywords = Keywords(tuple("abcd"), (rng.random((images, 4)) < 0.5).astype(np.float32))
    chosen = np.arange(images) if asked is None else np.array(asked)
    return Labelled.of(rows, ["l1", "l2"], keywords, np.arange(images) % 3, chosen)


def test_some_queries_have_the_rows_that_all_have() -> None:
    everyone, some = labelled(), labelled([1, 4, 9])
    np.testing.assert_allclose(some.stack, everyone.stack[:, [1, 4, 9]], rtol=1e-6)
    np.testing.assert_array_equal(some.levels, everyone.levels[:, [1, 4, 9]])


def test_an_image_is_not_its_own_neighbour() -> None:
    found = labelled()
    thresholds = rank_thresholds(12)
    assert (found.levels[0].argmin(axis=1) != np.arange(12)).all()
    for ranker in (WeightedSum(np.float32([1, 1])), BoostedOrder(np.ones((2, 12), np.float32), thresholds)):
        similarity = found.similarity(ranker, np.array([2, 5]))
        assert np.flatnonzero(np.isinf(similarity)).tolist() == [2, 12 + 5]


def test_a_part_sees_only_its_own_images_and_asks_about_the_others() -> None:
    whole = labelled([0, 1, 2, 3, 7, 10])
    part = Part.outside(whole, 1)  # images 1, 4, 7 and 10 are held out
    assert part.images.tolist() == [0, 2, 3, 5, 6, 8, 9, 11]
    assert whole.asked[part.rows].tolist() == [0, 2, 3]
    assert whole.asked[part.held].tolist() == [1, 7, 10]
    assert part.asked().tolist() == [0, 1, 2]
    np.testing.assert_array_equal(part.true, whole.keywords.rows[[1, 7, 10]])
    ranker = WeightedSum(np.float32([1, 0]))
    assert part.similarity(ranker).shape == (3, 8)
    held = part.similarity(ranker, held_out=True)
    np.testing.assert_array_equal(held, -whole.stack[0][[1, 4, 5]][:, part.images])
    everyone = Part.outside(whole, None)
    assert len(everyone.images) == 12
    assert len(everyone.held) == 0


def test_preferences_name_images_of_the_part_by_their_own_positions() -> None:
    whole = labelled([0, 2, 3, 7, 10])
    part = Part.outside(whole, 1)
    drawn = part.preferences(30, 5, 1e-4, seed=3)
    queries = whole.asked[drawn.query]
    assert set(queries.tolist()) <= {0, 2, 3}
    assert {*drawn.better.tolist(), *drawn.worse.tolist()} <= set(part.images.tolist())
    agreement = consistency(whole.keywords.rows, whole.keywords.rows)
    assert (agreement[queries, drawn.better] > agreement[queries, drawn.worse]).all()
    assert part.preferences(30, 5, 1e-4, seed=3) is drawn, "drawn once"
    assert part.preferences(30, 5, 1e-4, seed=4) is not drawn


def test_images_that_share_nothing_have_no_preferences() -> None:
    rows = [np.random.default_rng(1).random((4, 3)).astype(np.float32)]
    lonely = Labelled.of(rows, ["l1"], Keywords(tuple("abcd"), np.eye(4, dtype=np.float32)), np.arange(4), np.arange(4))
    with pytest.raises(NotApplicable, match="no two of 4"):
        Part.outside(lonely, None).preferences(5, 2, 1e-4, seed=0)


def test_distances_are_those_of_the_types_own_measure() -> None:
    rng = np.random.default_rng(0)
    first = rng.random((12, 3)).astype(np.float32)
    np.testing.assert_array_equal(labelled().stack[0], DISTANCES["l1"](first))
