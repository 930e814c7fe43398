"""The served model: a sum over kernels of values with anchors, item by item."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.learners.kernels.attribute_model import AttributesModel
from mediarank.similarity.fitted_kernel import FittedKernel
from mediarank.types import DataError, FeatureMatrix


def model() -> AttributesModel:
    """Two linear kernels with one anchor each; scores can be computed by hand."""
    kernels = tuple(
        FittedKernel("linear", None, scale, np.array([anchor], np.float32))
        for scale, anchor in ((1.0, [1.0, 0.0]), (2.0, [2.0]))
    )
    coefficients = (np.array([[1.0, 3.0]], np.float32), np.array([[10.0, 0.0]], np.float32))
    return AttributesModel(("open", "green"), ("shape", "colour"), kernels, coefficients, np.eye(2), {"note": 1})


FEATURES = {
    "shape": FeatureMatrix(np.array(["a", "b"]), ("x", "y"), np.array([[1, 9], [2, 9]], np.float32)),
    "colour": FeatureMatrix(np.array(["b", "a"]), ("z",), np.array([[5], [4]], np.float32)),
}


def test_known_scores_found_by_id() -> None:
    # open = shape_x · 1 + colour_z · 2 / 2 · 10, green = 3 shape_x; colour's rows come in another order
    np.testing.assert_allclose(model().scores(FEATURES, ["a", "b"]).values, [[41, 3], [52, 6]])
    np.testing.assert_allclose(model().scores(FEATURES, ["b"]).values, [[52, 6]])
    assert model().scores(FEATURES, []).values.shape == (0, 2)


def test_margins_are_differences() -> None:
    assert model().margin(FEATURES, "open", "b", "a") == pytest.approx(11)
    assert model().margin(FEATURES, "green", "a", "b") == pytest.approx(-3)


def test_stored_and_read() -> None:
    arrays, facts = model().to_arrays()
    assert set(arrays) == {"weights", "anchors_0", "anchors_1", "coefficients_0", "coefficients_1"}
    again = AttributesModel.from_arrays(arrays, facts)
    np.testing.assert_array_equal(again.scores(FEATURES, ["a"]).values, model().scores(FEATURES, ["a"]).values)
    assert again.facts == {"note": 1}


def test_what_is_missing_is_named() -> None:
    with pytest.raises(DataError, match="'colour' is not there"):
        model().scores({"shape": FEATURES["shape"]}, ["a"])
    with pytest.raises(DataError, match="open, green"):
        model().margin(FEATURES, "old", "a", "b")
    with pytest.raises(DataError, match="no row"):
        model().scores(FEATURES, ["c"])
