"""Distances: equal to plain formulas, zero between equal rows, the same bytes on any number of threads."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import entropy

from mediarank.similarity import distances, tiles
from mediarank.similarity.distances import DISTANCES, PRIOR, cosine_distances, kl_distances
from mediarank.types import DataError

SYMMETRIC = [name for name in DISTANCES if name != "kl"]


def histograms(n: int, d: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).random((n, d)) ** 3
    rows[rows < 0.05] = 0.0
    return (rows / rows.sum(axis=1, keepdims=True)).astype(np.float32)


def oracle(name: str, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    X, Z = X.astype(float), Z.astype(float)
    if name == "kl":
        p, q = ((1 - PRIOR) * rows + PRIOR / rows.shape[1] for rows in (X, Z))
        return np.array([[entropy(a, b) for b in q] for a in p])
    if name == "chi2":
        total = X[:, None] + Z[None]
        return (np.square(X[:, None] - Z[None]) / np.where(total > 0, total, 1)).sum(axis=2)
    return cdist(X, Z, {"l1": "cityblock", "l2": "euclidean", "cosine": "cosine"}[name])


@pytest.mark.parametrize("name", DISTANCES)
def test_equals_the_plain_formula(name: str) -> None:
    X, Z = histograms(11, 13, 1), histograms(6, 13, 2)
    got = DISTANCES[name](X, Z)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, oracle(name, X, Z), atol=3e-6)
    np.testing.assert_allclose(DISTANCES[name](X), oracle(name, X, X), atol=3e-6)


@pytest.mark.parametrize("name", DISTANCES)
def test_nothing_is_below_zero_and_equal_rows_are_at_zero(name: str) -> None:
    X = histograms(40, 9, 3)
    found = DISTANCES[name](X)
    assert found.min() >= 0
    np.testing.assert_allclose(np.diag(found), 0, atol=1e-6)


@pytest.mark.parametrize("name", SYMMETRIC)
def test_all_but_one_are_symmetric(name: str) -> None:
    found = DISTANCES[name](histograms(17, 8, 4))
    np.testing.assert_array_equal(found, found.T)


def test_kl_has_a_direction() -> None:
    peaked, flat = np.float32([[0.98, 0.01, 0.01]]), np.float32([[0.4, 0.3, 0.3]])
    assert abs(kl_distances(peaked, flat)[0, 0] - kl_distances(flat, peaked)[0, 0]) > 0.1


def test_an_empty_histogram_is_uniform_to_kl_and_far_from_all_to_cosine() -> None:
    rows = np.float32([[0, 0], [0.5, 0.5], [1, 0]])
    assert kl_distances(rows)[0, 1] == pytest.approx(0, abs=1e-6)
    np.testing.assert_array_equal(cosine_distances(rows)[0], [1, 1, 1])


def test_kl_refuses_what_is_no_histogram() -> None:
    with pytest.raises(DataError, match="use l1 or l2"):
        kl_distances([[0.5, -0.5]])


@pytest.mark.parametrize("name", DISTANCES)
def test_bytes_do_not_depend_on_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Z = histograms(2 * tiles.SIDE + 17, 33, 3), histograms(tiles.SIDE + 5, 33, 4)
    results = []
    for jobs in ("1", "3"):
        monkeypatch.setenv("MEDIARANK_JOBS", jobs)
        results.append(DISTANCES[name](X, Z).tobytes())
    assert results[0] == results[1]


def test_the_kernel_is_its_python() -> None:
    X, Z = histograms(5, 7, 5), histograms(3, 7, 6)
    out = np.empty((5, 3), np.float32)
    distances._l1_tile.py_func(X, Z, out)
    np.testing.assert_allclose(out, cdist(X, Z, "cityblock"), atol=1e-6)


def test_the_examples_hold() -> None:
    assert doctest.testmod(distances).failed == 0
