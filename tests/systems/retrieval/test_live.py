"""The live system: search, explanation, and feedback that moves it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_live import live_ranker
from made_retrieval import CONFIG, inputs

from mediarank.similarity.shortlist import Shortlist
from mediarank.systems.retrieval.fit import fit
from mediarank.systems.retrieval.live import Feedback, LiveRanker
from mediarank.systems.retrieval.model import Model
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


def test_scores_of_everything_are_those_of_the_hits() -> None:
    live = live_ranker()
    vectors = live.vectors("i007")
    scores = live.scores(vectors)
    for hit in live.search(vectors, 60):
        assert scores[live.ids.index(hit.item)] == pytest.approx(hit.score, abs=1e-4)


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
    assert not np.array_equal(live.ranking_weights, live.start)


@pytest.mark.parametrize(
    ("feedback", "message"),
    [
        (Feedback("i0001", ("i001",), ("i002",)), "i0001: not among the items"),
        (Feedback("i000", ("i001", "who"), ("i002",)), "who: not among the items"),
    ],
)
def test_strangers_are_named_and_nothing_is_learned(feedback: Feedback, message: str) -> None:
    live = live_ranker()
    with pytest.raises(DataError, match=message):
        live.learn(feedback)
    assert np.array_equal(live.ranking_weights, live.start)


def test_feedback_is_a_comparison() -> None:
    with pytest.raises(DataError, match="one that is not"):
        Feedback("i000", ("i001",), ())
    with pytest.raises(DataError, match="the query itself"):
        Feedback("i000", ("i000",), ("i001",))


def test_a_shortlist_of_everything_changes_nothing() -> None:
    live = live_ranker()
    shortlist = Shortlist.build(list(live.model.rows), dimensions=8, cells=1)
    vectors = live.vectors("i009")
    assert live.search(vectors, 10, shortlist=shortlist) == live.search(vectors, 10)


def test_a_method_that_is_not_linear_is_searched_with_and_learns_from_feedback() -> None:
    given = inputs()
    model = fit(given, replace(CONFIG, methods=("ranknet",), instances=500, serve="ranknet")).model
    assert isinstance(model, Model)
    live = LiveRanker(model)
    query = live.ids[0]
    scores = model.rank(given.features, [query])[0]
    hits = live.search(live.vectors(query), 10)
    assert [hit.item for hit in hits] == [live.ids[k] for k in np.argsort(-scores, kind="stable")[:10]]
    table = live.explain(live.vectors(query), hits[3].item)
    assert table["contribution"].sum() == pytest.approx(hits[3].score, abs=1e-4)
    last, first = hits[9].item, hits[1].item
    before = live.search(live.vectors(query), 80)
    live.learn(Feedback(query, (last,), (first,)))
    after = {hit.item: hit.score for hit in live.search(live.vectors(query), 80)}
    then = {hit.item: hit.score for hit in before}
    assert after[last] - after[first] > then[last] - then[first]
    live.forget()
    assert live.search(live.vectors(query), 80) == before


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ConfigError, match="lambdamart"):
        LiveRanker(live_ranker().model, "lambdamart")
