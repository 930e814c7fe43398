from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from mediarank.learners.fusion.linear_fusion import Average, Concatenation, MetaOnly
from mediarank.types import DataError

RNG = np.random.default_rng(0)
SOURCE, TARGET = RNG.random((30, 3)), RNG.random((10, 3))
SOURCE_Y, TARGET_Y = np.arange(30) < 9, np.arange(10) < 3


def ridge(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    design = np.column_stack([scores, np.ones(len(scores))])
    return Ridge(alpha=0.01, fit_intercept=False).fit(design, y, sample_weight=np.full(len(y), 1 / len(y))).coef_


def test_the_average_is_the_mean_whatever_the_labels() -> None:
    fitted = Average().fit(SOURCE, SOURCE_Y, TARGET, TARGET_Y)
    np.testing.assert_allclose(fitted.predict(TARGET), TARGET.mean(axis=1))


def test_meta_only_sees_the_target_alone() -> None:
    fitted = MetaOnly().fit(SOURCE, SOURCE_Y, TARGET, TARGET_Y)
    np.testing.assert_allclose(np.append(fitted.weights_, fitted.bias_), ridge(TARGET, TARGET_Y))
    other = MetaOnly().fit(1 - SOURCE, ~SOURCE_Y, TARGET, TARGET_Y)
    np.testing.assert_array_equal(other.weights_, fitted.weights_)


def test_concatenation_treats_both_the_same() -> None:
    fitted = Concatenation().fit(SOURCE, SOURCE_Y, TARGET, TARGET_Y)
    both, y = np.concatenate([SOURCE, TARGET]), np.concatenate([SOURCE_Y, TARGET_Y])
    np.testing.assert_allclose(np.append(fitted.weights_, fitted.bias_), ridge(both, y))
    np.testing.assert_allclose(fitted.predict(both), both @ fitted.weights_ + fitted.bias_)


def test_a_target_of_one_class_teaches_equal_weights() -> None:
    fitted = MetaOnly().fit(SOURCE, SOURCE_Y, TARGET, np.zeros(10, bool))
    np.testing.assert_allclose(fitted.weights_, 1 / 3)
    learned = Concatenation().fit(SOURCE, SOURCE_Y, TARGET, np.zeros(10, bool)).weights_
    assert not np.allclose(learned, 1 / 3), "the source still teaches"


def test_weights_that_were_kept_predict_again() -> None:
    fitted = MetaOnly().fit(SOURCE, SOURCE_Y, TARGET, TARGET_Y)
    again = MetaOnly().with_weights(np.append(fitted.weights_, fitted.bias_))
    np.testing.assert_array_equal(again.predict(SOURCE), fitted.predict(SOURCE))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(DataError, match="same classifiers"):
        MetaOnly().fit(SOURCE[:, :2], SOURCE_Y, TARGET, TARGET_Y)
    with pytest.raises(DataError, match="label"):
        MetaOnly().fit(SOURCE, SOURCE_Y[:-1], TARGET, TARGET_Y)
    with pytest.raises(DataError, match="0 or 1"):
        MetaOnly().fit(SOURCE, SOURCE_Y * 2, TARGET, TARGET_Y)
    with pytest.raises(DataError, match="finite"):
        MetaOnly().fit(SOURCE * np.nan, SOURCE_Y, TARGET, TARGET_Y)
    with pytest.raises(DataError, match="matrix"):
        MetaOnly().fit(SOURCE, SOURCE_Y, TARGET[:0], TARGET_Y[:0])
    with pytest.raises(DataError, match="fitted on 3"):
        MetaOnly().fit(SOURCE, SOURCE_Y, TARGET, TARGET_Y).predict(TARGET[:, :2])
