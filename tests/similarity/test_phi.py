"""φ against a plain implementation, and its properties."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.similarity import phi as module
from mediarank.similarity.phi import (
    SIMILARITIES,
    _phi_block,
    _squared_length,
    _weighted_block,
    phi,
    phi_of_queries,
    phi_over_types,
    weighted_phi,
)
from mediarank.similarity.scaling import PhiScaler, _scale, fit_scaler
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
    # away from 0, where the cosine is kept from dividing by nothing
    values = rng.uniform(0.1, 2, (count + 1, dimensions)) * rng.choice([-1, 1], (count + 1, dimensions))
    query, rows = values[0].astype(np.float32), values[1:].astype(np.float32)
    rows[0] = query
    expected = np.array([plain(query, row) for row in rows])
    assert phi(query, rows) == pytest.approx(expected, rel=1e-4, abs=1e-4)
    uncompiled = np.empty((1, count, len(SIMILARITIES)), np.float32)
    _phi_block.py_func(query[None], rows, uncompiled)
    assert uncompiled[0] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_nothing_is_more_similar_than_itself() -> None:
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


def test_scaling_in_place_is_scaling() -> None:
    rng = np.random.default_rng(8)
    values = rng.normal(size=(3, 40, 6)).astype(np.float32)
    deviation = np.float32([1, 2, np.inf, 0.5, 3, 7])
    scaler = PhiScaler(rng.normal(size=6).astype(np.float32), deviation)
    expected = (values - scaler.mean) / deviation
    before = values.copy()
    assert np.array_equal(scaler.apply(values), expected)
    assert np.array_equal(values, before), "without `out` the values stay"
    assert not expected[..., 2].any(), "a constant dimension says nothing"
    uncompiled = np.empty((120, 6), np.float32)
    _scale.py_func(values.reshape(-1, 6), scaler.mean, deviation, uncompiled)
    assert np.array_equal(uncompiled.reshape(values.shape), expected)
    assert scaler.apply(values, out=values) is values
    assert np.array_equal(values, expected)


def test_scaling_of_values_that_are_not_contiguous() -> None:
    values = np.random.default_rng(9).normal(size=(5, 8, 4)).astype(np.float32).transpose(1, 0, 2)
    scaler = PhiScaler(np.ones(4, np.float32), np.full(4, 2, np.float32))
    assert np.array_equal(scaler.apply(values), (values - 1) / 2)
    with pytest.raises(DataError, match="contiguous"):
        scaler.apply(values, out=values)


def several_types(seed: int = 5, count: int = 300) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    collections = [rng.random((count, d)).astype(np.float32) for d in (3, 8, 17)]
    return [rows[4] for rows in collections], collections


def test_weighted_phi_is_phi_times_weights() -> None:
    queries, collections = several_types()
    weights = np.random.default_rng(6).normal(size=12).astype(np.float32)
    whole = phi_over_types(queries, collections)
    assert np.array_equal(whole[:, 4:8], phi(queries[1], collections[1])), "types stand side by side"
    assert weighted_phi(queries, collections, weights, 2.5) == pytest.approx(whole @ weights + 2.5, abs=1e-4)
    plain_python = np.zeros(300, np.float32)
    for k, (query, rows) in enumerate(zip(queries, collections, strict=True)):
        _weighted_block.py_func(query, rows, weights[4 * k : 4 * k + 4], plain_python)
    assert plain_python == pytest.approx(whole @ weights, abs=1e-4)
    assert _squared_length.py_func(queries[0]) == pytest.approx(queries[0] @ queries[0])


def test_weighted_phi_does_not_depend_on_threads_or_on_where_rows_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries, collections = several_types(count=9000)
    weights = np.ones(12, np.float32)
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("MEDIARANK_JOBS", threads)
        results.append(weighted_phi(queries, collections, weights))
    np.save(tmp_path / "rows.npy", collections[2])
    mapped = [*collections[:2], np.load(tmp_path / "rows.npy", mmap_mode="r")]
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], weighted_phi(queries, mapped, weights))


def test_phi_of_queries_equals_the_plain_formulas() -> None:
    """More rows than one tile; compiled and as Python."""
    _, collections = several_types(count=2 * module._TILE + 5)
    asked = [rows[[4, 0, 9]] + np.float32(0.25) for rows in collections]
    expected = np.array(
        [
            [
                np.concatenate([plain(own[k], rows[i]) for own, rows in zip(asked, collections, strict=True)])
                for i in range(69)
            ]
            for k in range(3)
        ]
    )
    assert phi_of_queries(asked, collections) == pytest.approx(expected, rel=1e-5, abs=1e-5)
    uncompiled = np.empty((3, 69, 12), np.float32)
    for k, (own, rows) in enumerate(zip(asked, collections, strict=True)):
        _phi_block.py_func(own, rows, uncompiled[:, :, 4 * k : 4 * k + 4])
    assert uncompiled == pytest.approx(expected, rel=1e-5, abs=1e-5)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 300), st.integers(1, 150), st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_a_query_has_the_same_phi_alone_and_among_others(dimensions: int, count: int, asked: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    collections = [rng.normal(size=(count, d)).astype(np.float32) for d in (dimensions, 5)]
    queries = [rng.normal(size=(asked, d)).astype(np.float32) for d in (dimensions, 5)]
    together = phi_of_queries(queries, collections)
    for k in range(asked):
        assert np.array_equal(together[k], phi_over_types([own[k] for own in queries], collections))
    row = int(rng.integers(count))
    few = phi_of_queries(queries, [rows[row : row + 1] for rows in collections])
    assert np.array_equal(few[:, 0], together[:, row]), "nor do the other rows matter"


def test_phi_of_queries_does_not_depend_on_threads_or_on_where_rows_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, collections = several_types(count=9000)
    asked = [rows[:5] for rows in collections]
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("MEDIARANK_JOBS", threads)
        results.append(phi_of_queries(asked, collections))
    np.save(tmp_path / "rows.npy", collections[2])
    mapped = [collections[0], np.asfortranarray(collections[1]), np.load(tmp_path / "rows.npy", mmap_mode="r")]
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], phi_of_queries(asked, mapped))


def test_queries_must_fit_each_other() -> None:
    _, collections = several_types()
    asked = [rows[:5] for rows in collections]
    assert phi_of_queries([rows[:0] for rows in collections], collections).shape == (0, 300, 12)
    with pytest.raises(DataError, match=r"the same queries, but have \[4, 5\]"):
        phi_of_queries([asked[0][:4], *asked[1:]], collections)
    with pytest.raises(DataError, match=r"shape \(8,\) can't be compared with rows of shape \(300, 3\)"):
        phi_of_queries([asked[1], *asked[1:]], collections)


def test_types_must_fit_each_other() -> None:
    queries, collections = several_types()
    with pytest.raises(DataError, match="3 feature types has 12 dimensions"):
        weighted_phi(queries, collections, np.ones(11))
    with pytest.raises(DataError, match="the same items"):
        phi_over_types(queries, [*collections[:2], collections[2][:5]])
    with pytest.raises(DataError, match="2 feature types"):
        phi_over_types(queries[:2], collections)


def test_unscaled_weights_make_the_same_scores() -> None:
    queries, collections = several_types()
    collections[0][:] = 1  # a constant dimension
    queries[0] = collections[0][0]
    scaler = fit_scaler(collections, 2000, np.random.default_rng(0))
    weights = np.random.default_rng(1).normal(size=12).astype(np.float32)
    expected = scaler.apply(phi_over_types(queries, collections)) @ weights
    assert weighted_phi(queries, collections, *scaler.unscaled(weights)) == pytest.approx(expected, abs=1e-3)
