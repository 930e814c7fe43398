"""Measuring rankings: the tables agree with each other and have the known values."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.evaluation.measured import EvaluationConfig, measure_rankings
from mediarank.types import FeatureMatrix, Judgments

NAMES = ("a", "b", "c", "d")


def scores(*rows: list[float]) -> FeatureMatrix:
    return FeatureMatrix(np.array([f"q{k}" for k in range(len(rows))]), NAMES, np.array(rows, dtype=np.float32))


def test_known_values() -> None:
    judgments = Judgments(("q0", "q1"), NAMES, {"q0": {"a": 1.0}, "q1": {"d": 1.0}})
    methods = {"right": scores([4, 3, 2, 1], [1, 2, 3, 4]), "wrong": scores([1, 2, 3, 4], [4, 3, 2, 1])}
    measured = measure_rankings(methods, judgments, EvaluationConfig(resamples=100))
    assert measured.metrics["right"]["map"] == 1
    assert measured.metrics["wrong"]["map"] == 0.25
    assert set(measured.per_query["query"]) == {"q0", "q1"}
    means = measured.summary.set_index(["method", "metric"])["mean"]
    assert means["wrong", "ap"] == pytest.approx(measured.metrics["wrong"]["map"])
    assert set(measured.curves["method"]) == {"right", "wrong"}


def test_the_seed_decides_the_intervals() -> None:
    rng = np.random.default_rng(0)
    judgments = Judgments(tuple(f"q{k}" for k in range(9)), NAMES, {f"q{k}": {NAMES[k % 4]: 1.0} for k in range(9)})
    methods = {"chance": scores(*rng.random((9, 4)).tolist())}
    first, again, other = (
        measure_rankings(methods, judgments, EvaluationConfig(resamples=50, seed=seed)).summary for seed in (1, 1, 2)
    )
    assert first.equals(again)
    assert not first.equals(other)
