"""Metrics over all short lists, against the definitions spelled out, known answers and scikit-learn."""

from __future__ import annotations

import doctest
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from mediarank.evaluation import metrics as module
from mediarank.evaluation.metrics import (
    METRICS,
    average_precision,
    best_f1,
    mean_over_queries,
    measure,
    ndcg,
    precision_at,
    recall_at,
    reciprocal_rank,
    roc_auc,
)
from mediarank.evaluation.ranks import Relevance, rank_relevant
from mediarank.types import ConfigError, DataError, FeatureMatrix, Judgments

Ranked = Sequence[float]
SHORT_LISTS = [bits for length in range(1, 7) for bits in itertools.product((0, 1), repeat=length)]


def defined_ap(ranked: Ranked, k: int) -> float:
    hits = [d for d in range(1, min(k, len(ranked)) + 1) if ranked[d - 1]]
    return sum(sum(map(bool, ranked[:d])) / d for d in hits) / sum(map(bool, ranked))


def defined_precision(ranked: Ranked, k: int) -> float:
    return sum(map(bool, ranked[:k])) / k


def defined_recall(ranked: Ranked, k: int) -> float:
    return sum(map(bool, ranked[:k])) / sum(map(bool, ranked))


def defined_ndcg(ranked: Ranked, k: int) -> float:
    def dcg(grades: Ranked) -> float:
        return sum(grade / math.log2(1 + d) for d, grade in enumerate(grades[:k], start=1))

    return dcg(ranked) / dcg(sorted(ranked, reverse=True))


def defined_best_f1(ranked: Ranked, k: int) -> float:
    f1s = []
    for cut in range(1, min(k, len(ranked)) + 1):
        p, r = defined_precision(ranked, cut), defined_recall(ranked, cut)
        f1s.append(2 * p * r / (p + r) if p + r else 0.0)
    return max(f1s)


def defined_reciprocal_rank(ranked: Ranked, k: int) -> float:
    return next((1 / d for d, grade in enumerate(ranked[:k], start=1) if grade), 0.0)


DEFINITIONS: dict[Callable[..., float], Callable[[Ranked, int], float]] = {
    average_precision: defined_ap,
    precision_at: defined_precision,
    recall_at: defined_recall,
    ndcg: defined_ndcg,
    best_f1: defined_best_f1,
    reciprocal_rank: defined_reciprocal_rank,
}


@pytest.mark.parametrize("metric", DEFINITIONS)
def test_every_short_list_at_every_depth(metric: Callable[..., float]) -> None:
    for ranked in SHORT_LISTS:
        scores = -np.arange(len(ranked))
        if not any(ranked):
            assert math.isnan(metric(ranked, scores))
            continue
        for k in range(1, 8):
            assert metric(ranked, scores, k=k) == pytest.approx(DEFINITIONS[metric](ranked, k)), (ranked, k)
        assert metric(ranked, scores) == pytest.approx(DEFINITIONS[metric](ranked, len(ranked)))


def at_ranks(*ranks: int, of: int) -> list[int]:
    return [int(d in ranks) for d in range(1, of + 1)]


def test_known_answers() -> None:
    down = -np.arange(101)
    assert round(average_precision(at_ranks(1, 100, of=100), down[:100]), 3) == 0.510
    assert round(average_precision(at_ranks(6, 7, of=101), down), 3) == 0.226
    assert round(roc_auc(at_ranks(1, 100, of=100), down[:100]), 3) == 0.5
    assert round(roc_auc(at_ranks(6, 7, of=101), down), 3) == 0.949
    # Grades 3, 2, 3, 0, 1, 2: a common worked example, first linear and then with gains of 2^r - 1.
    assert ndcg([3, 2, 3, 0, 1, 2], down[:6]) == pytest.approx(0.9608, abs=5e-5)
    assert ndcg([3, 2, 3, 0, 1, 2], down[:6], exponential=True) == pytest.approx(0.9488, abs=5e-5)


def test_ap_at_a_depth_counts_all_relevant_items() -> None:
    everything = np.ones(400)
    assert average_precision(everything, -np.arange(400), k=100) == pytest.approx(100 / 400)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 1), min_size=2, max_size=40), st.integers(0, 2**32 - 1), st.integers(1, 50))
def test_scikit_learn_agrees_where_there_are_no_ties(relevant: list[int], seed: int, k: int) -> None:
    if len(set(relevant)) < 2:
        relevant = [*relevant, 1 - relevant[0]]
    scores = np.random.default_rng(seed).permutation(len(relevant)).astype(float)
    assert average_precision(relevant, scores) == pytest.approx(average_precision_score(relevant, scores))
    assert roc_auc(relevant, scores) == pytest.approx(roc_auc_score(relevant, scores))
    assert ndcg(relevant, scores, k=k) == pytest.approx(ndcg_score([relevant], [scores], k=k, ignore_ties=True))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3)), min_size=1, max_size=20), st.integers(1, 25))
def test_metrics_are_shares_and_ignore_the_scale_of_scores(pairs: list[tuple[int, int]], k: int) -> None:
    grades, scores = np.array(pairs).T
    for metric in DEFINITIONS:
        value = metric(grades, scores, k=k)
        if not grades.any():
            assert math.isnan(value)
            continue
        assert 0 <= value <= 1 + 1e-12
        assert value == metric(grades, np.exp(scores), k=k)
        if k > 1:
            assert recall_at(grades, scores, k=k) >= recall_at(grades, scores, k=k - 1)


def test_earlier_items_win_ties() -> None:
    assert average_precision([1, 0, 0], [5, 5, 5]) == 1
    assert average_precision([0, 0, 1], [5, 5, 5]) == pytest.approx(1 / 3)


def test_the_batch_equals_the_single_queries() -> None:
    draw = np.random.default_rng(1)
    items = tuple(f"i{k:03d}" for k in range(60))
    queries = tuple(f"q{k}" for k in range(12))
    relevant = {
        q: {i: float(draw.integers(1, 4)) for i in items if draw.random() < 0.02 * k} for k, q in enumerate(queries)
    }
    judgments = Judgments(queries, items, relevant)
    matrix = FeatureMatrix(np.array(queries), items, draw.integers(0, 25, (12, 60)).astype(np.float32))
    ranks = rank_relevant(matrix, Relevance.from_judgments(judgments))
    single: dict[str, Callable[..., float]] = {
        "ap": average_precision,
        "p": precision_at,
        "r": recall_at,
        "ndcg": ndcg,
        "ndcg_exp": lambda y, s, k=None: ndcg(y, s, k=k, exponential=True),
        "f1": best_f1,
        "rr": reciprocal_rank,
    }
    assert set(single) == set(METRICS)
    for name, metric in single.items():
        for k in (None, 1, 7, 100):
            one_by_one = [metric(judgments.grades(q, items), matrix.values[row], k=k) for row, q in enumerate(queries)]
            batch = measure(ranks, name if k is None else f"{name}@{k}")
            np.testing.assert_array_equal(batch, one_by_one)
    assert np.isnan(measure(ranks, "ap")[0])


def test_means_leave_out_empty_queries_and_count_them() -> None:
    assert mean_over_queries([0.5, np.nan, 1.0]) == (0.75, 1)
    mean, skipped = mean_over_queries([np.nan])
    assert math.isnan(mean)
    assert skipped == 1


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(DataError, match="3 items and y_score 2"):
        average_precision([0, 1, 0], [1, 2])
    with pytest.raises(DataError, match="finite grades from 0 up"):
        ndcg([-1, 1], [1, 2])
    with pytest.raises(DataError, match="NaN"):
        ndcg([0, 1], [1, np.nan])
    with pytest.raises(DataError, match="shape"):
        ndcg([[0, 1]], [[1, 2]])
    with pytest.raises(ConfigError, match="rank from 1 up"):
        recall_at([0, 1], [1, 2], k=0)
    for name in ("auc", "ap@", "ap@0", "ap@-1", "ap@1.5", "@5"):
        with pytest.raises(ConfigError, match="There is no metric"):
            module.Metric.named(name)


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
