"""Scaling to [0, 1] over training items."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.similarity.unit_range import UnitRange
from mediarank.types import DataError


def test_each_type_has_one_range_and_other_items_may_leave_it() -> None:
    parts = [np.array([[0.0, 5.0], [2.0, 10.0]], np.float32), np.array([[-1.0], [3.0]], np.float32)]
    scaler = UnitRange.fit(parts)
    np.testing.assert_allclose(scaler.transform(parts), [[0, 0.5, 0], [0.2, 1, 1]])
    other = [np.array([[-10.0, 20.0]], np.float32), np.array([[-5.0]], np.float32)]
    np.testing.assert_allclose(scaler.transform(other), [[-1, 2, -1]])
    assert scaler.transform(other).dtype == np.float32


def test_columns_of_a_type_keep_their_proportions_and_a_constant_type_is_0() -> None:
    histogram = np.array([[0.9, 0.1, 0.0], [0.89, 0.1, 0.01]], np.float32)  # a nearly empty bin stays nearly empty
    scaled = UnitRange.fit([histogram, np.ones((2, 2), np.float32)]).transform([histogram, np.ones((2, 2), np.float32)])
    np.testing.assert_allclose(scaled[:, :3], histogram / 0.9, rtol=1e-6)
    assert not scaled[:, 3:].any()


def test_other_columns_are_refused() -> None:
    scaler = UnitRange.fit([np.ones((2, 3), np.float32)])
    with pytest.raises(DataError, match="3 columns"):
        scaler.transform([np.ones((2, 2), np.float32)])
