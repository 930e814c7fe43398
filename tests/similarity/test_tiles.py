"""Tiles: every pair once, halves mirrored, errors of a thread reach the caller."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.similarity.tiles import Matrix, as_rows, fill
from mediarank.types import DataError


def product_tile(rows: Matrix, columns: Matrix, out: Matrix) -> None:
    out[:] = rows @ columns.T


@pytest.mark.parametrize("side", [1, 3, 7, 100])
def test_the_plane_is_covered_whatever_the_side(side: int) -> None:
    X, Z = np.random.default_rng(0).normal(size=(10, 2)), np.random.default_rng(1).normal(size=(7, 2))
    np.testing.assert_allclose(fill(product_tile, X, Z, side), X @ Z.T)
    np.testing.assert_allclose(fill(product_tile, X, None, side), X @ X.T)


def test_only_half_of_a_symmetric_plane_is_computed() -> None:
    computed = []

    def counting(rows: Matrix, columns: Matrix, out: Matrix) -> None:
        computed.append(out.size)
        product_tile(rows, columns, out)

    fill(counting, np.ones((12, 1)), None, side=2)
    assert sum(computed) == 6 * 7 // 2 * 4  # 21 of 36 tiles


def test_types() -> None:
    single, double = np.ones((2, 2), np.float32), np.ones((2, 2))
    assert as_rows(single, single)[0].dtype == np.float32
    assert as_rows(single, double)[0].dtype == np.float64
    assert as_rows([[1, 2]], None)[0].dtype == np.float64
    with pytest.raises(DataError, match="dimension"):
        as_rows(np.ones((2, 2, 2)), None)
