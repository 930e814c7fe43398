"""Summaries of feature matrices, against numpy on the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.features import summary
from mediarank.features.summary import summarise
from mediarank.types import FeatureMatrix


def matrix(values: np.ndarray) -> FeatureMatrix:
    names = tuple(f"d{k}" for k in range(values.shape[1]))
    return FeatureMatrix(np.array([f"i{k:03d}" for k in range(len(values))]), names, values.astype(np.float32))


def test_equals_numpy_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(1000, 0.5, size=(100, 3)).astype(np.float32)
    monkeypatch.setattr(summary, "_BLOCK", 7)
    table = summarise(matrix(values))
    exact = values.astype(np.float64)
    assert list(table["dimension"]) == ["d0", "d1", "d2"]
    assert table["mean"].to_numpy() == pytest.approx(exact.mean(axis=0))
    assert table["std"].to_numpy() == pytest.approx(exact.std(axis=0))
    assert table["minimum"].to_numpy() == pytest.approx(exact.min(axis=0))
    assert table["maximum"].to_numpy() == pytest.approx(exact.max(axis=0))
    assert table["n"].tolist() == [100] * 3


def test_what_is_not_finite_is_counted_and_left_out() -> None:
    values = np.array([[1, 5, np.nan], [np.nan, 5, np.nan], [3, 5, np.inf], [np.inf, 5, np.nan]])
    table = summarise(matrix(values)).set_index("dimension")
    assert table["n"].tolist() == [2, 4, 0]
    assert table["nan_share"].tolist() == [0.25, 0, 0.75]
    assert table["inf_share"].tolist() == [0.25, 0, 0.25]
    assert table["constant"].tolist() == [False, True, False]
    assert table["mean"].tolist() == [2, 5, 0]


def test_a_matrix_without_rows() -> None:
    table = summarise(matrix(np.empty((0, 2))))
    assert table["n"].tolist() == [0, 0]
    assert table["nan_share"].tolist() == [0, 0]
