"""Kernels: equal to scikit-learn's, positive semi-definite, and the same bytes on any number of threads."""

from __future__ import annotations

import doctest
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import pairwise

from mediarank.similarity import chi2, kernels, tiles
from mediarank.similarity.chi2 import chi2_distances
from mediarank.similarity.kernels import DISTANCES, KERNELS, decay, gamma_of_mean, squared_distances
from mediarank.types import ConfigError, DataError

PARAMS = {"linear": {}, "intersection": {}, "rbf": {"gamma": 0.7}, "exponential_chi2": {"gamma": 0.7}}
ORACLES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "linear": pairwise.linear_kernel,
    "intersection": lambda X, Z: np.minimum(X[:, None], Z[None]).sum(axis=2),
    "rbf": lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=0.7),
    "exponential_chi2": lambda X, Z: pairwise.chi2_kernel(X, Z, gamma=0.7),
}


def histograms(n: int, d: int, seed: int = 0, dtype: type = np.float64) -> np.ndarray:
    rows = np.random.default_rng(seed).random((n, d)) ** 3
    rows[rows < 0.05] = 0.0
    return (rows / rows.sum(axis=1, keepdims=True)).astype(dtype)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_the_oracle(name: str, dtype: type) -> None:
    X, Z = histograms(29, 13, 1, dtype), histograms(7, 13, 2, dtype)
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    got = KERNELS[name](X, Z, **PARAMS[name])
    assert got.dtype == dtype
    np.testing.assert_allclose(got, ORACLES[name](X.astype(float), Z.astype(float)), atol=tolerance)
    np.testing.assert_allclose(
        KERNELS[name](X, **PARAMS[name]), ORACLES[name](X.astype(float), X.astype(float)), atol=tolerance
    )


@pytest.mark.parametrize("name", KERNELS)
def test_symmetric_and_semi_definite(name: str) -> None:
    gram = KERNELS[name](histograms(40, 9), **PARAMS[name])
    np.testing.assert_array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram).min() > -1e-10


@pytest.mark.parametrize("name", KERNELS)
def test_bytes_do_not_depend_on_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Z = histograms(2 * tiles.SIDE + 17, 33, 3, np.float32), histograms(tiles.SIDE + 5, 33, 4, np.float32)
    results = []
    for jobs in ("1", "3"):
        monkeypatch.setenv("MEDIARANK_JOBS", jobs)
        results.append((KERNELS[name](X, **PARAMS[name]).tobytes(), KERNELS[name](X, Z, **PARAMS[name]).tobytes()))
    assert results[0] == results[1]


@pytest.mark.parametrize("name", KERNELS)
def test_many_tiles_equal_one(name: str) -> None:
    """The mirrored half and the tiles' edges hold what a plane computed in one piece holds."""
    X = histograms(2 * tiles.SIDE + 17, 12)
    np.testing.assert_allclose(KERNELS[name](X, **PARAMS[name]), KERNELS[name](X, X, **PARAMS[name]), atol=1e-12)


def test_known_answers() -> None:
    X = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    assert chi2_distances(X)[0, 1] == pytest.approx(2.0)  # nothing in common: the sum of both
    assert kernels.intersection(X)[0, 1] == 0.0
    assert squared_distances(X)[0, 1] == pytest.approx(1.5)
    assert kernels.rbf(X, gamma=2.0)[0, 1] == pytest.approx(np.exp(-3.0))
    assert kernels.linear(X)[1, 1] == pytest.approx(0.5)


@settings(deadline=None, max_examples=25)
@given(arrays(np.float32, (5, 6), elements=st.floats(0, 1e6, width=32)), st.floats(0.125, 8))
def test_chi2_is_a_homogeneous_semimetric(X: np.ndarray, factor: float) -> None:
    D = chi2_distances(X)
    assert np.isfinite(D).all()
    assert (D >= 0).all()
    np.testing.assert_array_equal(np.diag(D), 0)
    np.testing.assert_allclose(chi2_distances(X * np.float32(factor)), factor * D, rtol=1e-3, atol=1e-14)


def test_duplicates_are_at_no_distance() -> None:
    X = histograms(6, 50, dtype=np.float32)
    twice = np.concatenate([X, X])
    for distance in DISTANCES.values():
        D = distance(twice)
        np.testing.assert_array_equal(D[:6, 6:].diagonal(), 0)
        np.testing.assert_array_equal(D[:6, :6], D[6:, 6:])


def test_mean_gamma_centres_the_kernel() -> None:
    D = chi2_distances(histograms(30, 20))
    off_diagonal = D[~np.eye(30, dtype=bool)]
    assert gamma_of_mean(D) == pytest.approx(1 / off_diagonal.mean())
    assert gamma_of_mean(np.zeros((4, 4))) == 1.0  # all items coincide
    assert gamma_of_mean(np.zeros((1, 1))) == 1.0


def test_the_kernels_as_plain_python() -> None:
    X, Z = histograms(4, 6, 1), histograms(3, 6, 2)
    for tile, oracle in (
        (chi2._chi2_tile, lambda: -pairwise.additive_chi2_kernel(X, Z)),
        (kernels._intersection_tile, lambda: ORACLES["intersection"](X, Z)),
        (kernels._square_tile, lambda: pairwise.euclidean_distances(X, Z, squared=True)),
    ):
        out = np.empty((4, 3))
        tile.py_func(np.maximum(X, chi2.TINY), np.maximum(Z, chi2.TINY), out)
        np.testing.assert_allclose(out, oracle(), atol=1e-12)


@pytest.mark.parametrize("bad", [np.array([[-0.1, 1.0]]), np.array([[np.nan, 1.0]])])
def test_histogram_kernels_refuse_signed_and_undefined_values(bad: np.ndarray) -> None:
    good = np.array([[0.5, 0.5]])
    for refuse in (chi2_distances, kernels.intersection):
        for arguments in ((bad,), (good, bad)):
            with pytest.raises(DataError, match="histograms"):
                refuse(*arguments)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 3), (3, 2), (5, 7)])
def test_chi2_of_odd_numbers_of_rows_and_bins(n: int, d: int) -> None:
    X, Z = (np.random.default_rng(seed).random((n, d)) for seed in (1, 2))
    np.testing.assert_allclose(chi2_distances(X, Z), -pairwise.additive_chi2_kernel(X, Z), atol=1e-12)


def test_chi2_from_tiny_to_large_values() -> None:
    X = np.array([[1e-12, 0, 0, 3e-10], [0, 1e11, 2e11, 0], [5, 0, 1e-9, 1e11]], np.float32)
    expected = -pairwise.additive_chi2_kernel(X.astype(np.float64))
    np.testing.assert_allclose(chi2_distances(X), expected, rtol=1e-5)
    with pytest.raises(DataError, match="1e\\+12"):
        chi2_distances(np.full((1, 2), 1e13))


def test_refusals_and_empty_sets() -> None:
    with pytest.raises(DataError, match="same feature family"):
        kernels.linear(np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(DataError, match="dimension"):
        kernels.linear(np.ones(3))
    for gamma in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ConfigError, match="gamma"):
            decay(np.zeros((2, 2)), gamma)
    assert kernels.linear(np.empty((0, 3)), np.ones((2, 3))).shape == (0, 2)
    assert chi2_distances(np.empty((0, 3))).shape == (0, 0)


def test_the_examples_in_the_docstrings() -> None:
    assert doctest.testmod(kernels).attempted + doctest.testmod(chi2).attempted == 2
    assert doctest.testmod(kernels).failed == doctest.testmod(chi2).failed == 0
