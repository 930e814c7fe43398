"""The differences between two runs, and whether they are significant."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.ops.runs.compare_runs import LEVEL, _metric_changes, compare_runs, holm
from mediarank.ops.runs.recorded_runs import Runs
from mediarank.ops.versions.changes import DataChanges
from mediarank.ops.versions.objects import Objects


@pytest.fixture(scope="module")
def runs(tracked: Path) -> Runs:
    return Runs(tracked, "sqlite:///mlflow.db")


def test_data_settings_code_and_metrics(tracked: Path, runs: Runs) -> None:
    with Objects(tracked) as objects:
        found = compare_runs(runs, objects, "v1", "v2")
    assert found.data is not None
    assert found.data.summary() == "+1 -1 ~1 items; classes +2 -2"
    assert found.params == {"collection.seed": ("7", "8")}
    assert "prepared/metrics.json" in found.sources
    assert (found.gone, found.new) == ((), ())
    learned, plain = found.metrics
    assert (learned.system, learned.method, learned.metric, learned.queries) == ("retrieval", "learned", "ap", 40)
    assert learned.change == pytest.approx(0.1)
    assert learned.p < LEVEL
    assert learned.verdict == "better"
    assert (plain.change, plain.p, plain.verdict) == (0.0, 1.0, "within noise")
    said = found.summary()
    assert "collection.seed: 7 -> 8" in said
    assert f"before  {runs.find('v1')}" in said


def test_backwards_it_is_worse(tracked: Path, runs: Runs) -> None:
    with Objects(tracked) as objects:
        found = compare_runs(runs, objects, "v2", "v1", every_metric=True)
    assert [row.verdict for row in found.metrics] == ["worse", "within noise"]


def test_a_run_with_itself(tracked: Path, runs: Runs) -> None:
    with Objects(tracked) as objects:
        found = compare_runs(runs, objects, "v1", "v1")
    assert found.data == DataChanges()
    assert found.params == {}
    assert found.sources == ()
    assert {row.verdict for row in found.metrics} == {"within noise"}
    assert "params  unchanged" in found.summary()


def table(values: dict[str, list[float]]) -> pd.DataFrame:
    rows = [(method, f"q{k}", 3, v, v / 2) for method, column in values.items() for k, v in enumerate(column)]
    return pd.DataFrame(rows, columns=["method", "query", "relevant", "ap", "rr"])


def test_only_queries_that_both_asked_are_paired() -> None:
    before, after = table({"a": [0.1, 0.2, 0.3]}), table({"a": [0.2, 0.3], "b": [0.9, 0.9]})
    (row,) = _metric_changes("s", before, after, False, 7)
    assert (row.method, row.queries) == ("a", 2)
    assert (row.before, row.after) == (pytest.approx(0.15), pytest.approx(0.25))
    assert row.p == 0.5, "two queries: of the four patterns of signs two are as extreme"
    both = _metric_changes("s", before, after, True, 7)
    assert [row.metric for row in both] == ["ap", "rr"], "counts are no metrics"
    shifted = after.assign(query=after["query"] + "x")
    (apart,) = _metric_changes("s", before, shifted, False, 7)
    assert apart.queries == 0
    assert math.isnan(apart.p)
    assert apart.verdict == "no query in common"


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, math.nan])[:3] == pytest.approx([0.03, 0.06, 0.06])
    assert math.isnan(holm([math.nan])[0])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_only_raises_keeps_the_order_and_is_never_above_bonferroni(p_values: list[float]) -> None:
    corrected = holm(p_values)
    for p, c in zip(p_values, corrected, strict=True):
        assert p <= c <= min(1.0, p * len(p_values)) + 1e-12
    order = sorted(range(len(p_values)), key=lambda k: p_values[k])
    assert all(corrected[a] <= corrected[b] for a, b in itertools.pairwise(order))
