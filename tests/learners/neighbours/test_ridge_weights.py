"""Weights of distances by the leave-one-out error of a kernel ridge regression."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.learners.neighbours.ridge_weights import fit_ridge_weights, left_out_error
from mediarank.types import DataError, Floats


def some(images: int = 40, seed: int = 0) -> tuple[Floats, Floats]:
    """Distances by three types, of which the first alone tells the words."""
    rng = np.random.default_rng(seed)
    places = [rng.normal(size=(images, 3)) for _ in range(3)]
    distances = np.stack([np.abs(one[:, None] - one[None]).sum(axis=2) for one in places])
    return distances.astype(np.float32), (places[0] > 0.3).astype(np.float32)


def test_the_error_is_that_of_a_regression_fitted_without_the_image() -> None:
    distances, words = some(12)
    weights, penalty = np.array([0.3, 0.1, 0.2]), 0.1
    kernel = np.exp(-np.tensordot(weights, distances.astype(float), 1))
    errors = []
    for image in range(12):
        rest = np.delete(np.arange(12), image)
        known = kernel[np.ix_(rest, rest)] + penalty * np.eye(11)
        errors.append(words[image] - kernel[image, rest] @ np.linalg.solve(known, words[rest].astype(float)))
    expected = (np.square(errors).sum(axis=0) / words.sum(axis=0)).mean()
    assert left_out_error(distances, words, weights, penalty)[0] == pytest.approx(expected, rel=1e-4)


def test_the_gradient_is_the_slope_of_the_error() -> None:
    distances, words = some()
    weights, penalty, step = np.array([0.3, 0.1, 0.2]), 0.1, 0.01
    _, gradient = left_out_error(distances, words, weights, penalty)
    for k in range(3):
        aside = step * np.eye(3)[k]
        high, low = (left_out_error(distances, words, weights + s * aside, penalty)[0] for s in (1, -1))
        assert gradient[k] == pytest.approx((high - low) / (2 * step), rel=0.02, abs=1e-4)
    high, low = (left_out_error(distances, words, weights, penalty * np.exp(s * step))[0] for s in (1, -1))
    assert gradient[3] == pytest.approx((high - low) / (2 * step), rel=0.02, abs=1e-4)


def test_types_that_tell_nothing_lose_their_weight() -> None:
    found = fit_ridge_weights(*some(), np.full(3, 0.2))
    assert found.weights[0] > 0
    assert found.weights[1:].tolist() == [0.0, 0.0]
    assert min(found.errors) < 0.5 * found.errors[0]


def test_the_order_of_types_changes_nothing() -> None:
    distances, words = some(seed=1)
    forth = fit_ridge_weights(distances, words, np.full(3, 0.2), iterations=5)
    back = fit_ridge_weights(distances[::-1], words, np.full(3, 0.2), iterations=5)
    np.testing.assert_allclose(back.weights[::-1], forth.weights, rtol=0.01, atol=1e-3)


def test_without_a_word_that_two_images_share_nothing_is_learned() -> None:
    distances, _ = some(6)
    start = np.array([0.1, 0.2, 0.3])
    assert fit_ridge_weights(distances, np.eye(6, dtype=np.float32), start).weights is start


def test_a_kernel_that_is_not_positive_definite_is_no_solution() -> None:
    far = np.float32([[[0, 0.01, 9], [0.01, 0, 0.01], [9, 0.01, 0]]])
    words = np.ones((3, 1), np.float32)
    error, gradient = left_out_error(far, words, np.ones(1), 1e-3)
    assert error > 1e5
    assert not gradient.any()


def test_shapes_that_do_not_fit_are_refused() -> None:
    distances, words = some(6)
    with pytest.raises(DataError, match="don't fit 2 weights and 6 images"):
        fit_ridge_weights(distances, words, np.ones(2))
