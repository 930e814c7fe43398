from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mediarank.features.normalise import normalised


def test_known_answers() -> None:
    counts = np.array([3.0, 0.0, 4.0, 9.0])
    np.testing.assert_allclose(normalised(counts, "l1"), np.array([3, 0, 4, 9]) / 16, rtol=1e-6)
    np.testing.assert_allclose(normalised(counts, "sqrt"), np.sqrt(np.array([3, 0, 4, 9]) / 16), rtol=1e-6)
    np.testing.assert_allclose(normalised(np.array([3.0, 4.0]), "l2"), [0.6, 0.8], rtol=1e-6)
    np.testing.assert_array_equal(normalised(counts, "none"), counts.astype(np.float32))


def test_l2hys_clips_what_dominates() -> None:
    # (10, 1, 1, ... ) has length sqrt(109): the first entry is clipped from .958 to .2, then all grow
    values = np.r_[10.0, np.ones(9)]
    clipped = np.r_[0.2, np.full(9, 1 / np.sqrt(109))]
    np.testing.assert_allclose(normalised(values, "l2hys"), clipped / np.linalg.norm(clipped), rtol=1e-6)


@pytest.mark.parametrize("how", ["none", "l1", "sqrt", "l2", "l2hys"])
def test_zeros_stay_zeros(how: str) -> None:
    result = normalised(np.zeros((2, 5)), how)
    assert result.dtype == np.float32
    assert not result.any()


@given(arrays(np.float64, (3, 6), elements=st.floats(0, 1e6)))
@settings(max_examples=50, deadline=None)
def test_each_row_is_scaled_on_its_own(values: np.ndarray) -> None:
    for how in ("l1", "sqrt", "l2", "l2hys"):
        whole = normalised(values, how)
        for row in range(3):
            np.testing.assert_array_equal(whole[row], normalised(values[row], how))
        lengths = np.abs(whole).sum(axis=1) if how == "l1" else np.linalg.norm(whole, axis=1)
        scaled = values.sum(axis=1) > 1e-150
        np.testing.assert_allclose(lengths[scaled], 1, atol=1e-5)
