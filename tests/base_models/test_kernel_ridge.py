"""Ridge: against the plain solution, and leave-one-out values against real refits."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.base_models.kernel_ridge import fit_ridge
from mediarank.types import DataError


def made(images: int = 15, words: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(images, 3))
    kernel = np.exp(-np.square(X[:, None] - X[None]).sum(axis=2))
    return kernel, (rng.random((images, words)) < 0.4).astype(float)


def test_equals_the_plain_solution() -> None:
    kernel, targets = made()
    coefficients, _ = fit_ridge(kernel, targets, 0.3)
    np.testing.assert_allclose(coefficients, np.linalg.solve(kernel + 0.3 * np.eye(15), targets), rtol=1e-4, atol=1e-6)


def test_left_out_values_are_those_of_models_fitted_without_the_image() -> None:
    kernel, targets = made(seed=1)
    _, left_out = fit_ridge(kernel, targets, 0.2)
    for i in range(len(targets)):
        others = np.delete(np.arange(len(targets)), i)
        model = np.linalg.solve(kernel[np.ix_(others, others)] + 0.2 * np.eye(14), targets[others])
        np.testing.assert_allclose(left_out[i], kernel[i, others] @ model, atol=1e-5)


def test_images_of_a_group_are_left_out_together() -> None:
    kernel, targets = made(seed=4)
    groups = np.array([3, 0, 1, 0, 2, 2, 4, 2, 5, 6, 7, 8, 9, 10, 11])
    _, left_out = fit_ridge(kernel, targets, 0.2, groups)
    for group in (0, 2, 5):
        inside = groups == group
        model = np.linalg.solve(kernel[np.ix_(~inside, ~inside)] + 0.2 * np.eye((~inside).sum()), targets[~inside])
        np.testing.assert_allclose(left_out[inside], kernel[np.ix_(inside, ~inside)] @ model, atol=1e-5)


def test_single_precision_gives_nearly_the_same() -> None:
    kernel, targets = made(seed=5)
    for exact, quick in zip(fit_ridge(kernel, targets, 0.1), fit_ridge(kernel, targets, 0.1, single=True), strict=True):
        np.testing.assert_allclose(quick, exact, atol=1e-3)


def test_a_kernel_with_a_direction_is_averaged_with_its_transpose() -> None:
    kernel, targets = made(seed=2)
    twist = np.triu(np.full(kernel.shape, 0.01), 1)
    np.testing.assert_allclose(
        fit_ridge(kernel + twist - twist.T, targets, 0.1)[0], fit_ridge(kernel, targets, 0.1)[0], atol=1e-5
    )


def test_the_given_kernel_is_left_alone() -> None:
    kernel, targets = made()
    before = kernel.copy()
    fit_ridge(kernel, targets, 0.1)
    np.testing.assert_array_equal(kernel, before)


def test_what_can_not_be_solved_is_refused() -> None:
    kernel, targets = made()
    with pytest.raises(DataError, match="penalty"):
        fit_ridge(kernel, targets[:-1], 0.1)
    with pytest.raises(DataError, match="penalty"):
        fit_ridge(kernel, targets, 0.0)
    with pytest.raises(DataError, match="far from positive definite"):
        fit_ridge(-9 * np.eye(15), targets, 0.1)


def test_a_kernel_that_is_not_quite_one_gets_a_larger_penalty() -> None:
    kernel, targets = made(seed=3)
    lowest = np.linalg.eigvalsh(kernel)[0]
    bent = kernel - (lowest + 0.15) * np.eye(15)
    np.testing.assert_array_equal(fit_ridge(bent, targets, 0.1)[0], fit_ridge(bent, targets, 0.2)[0])
