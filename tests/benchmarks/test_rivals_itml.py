"""ITML: constraints are met, the result is a metric, and the objective falls below its start."""

from __future__ import annotations

import numpy as np
import pytest
import rivals_itml as itml
from hypothesis import given, settings
from hypothesis import strategies as st
from rivals_itml import ITML

from mediarank.types import DataError


def clusters(seed: int = 0, n: int = 24) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two classes apart in the first column, with a second column of loud noise; similar and dissimilar pairs."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 2
    X = np.stack([kind + 0.1 * rng.normal(size=n), 3 * rng.normal(size=n)], axis=1)
    both = np.array([(i, j) for i in range(n) for j in range(i)])
    same = kind[both[:, 0]] == kind[both[:, 1]]
    return X, both[same], both[~same]


def distances(metric: np.ndarray, X: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    gap = X[pairs[:, 0]] - X[pairs[:, 1]]
    return np.einsum("ij,jk,ik->i", gap, metric, gap)


def test_noise_is_ignored_and_the_class_is_not() -> None:
    X, similar, dissimilar = clusters()
    model = ITML(gamma=10.0).fit(X, similar, dissimilar)
    assert model.metric_[0, 0] > 5 * model.metric_[1, 1]
    before = np.median(distances(np.eye(2), X, similar)) / np.median(distances(np.eye(2), X, dissimilar))
    after = np.median(distances(model.metric_, X, similar)) / np.median(distances(model.metric_, X, dissimilar))
    assert after < 0.5 * before


def test_one_constraint_has_a_known_answer() -> None:
    """One similar pair along an axis, firmly enforced: A shrinks along it until the pair is at distance u."""
    X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    model = ITML(gamma=1e9, percentiles=(0.0, 100.0)).fit(X, np.array([[0, 1]]), np.empty((0, 2), dtype=int))
    # squared distances are 4, 1 and 5: u is 1, the pair's is 4
    np.testing.assert_allclose(model.metric_, np.diag([0.25, 1.0]), atol=1e-6)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.floats(0.01, 100))
def test_the_metric_is_positive_definite(seed: int, gamma: float) -> None:
    X, similar, dissimilar = clusters(seed, 10)
    metric = ITML(gamma=gamma, max_sweeps=20).fit(X, similar, dissimilar).metric_
    np.testing.assert_allclose(metric, metric.T, atol=1e-9)
    assert np.linalg.eigvalsh(metric).min() > 0


def test_firm_constraints_are_met() -> None:
    X, similar, dissimilar = clusters(n=8)
    similar, dissimilar = similar[:2], dissimilar[:2]
    model = ITML(gamma=1e6, percentiles=(30.0, 60.0), max_sweeps=2000, tol=1e-8).fit(X, similar, dissimilar)
    near, far = model._bounds(X)
    assert (distances(model.metric_, X, similar) <= near * 1.01).all()
    assert (distances(model.metric_, X, dissimilar) >= far * 0.99).all()


def test_no_constraint_that_binds_leaves_the_identity() -> None:
    X = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0]])
    model = ITML(percentiles=(5.0, 50.0)).fit(X, np.array([[0, 1]]), np.empty((0, 2), dtype=int))
    # the pair is nearer than the 5th percentile allows, so nothing has to move
    np.testing.assert_allclose(model.metric_, np.eye(2))


def test_transform_measures_by_the_metric() -> None:
    X, similar, dissimilar = clusters()
    model = ITML().fit(X, similar, dissimilar)
    moved = model.transform(X)
    gaps = moved[similar[:, 0]] - moved[similar[:, 1]]
    np.testing.assert_allclose((gaps**2).sum(axis=1), distances(model.metric_, X, similar), rtol=1e-9)


def test_more_columns_than_items_change_nothing() -> None:
    """Learned in the span of the items, the metric is the one that all columns together would have given."""
    X, similar, dissimilar = clusters(n=10)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(30, 30)))[0][:2]
    wide = X @ turn  # the same distances in 30 columns
    few, many = ITML().fit(X, similar, dissimilar), ITML().fit(wide, similar, dissimilar)
    assert many.basis_.shape == (30, 2)
    np.testing.assert_allclose(turn @ many.metric_ @ turn.T, few.metric_, atol=1e-8)
    other = np.random.default_rng(2).normal(size=(4, 30))
    moved, gap = many.transform(other), other[0] - other[1]
    assert ((moved[0] - moved[1]) ** 2).sum() == pytest.approx(gap @ many.metric_ @ gap)


def test_duplicates_and_refusals() -> None:
    X = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 0.0]])
    model = ITML().fit(X, np.array([[0, 1]]), np.array([[0, 2]]))
    assert np.isfinite(model.metric_).all()
    none = np.empty((0, 2), dtype=int)
    with pytest.raises(DataError, match="neither"):
        ITML().fit(X, none, none)
    with pytest.raises(DataError, match="same features"):
        ITML().fit(np.ones((4, 2)), np.array([[0, 1]]), none)


def test_the_projection_as_plain_python() -> None:
    X, similar, dissimilar = clusters(n=6)
    both = np.concatenate([similar, dissimilar])
    sign = np.repeat([1.0, -1.0], [len(similar), len(dissimilar)])
    results = []
    for project in (itml._project, itml._project.py_func):
        metric, bounds, multipliers = np.eye(2), np.where(sign > 0, 0.5, 4.0), np.zeros(len(sign))
        project(metric, X[both[:, 0]] - X[both[:, 1]], sign, np.arange(len(sign)), bounds, multipliers, 1.0)
        results.append(metric)
    np.testing.assert_allclose(results[0], results[1], atol=1e-12)
