"""Tables of evaluation: known means, curves against their definition, and what they do with empty queries."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from mediarank.evaluation.metrics import average_precision
from mediarank.evaluation.protocols import (
    compare,
    flat_metrics,
    flat_name,
    mean_by_group,
    metric_columns,
    per_query,
    precision_recall,
    rank_methods,
    summarise,
)
from mediarank.evaluation.ranks import Ranks
from mediarank.types import DataError, FeatureMatrix, Judgments

Scores = dict[str, FeatureMatrix]


@pytest.fixture(scope="module")
def ranked(scores: Scores, judgments: Judgments) -> dict[str, Ranks]:
    return rank_methods(scores, judgments)


@pytest.fixture(scope="module")
def table(ranked: dict[str, Ranks]) -> pd.DataFrame:
    return per_query(ranked)


def test_per_query_equals_the_metric_of_each_query(table: pd.DataFrame, scores: Scores, judgments: Judgments) -> None:
    assert len(table) == len(scores) * len(judgments.queries)
    for row in table.itertuples():
        items = sorted(set(judgments.candidates) - {row.query})
        line = dict(zip(judgments.candidates, scores[row.method].rows([row.query])[0], strict=True))
        expected = average_precision(judgments.grades(row.query, items), [line[i] for i in items])
        assert row.ap == expected
        assert row.relevant == 3


def test_means_of_known_methods(table: pd.DataFrame) -> None:
    summary = summarise(table, seed=1, resamples=50)
    means = summary.set_index(["method", "metric"])["mean"]
    assert list(summary["method"].unique()) == ["perfect", "lots", "backwards"]
    assert means["perfect", "ap"] == 1
    # The three relevant of eleven stand at ranks 9, 10 and 11.
    assert means["backwards", "ap"] == pytest.approx((1 / 9 + 2 / 10 + 3 / 11) / 3)
    assert means["backwards", "rr"] == pytest.approx(1 / 9)
    assert means["perfect", "p@10"] == pytest.approx(0.3)
    bounded = summary.dropna()
    assert ((bounded["low"] <= bounded["mean"] + 1e-12) & (bounded["mean"] <= bounded["high"] + 1e-12)).all()


def test_flat_metrics_have_names_that_mlflow_allows(table: pd.DataFrame) -> None:
    flat = flat_metrics(summarise(table, seed=1, resamples=10))
    assert flat["perfect"]["map"] == 1
    assert flat["perfect"]["queries"] == 9
    assert flat["perfect"]["skipped"] == 0
    assert {name for metrics in flat.values() for name in metrics} == {
        "map", "map_at_100", "ndcg_at_50", "p_at_10", "r_at_100", "f1", "mrr", "queries", "skipped",
    }  # fmt: skip
    assert flat_name("ap@100") == "map_at_100"


def test_queries_without_relevant_items_are_skipped_and_counted() -> None:
    judgments = Judgments(("q", "empty"), ("a", "b"), {"q": {"a": 1.0}})
    matrix = FeatureMatrix(np.array(["empty", "q"]), ("b", "a"), np.array([[1, 2], [1, 2]], dtype=np.float32))
    ranked = rank_methods({"m": matrix}, judgments)
    table = per_query(ranked, ["ap"])
    assert table["query"].tolist() == ["q", "empty"]
    assert table["ap"].tolist()[0] == 1
    assert math.isnan(table["ap"].tolist()[1])
    assert flat_metrics(summarise(table, seed=0)) == {"m": {"map": 1.0, "queries": 1, "skipped": 1}}
    assert precision_recall(ranked, 3)["precision"].tolist() == [1, 1, 1]


def test_nothing_relevant_at_all_leaves_metrics_out() -> None:
    ranked = rank_methods(
        {"m": FeatureMatrix(np.array(["q"]), ("a",), np.ones((1, 1), np.float32))}, Judgments(("q",), ("a",), {})
    )
    assert flat_metrics(summarise(per_query(ranked, ["ap"]), seed=0)) == {"m": {"queries": 0, "skipped": 1}}
    assert precision_recall(ranked, 3)["precision"].isna().all()


@pytest.mark.parametrize("points", [2, 11, 101])
def test_precision_recall_equals_its_definition(
    ranked: dict[str, Ranks], scores: Scores, judgments: Judgments, points: int
) -> None:
    curve = precision_recall(ranked, points).query("method == 'lots'")
    expected = []
    for level in range(points):
        values = []
        for query in judgments.queries:
            row = dict(zip(judgments.candidates, scores["lots"].rows([query])[0], strict=True))
            order = sorted(set(judgments.candidates) - {query}, key=lambda i: (-row[i], i))
            hits = [i in judgments.relevant[query] for i in order]
            reached = [sum(hits[:d]) / d for d in range(1, 12) if sum(hits[:d]) * (points - 1) >= level * sum(hits)]
            values.append(max(reached))
        expected.append(np.mean(values))
    np.testing.assert_allclose(curve["precision"], expected)
    assert curve["precision"].is_monotonic_decreasing
    np.testing.assert_allclose(curve["recall"], np.linspace(0, 1, points))


def test_compare_measures_the_difference_over_the_same_queries(table: pd.DataFrame) -> None:
    shuffled = table.sample(frac=1, random_state=1)
    found = compare(shuffled, "perfect", seed=3).set_index("method")
    assert set(found.index) == {"lots", "backwards"}
    means = table.groupby("method")["ap"].mean()
    assert found.loc["lots", "difference"] == pytest.approx(means["lots"] - means["perfect"])
    assert found.loc["backwards", "p"] == 2 / 2**9  # nine queries, all in one direction
    with pytest.raises(DataError, match="no method 'nobody'"):
        compare(table, "nobody", seed=3)


def test_means_by_group(table: pd.DataFrame, judgments: Judgments) -> None:
    groups = {q: q.split("/")[1][0] for q in judgments.queries}
    means = mean_by_group(table, groups)
    assert means.columns.tolist() == ["perfect", "lots", "backwards"]
    of_a = table[(table["method"] == "lots") & table["query"].str.startswith("images/a")]
    assert means.loc["a", "lots"] == pytest.approx(of_a["ap"].mean())
    with pytest.raises(DataError, match="belong to no group"):
        mean_by_group(table, {})


def test_the_same_seed_gives_the_same_table(table: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(summarise(table, seed=4), summarise(table, seed=4))
    assert not summarise(table, seed=4).equals(summarise(table, seed=5))


def test_nothing_to_measure_is_refused() -> None:
    with pytest.raises(DataError, match="no queries"):
        rank_methods({}, Judgments((), ("a",), {}))
    with pytest.raises(DataError, match="no method"):
        per_query({})
    with pytest.raises(DataError, match="at least 2 points"):
        precision_recall({}, 1)


def test_metric_columns(table: pd.DataFrame) -> None:
    assert metric_columns(table) == ["ap", "ap@100", "ndcg@50", "p@10", "r@100", "f1", "rr"]
