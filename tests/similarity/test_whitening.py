"""Whitening by what differs within classes: against the plain formula, on data with a known answer, as a property."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.similarity.whitening import fit_whitening, joined
from mediarank.types import DataError


def classes_in_noise(count: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Ten classes that differ a little in four directions, and not in two others, which vary much."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 10
    centres = np.random.default_rng(9).normal(size=(10, 4))
    rows = np.column_stack([centres[labels] + 0.3 * rng.normal(size=(count, 4)), 9 * rng.normal(size=(count, 2))])
    return rows.astype(np.float32), labels


def hits(rows: np.ndarray, labels: np.ndarray) -> float:
    """The share of items whose nearest other item by cosine is of their class."""
    unit = joined([rows])
    alike = unit @ unit.T
    np.fill_diagonal(alike, -2)
    return float((labels[alike.argmax(axis=1)] == labels).mean())


def test_it_equals_the_plain_formula() -> None:
    rows, labels = classes_in_noise()
    found = fit_whitening(["a"], [rows], labels, ridge=0.5, directions=6)
    unit = joined([rows]).astype(np.float64)
    centred = unit - unit.mean(axis=0)
    within = centred - np.stack([centred[labels == label].mean(axis=0) for label in labels])
    covariance = within.T @ within / len(rows)
    inverse = np.linalg.inv(covariance + 0.5 * np.trace(covariance) / 6 * np.eye(6))
    moved = found.apply({"a": rows})
    np.testing.assert_allclose(moved @ moved.T, centred @ inverse @ centred.T, atol=2e-4 * np.abs(moved).max() ** 2)


def test_classes_that_were_never_seen_are_told_apart_better() -> None:
    rows, labels = classes_in_noise()
    seen = labels < 5
    found = fit_whitening(["a"], [rows[seen]], labels[seen], ridge=0.1)
    moved = found.apply({"a": rows[~seen]})
    assert hits(moved, labels[~seen]) > hits(rows[~seen], labels[~seen]) + 0.2


def test_few_directions_are_the_strongest_and_rows_stand_alone() -> None:
    rows, labels = classes_in_noise()
    whole = fit_whitening(["a", "b"], [rows[:, :3], rows[:, 3:]], labels, directions=6)
    few = fit_whitening(["a", "b"], [rows[:, :3], rows[:, 3:]], labels, directions=2)
    given = {"a": rows[:, :3], "b": rows[:, 3:]}
    np.testing.assert_allclose(np.abs(few.apply(given)), np.abs(whole.apply(given)[:, :2]), atol=1e-3)
    variances = whole.apply(given).var(axis=0)
    assert (np.diff(variances) <= 1e-6 * variances[0]).all()
    alone = {name: matrix[7:8] for name, matrix in given.items()}
    np.testing.assert_array_equal(few.apply(alone), few.apply(given)[7:8])


def test_items_that_are_all_alike_and_too_few_items() -> None:
    same = np.ones((6, 3), np.float32)
    assert np.isfinite(fit_whitening(["a"], [same], [0, 0, 0, 1, 1, 1]).apply({"a": same})).all()
    with pytest.raises(DataError, match="give two or more"):
        fit_whitening(["a"], [same[:1]], [0])
