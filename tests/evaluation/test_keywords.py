"""Keyword scores: a worked example, the rules for words that never occur, and a slow oracle."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from mediarank.evaluation import keywords as module
from mediarank.evaluation.keywords import KeywordScores, keyword_scores, keyword_table
from mediarank.types import DataError

WORDS = ["boat", "sand", "sea", "sky"]
word_sets = st.lists(
    st.tuples(st.sets(st.sampled_from(WORDS)), st.sets(st.sampled_from(WORDS))), min_size=1, max_size=9
)


def test_worked_example() -> None:
    true = {"a": {"sea", "sky"}, "b": {"sea"}, "c": {"sand"}}
    predicted = {"a": {"sea", "boat"}, "b": {"sea", "sky"}, "c": {"sea", "sky"}}
    table = keyword_table(true, predicted, WORDS).set_index("word")
    assert table["true"].tolist() == [0, 1, 2, 1]
    assert table["predicted"].tolist() == [1, 0, 3, 2]
    assert table["correct"].tolist() == [0, 0, 2, 0]
    scores = keyword_scores(true, predicted, WORDS)
    # Sea: P = 2/3, R = 1; the other three words add nothing but count in the averages.
    assert scores == KeywordScores(
        precision=pytest.approx(1 / 6), recall=0.25, f1=pytest.approx(0.2), n_plus=1, absent=1
    )


def test_no_prediction_is_zero_not_an_error() -> None:
    assert keyword_scores({"a": {"sea"}}, {"a": set()}, ["sea"]) == KeywordScores(0.0, 0.0, 0.0, 0, 0)


def test_words_outside_the_vocabulary_are_not_measured() -> None:
    inside = keyword_scores({"a": {"sea"}}, {"a": {"sea"}}, ["sea"])
    assert keyword_scores({"a": {"sea", "rare"}}, {"a": {"sea", "odd"}}, ["sea"]) == inside


@settings(max_examples=25, deadline=None)
@given(word_sets)
def test_scikit_learn_agrees(pairs: list[tuple[set[str], set[str]]]) -> None:
    true = {f"i{k}": t for k, (t, _) in enumerate(pairs)}
    predicted = {f"i{k}": p for k, (_, p) in enumerate(pairs)}
    matrices = [[[int(w in words[i]) for w in WORDS] for i in true] for words in (true, predicted)]
    precision, recall, _, _ = precision_recall_fscore_support(*matrices, average=None, zero_division=0)
    scores = keyword_scores(true, predicted, WORDS)
    assert scores.precision == pytest.approx(precision.mean())
    assert scores.recall == pytest.approx(recall.mean())
    assert scores.n_plus == (recall > 0).sum()


@settings(max_examples=30, deadline=None)
@given(word_sets)
def test_perfect_suggestions(pairs: list[tuple[set[str], set[str]]]) -> None:
    true = {f"i{k}": t for k, (t, _) in enumerate(pairs)}
    used = sorted(set().union(*true.values()))
    if used:
        assert keyword_scores(true, true, used) == KeywordScores(1.0, 1.0, 1.0, len(used), 0)


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(DataError, match="1 items have true or predicted keywords but not both, such as b"):
        keyword_scores({"a": {"sea"}, "b": {"sea"}}, {"a": {"sea"}}, ["sea"])
    with pytest.raises(DataError, match="vocabulary is empty"):
        keyword_scores({}, {}, [])
    with pytest.raises(DataError, match="must be unique"):
        keyword_scores({}, {}, ["sea", "sea"])


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
