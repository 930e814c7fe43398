from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from mediarank.evaluation.metrics import average_precision
from mediarank.learners.fusion.stacking import (
    BestSingle,
    LogisticStacking,
    MeanFusion,
    RidgeStacking,
    balanced_weights,
    ridge_logistic,
)
from mediarank.types import DataError

LEARNERS = (MeanFusion(), BestSingle(), RidgeStacking(), LogisticStacking())


def example(seed: int = 0, items: int = 200, models: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.random(items) < 0.2
    quality = np.linspace(0.05, 0.5, models)
    X = np.where(y[:, None], quality, -quality) + rng.normal(scale=0.4, size=(items, models))
    return np.clip(X, -1, 1).astype(np.float32), y


@pytest.mark.parametrize("strength", [0.03, 1.0])
def test_ridge_logistic_is_scikit_learns(strength: float) -> None:
    X, y = example()
    peer = LogisticRegression(C=strength, class_weight="balanced", tol=1e-10, max_iter=1000).fit(
        X.astype(np.float64), y
    )
    weights = ridge_logistic(X, y, strength)
    np.testing.assert_allclose(weights[:-1], peer.coef_[0], atol=1e-4)
    assert weights[-1] == pytest.approx(peer.intercept_[0], abs=1e-4)


def test_a_warm_start_ends_in_the_same_place() -> None:
    X, y = example(1)
    np.testing.assert_allclose(
        ridge_logistic(X, y, 0.1, start=np.array([3.0, -2, 1, 0, 5, 1])), ridge_logistic(X, y, 0.1), atol=1e-4
    )


def test_separable_scores_keep_finite_weights() -> None:
    X = np.array([[1.0], [1.0], [-1.0]], dtype=np.float32)
    weights = ridge_logistic(X, np.array([True, True, False]), 1.0)
    assert 0 < weights[0] < 10


def test_ridge_stacking_ranks_as_scikit_learns_weighted_ridge() -> None:
    X, y = example(2)
    share = balanced_weights(y) / len(y)
    peer = Ridge(alpha=0.03).fit(X, np.where(y, 1.0, -1.0), sample_weight=share)
    fitted = RidgeStacking(strength=0.03).fit(X, y)
    np.testing.assert_allclose(fitted.plan_.weights, peer.coef_, atol=1e-5)


def test_balanced_weights_give_both_kinds_the_same_sum() -> None:
    y = np.array([True, False, False, False])
    weights = balanced_weights(y)
    assert weights[y].sum() == weights[~y].sum() == 2


def test_mean_fusion_and_best_single_by_hand() -> None:
    X = np.array([[0.9, -0.1], [0.2, 0.8], [0.3, 0.1]], dtype=np.float32)
    y = [0, 1, 0]
    np.testing.assert_allclose(MeanFusion().fit(X, y).predict(X), [0.4, 0.5, 0.2], atol=1e-7)
    assert BestSingle().fit(X, y).plan_.models.tolist() == [1]
    np.testing.assert_allclose(BestSingle().fit(X, y).predict(X), X[:, 1])


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_learned_combinations_rank_new_items(learner: Any) -> None:
    X, y = example(3, items=800)
    fitted = learner.fit(X[:400], y[:400])
    assert average_precision(y[400:], fitted.predict(X[400:])) > 2 * y[400:].mean()


@pytest.mark.parametrize("learner", [BestSingle(), RidgeStacking(), LogisticStacking()])
@pytest.mark.parametrize("y", [[0, 0, 0], [1, 1, 1]])
def test_labels_of_one_kind_are_refused(learner: Any, y: list[int]) -> None:
    with pytest.raises(DataError, match="items are relevant"):
        learner.fit(np.zeros((3, 2), dtype=np.float32), y)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_constant_scores_rank_all_the_same(learner: Any) -> None:
    X = np.full((6, 3), 0.25, dtype=np.float32)
    assert len(set(learner.fit(X, [1, 0, 0, 0, 0, 1]).predict(X))) == 1
