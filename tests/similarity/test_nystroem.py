"""Nyström's map: exact on landmarks and for kernels of low rank, better with more landmarks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem

from mediarank.similarity.kernels import linear, rbf
from mediarank.similarity.nystroem import draw_landmarks, inverse_root
from mediarank.types import ConfigError


def rows(n: int, d: int = 4) -> np.ndarray:
    return np.random.default_rng(5).normal(size=(n, d))


def columns(X: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
    return rbf(X, landmarks, gamma=0.3) @ inverse_root(rbf(landmarks, gamma=0.3))


def test_exact_among_landmarks() -> None:
    X = rows(12)
    phi = columns(X, X)
    np.testing.assert_allclose(phi @ phi.T, rbf(X, gamma=0.3), atol=1e-5)


def test_exact_for_a_kernel_of_low_rank() -> None:
    X = rows(50, 3)
    phi = linear(X, X[:5]) @ inverse_root(linear(X[:5]))
    assert phi.shape[1] == 3  # noise directions are left out
    np.testing.assert_allclose(phi @ phi.T, X @ X.T, atol=1e-8)


def test_more_landmarks_are_nearer() -> None:
    X = rows(120)
    errors = []
    for count in (5, 20, 80):
        phi = columns(X, X[draw_landmarks(120, count, seed=1)])
        errors.append(np.linalg.norm(phi @ phi.T - rbf(X, gamma=0.3)))
    assert errors[0] > errors[1] > errors[2]


def test_agrees_with_scikit_learn_on_the_same_landmarks() -> None:
    X = rows(40)
    mine = columns(X, X[:10])
    theirs = Nystroem(kernel="rbf", gamma=0.3, n_components=10).fit(X[:10]).transform(X)
    np.testing.assert_allclose(mine @ mine.T, theirs @ theirs.T, atol=1e-6)


def test_landmarks_are_drawn_once_each() -> None:
    drawn = draw_landmarks(100, 30, seed=2)
    assert len(set(drawn.tolist())) == 30
    assert (np.diff(drawn) > 0).all()
    np.testing.assert_array_equal(drawn, draw_landmarks(100, 30, seed=2))
    np.testing.assert_array_equal(draw_landmarks(4, 100, seed=0), np.arange(4))
    with pytest.raises(ConfigError, match="landmark"):
        draw_landmarks(10, 0, seed=0)


def test_a_kernel_of_zeros_has_no_direction() -> None:
    assert inverse_root(np.zeros((3, 3))).shape == (3, 0)
