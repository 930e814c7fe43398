"""φ against a plain implementation, and its properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.similarity import phi as module
from mediarank.similarity.phi import SIMILARITIES, _phi_block, phi
from mediarank.similarity.scaling import fit_scaler, phi_over_types
from mediarank.types import DataError


def plain(query: np.ndarray, row: np.ndarray) -> list[float]:
    q, p = query.astype(np.float64), row.astype(np.float64)
    weight = np.abs(q) + np.abs(p)
    chi = np.divide((q - p) ** 2, weight, out=np.zeros_like(q), where=weight > 0).sum() / 2
    norms = np.linalg.norm(q) * np.linalg.norm(p)
    return [q @ p / norms if norms else 0.0, -np.linalg.norm(q - p), -np.abs(q - p).sum(), -chi]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_equals_the_plain_formulas(dimensions: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    query = rng.normal(size=dimensions).astype(np.float32)
    rows = rng.normal(size=(count, dimensions)).astype(np.float32)
    rows[0] = query
    expected = np.array([plain(query, row) for row in rows])
    assert phi(query, rows) == pytest.approx(expected, rel=1e-4, abs=1e-4)
    uncompiled = np.empty((count, len(SIMILARITIES)), np.float32)
    _phi_block.py_func(query, rows, uncompiled)
    assert uncompiled == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_nothing_is_more_alike_than_itself() -> None:
    rows = np.abs(np.random.default_rng(1).normal(size=(50, 8))).astype(np.float32)
    assert (phi(rows[7], rows).argmax(axis=0) == 7).all()


def test_a_vector_of_zeros_is_finite() -> None:
    assert np.isfinite(phi(np.zeros(3, np.float32), np.zeros((2, 3), np.float32))).all()


def test_blocks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(2).normal(size=(1000, 33)).astype(np.float32)
    whole = phi(rows[0], rows)
    monkeypatch.setattr(module, "BLOCK", 64)
    assert np.array_equal(phi(rows[0], rows), whole)


def test_shapes_must_fit() -> None:
    with pytest.raises(DataError, match=r"shape \(3,\) can't be compared with rows of shape \(2, 4\)"):
        phi(np.zeros(3, np.float32), np.zeros((2, 4), np.float32))


def test_scaled_phi_has_unit_spread_on_what_it_was_fitted_on() -> None:
    rng = np.random.default_rng(3)
    matrices = [rng.random((80, 5)).astype(np.float32), np.ones((80, 2), np.float32)]
    scaler = fit_scaler(matrices, pairs=100_000, rng=np.random.default_rng(4))
    values = np.concatenate(
        [scaler.apply(np.delete(phi_over_types([m[k] for m in matrices], matrices), k, axis=0)) for k in range(80)]
    )
    assert values[:, :4].mean(axis=0) == pytest.approx(np.zeros(4), abs=1e-3)
    assert values[:, :4].std(axis=0) == pytest.approx(np.ones(4), abs=1e-3)
    assert not values[:, 4:].any(), "a constant dimension says nothing"
