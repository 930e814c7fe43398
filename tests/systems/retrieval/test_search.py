"""The live system: search, explanation, and feedback that moves it."""

from __future__ import annotations

import numpy as np
import pytest
from made_live import live_ranker

from mediarank.similarity.shortlist import Shortlist
from mediarank.systems.retrieval.search import Feedback, LiveRanker
from mediarank.types import ConfigError, DataError


def test_a_search_finds_the_item_itself_first_unless_left_out() -> None:
    live = live_ranker()
    vectors = live.vectors("i007")
    assert live.search(vectors, 5)[0].item == "i007"
    left_out = live.search(vectors, 5, leave_out="i007")
    assert len(left_out) == 5
    assert "i007" not in [hit.item for hit in left_out]
    scores = [hit.score for hit in left_out]
    assert scores == sorted(scores, reverse=True)


def test_an_explanation_adds_up_to_the_score() -> None:
    live = live_ranker()
    vectors = live.vectors("i003")
    hit = live.search(vectors, 3, leave_out="i003")[2]
    table = live.explain(vectors, hit.item)
    assert table["contribution"].sum() == pytest.approx(hit.score, abs=1e-3)
    assert table["contribution"].abs().is_monotonic_decreasing
    assert set(table["feature"]) == {"colour", "shape"}
    assert len(table) == 8


def test_feedback_moves_what_is_relevant_upwards() -> None:
    live = live_ranker()
    vectors = live.vectors("i000")
    found = [hit.item for hit in live.search(vectors, 59, leave_out="i000")]
    good, bad = tuple(found[30:34]), tuple(found[:4])

    def gap() -> float:
        score = {hit.item: hit.score for hit in live.search(vectors, 60)}
        return float(np.mean([score[i] for i in good]) - np.mean([score[i] for i in bad]))

    before = gap()
    live.learn(Feedback("i000", good, bad))
    assert gap() > before


def test_feedback_that_contradicts_itself_stays_finite_and_moves_less_and_less() -> None:
    live = live_ranker()
    first, second = Feedback("i000", ("i001",), ("i002",)), Feedback("i000", ("i002",), ("i001",))
    moves = []
    for _ in range(30):
        before = live.ranking_weights
        live.learn(first)
        live.learn(second)
        moves.append(float(np.abs(live.ranking_weights - before).max()))
    assert np.isfinite(live.ranking_weights).all()
    assert moves[-1] < moves[0]
    with pytest.raises(DataError, match="relevant and irrelevant in one feedback"):
        Feedback("i000", ("i001",), ("i001", "i002"))


def test_identical_items_teach_nothing() -> None:
    live = live_ranker(twins=True)
    before = live.ranking_weights
    live.learn(Feedback("i005", ("i000",), ("i001",)))
    assert np.array_equal(live.ranking_weights, before)


def test_a_query_from_outside_needs_its_vectors_only() -> None:
    live = live_ranker()
    vectors = tuple(vector + 0.01 for vector in live.vectors("i004"))
    assert live.search(vectors, 1)[0].item == "i004"
    live.learn(Feedback("holiday.jpg", ("i010",), ("i011",), vectors))
    assert not np.array_equal(live.ranking_weights, live.weights)


@pytest.mark.parametrize(
    ("feedback", "message"),
    [
        (Feedback("i0001", ("i001",), ("i002",)), "i0001: not in the collection. Did you mean i0"),
        (Feedback("i000", ("i001", "who"), ("i002",)), "who: not in the collection"),
    ],
)
def test_strangers_are_named_and_nothing_is_learned(feedback: Feedback, message: str) -> None:
    live = live_ranker()
    with pytest.raises(DataError, match=message):
        live.learn(feedback)
    assert np.array_equal(live.ranking_weights, live.weights)


def test_feedback_is_a_comparison() -> None:
    with pytest.raises(DataError, match="one that is not"):
        Feedback("i000", ("i001",), ())
    with pytest.raises(DataError, match="the query itself"):
        Feedback("i000", ("i000",), ("i001",))


def test_a_shortlist_of_everything_changes_nothing() -> None:
    live = live_ranker()
    shortlist = Shortlist.build([matrix.values for matrix in live.matrices], dimensions=8, cells=1)
    vectors = live.vectors("i009")
    assert live.search(vectors, 10, shortlist=shortlist) == live.search(vectors, 10)


def test_from_the_model_that_the_pipeline_wrote() -> None:
    live = live_ranker()
    matrices = dict(zip(live.features, live.matrices, strict=True))
    arrays = {"mean": live.scaler.mean, "deviation": live.scaler.deviation, "opar2": live.weights}
    again = LiveRanker.of_model(matrices, arrays, {"features": ["colour", "shape"]}, "opar2")
    assert again.fingerprint() == live.fingerprint()
    with pytest.raises(ConfigError, match="'lambdamart' to search with; it has opar2"):
        LiveRanker.of_model(matrices, arrays, {"features": ["colour", "shape"]}, "lambdamart")
