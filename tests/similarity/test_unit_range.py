"""Scaling to [0, 1] over training items."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.similarity.unit_range import UnitRange
from mediarank.types import DataError


def test_training_items_fill_the_range_and_others_may_leave_it() -> None:
    parts = [np.array([[0.0, 5.0], [2.0, 5.0]], np.float32), np.array([[-1.0], [3.0]], np.float32)]
    scaler = UnitRange.fit(parts)
    np.testing.assert_array_equal(scaler.transform(parts), [[0, 0, 0], [1, 0, 1]])  # a constant column is 0
    other = [np.array([[4.0, 7.0]], np.float32), np.array([[-5.0]], np.float32)]
    np.testing.assert_array_equal(scaler.transform(other), [[2, 0, -1]])
    assert scaler.transform(other).dtype == np.float32


def test_other_columns_are_refused() -> None:
    scaler = UnitRange.fit([np.ones((2, 3), np.float32)])
    with pytest.raises(DataError, match="3 columns"):
        scaler.transform([np.ones((2, 2), np.float32)])
