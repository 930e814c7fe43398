"""Keyword scores: a worked example, the rules for words that never occur, and a slow oracle."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_recall_fscore_support

from mediarank.evaluation import keywords as module
from mediarank.evaluation.keywords import (
    METRICS,
    KeywordScores,
    keyword_scores,
    keyword_table,
    row_scores,
    suggested,
    summarise_keywords,
)
from mediarank.types import DataError, FeatureMatrix

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
        precision=pytest.approx(1 / 6),
        recall=0.25,
        f1=pytest.approx(0.2),
        n_plus=1,
        absent=1,
        image_f1=pytest.approx((0.5 + 2 / 3 + 0) / 3),
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
        found = keyword_scores(true, true, used)
        assert found == KeywordScores(1.0, 1.0, 1.0, len(used), 0, found.image_f1)
        assert found.image_f1 == pytest.approx(np.mean([bool(words) for words in true.values()]))


@settings(max_examples=25, deadline=None)
@given(word_sets)
def test_f1_per_image_agrees_with_scikit_learn(pairs: list[tuple[set[str], set[str]]]) -> None:
    true = {f"i{k}": t for k, (t, _) in enumerate(pairs)}
    predicted = {f"i{k}": p for k, (_, p) in enumerate(pairs)}
    matrices = [[[int(w in words[i]) for w in WORDS] for i in true] for words in (true, predicted)]
    expected = f1_score(*matrices, average="samples", zero_division=0)
    assert keyword_scores(true, predicted, WORDS).image_f1 == pytest.approx(expected)


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(DataError, match="1 items have true or predicted keywords but not both, such as b"):
        keyword_scores({"a": {"sea"}, "b": {"sea"}}, {"a": {"sea"}}, ["sea"])
    with pytest.raises(DataError, match="vocabulary is empty"):
        keyword_scores({}, {}, [])
    with pytest.raises(DataError, match="must be unique"):
        keyword_scores({}, {}, ["sea", "sea"])


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0


def scored(values: list[list[float]]) -> FeatureMatrix:
    items = np.array([f"i{k}" for k in range(len(values))])
    return FeatureMatrix(items, tuple(WORDS), np.array(values, dtype=np.float32))


def test_suggestions_are_the_highest_in_order_and_the_earlier_of_equals() -> None:
    found = suggested(scored([[0.1, 0.9, 0.5, 0.9], [1, 1, 1, 1]]), 3)
    assert found == {"i0": ["sand", "sky", "sea"], "i1": ["boat", "sand", "sea"]}
    assert len(suggested(scored([[1, 2, 3, 4]]), 99)["i0"]) == 4


@given(st.integers(0, 10_000), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_rows_and_sets_give_the_same_figures(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    true = (rng.random((7, 4)) < 0.4).astype(np.float32)
    true[0, 0] = 1
    matrix = scored(rng.integers(0, 4, (7, 4)).tolist())  # with ties
    words = {item: {WORDS[w] for w in np.flatnonzero(row)} for item, row in zip(matrix.ids.tolist(), true, strict=True)}
    occurring = [word for w, word in enumerate(WORDS) if true[:, w].any()]
    assert row_scores(true, matrix.values, count) == keyword_scores(words, suggested(matrix, count), occurring)


def test_rows_without_words_can_not_be_measured() -> None:
    with pytest.raises(DataError, match="nothing to measure"):
        row_scores(np.zeros((2, 3)), np.ones((2, 3)))


def test_a_summary_has_the_figures_and_what_they_are_known_to() -> None:
    true = {f"i{k}": {WORDS[k % 4]} for k in range(12)}
    given_words = {item: {WORDS[int(item[1:]) % 3]} for item in true}
    table = keyword_table(true, given_words, WORDS)
    summary = summarise_keywords({"one": table, "two": table}, seed=0, resamples=200)
    one, two = (summary[summary["method"] == m].drop(columns="method").to_numpy().tolist() for m in ("one", "two"))
    assert one == two, "the same draws for every method"
    expected = keyword_scores(true, given_words, WORDS)
    figures = dict(zip(summary["metric"], summary["mean"], strict=True))
    assert figures == pytest.approx({name: getattr(expected, name) for name in METRICS})
    assert (summary["low"] <= summary["mean"]).all()
    assert (summary["mean"] <= summary["high"]).all()
    assert set(summary["queries"]) == {4}


def test_a_method_that_is_never_right_has_figures_of_zero() -> None:
    table = keyword_table({"a": {"sea"}}, {"a": {"sky"}}, WORDS)
    assert summarise_keywords({"wrong": table}, seed=0, resamples=20)["mean"].tolist() == [0, 0, 0, 0]


def test_the_kernel_is_its_python() -> None:
    marked = np.zeros((1, 5), dtype=bool)
    module._mark_highest.py_func(np.array([[1.0, 3.0, 2.0, 3.0, 3.0]]), 2, marked)
    assert marked.tolist() == [[False, True, False, True, False]]
