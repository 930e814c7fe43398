"""Probabilities, cut-offs and counts: known answers, an oracle, and data made with known probabilities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import expit

from mediarank.evaluation.calibration import (
    Calibration,
    best_cut,
    calibration_error,
    estimate_count,
    fit_calibration,
)
from mediarank.types import ConfigError, DataError


def made(
    items: int, names: int, seed: int, slope: float = 2.0, offset: float = -3.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """scores, labels and the true probabilities; scores of each name on its own scale."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(items, names))
    truth = expit(slope * z + offset)
    return z * (1 + np.arange(names)) + 10, rng.random((items, names)) < truth, truth


def test_probabilities_come_near_the_true_ones() -> None:
    scores, labels, _ = made(4000, 3, 0)
    fresh, _, truth = made(2000, 3, 1)
    found = fit_calibration(scores, labels, ["a", "b", "c"]).probabilities(fresh)
    assert np.abs(found - truth).max() < 0.06


def test_the_guard_helps_names_with_few_positives() -> None:
    """Forty names with about four positives each, against a sigmoid that each name has to itself."""
    scores, labels, _ = made(100, 40, 2)
    fresh, _, truth = made(1000, 40, 3)
    names = [str(k) for k in range(40)]
    together = fit_calibration(scores, labels, names).probabilities(fresh)
    alone = np.column_stack(
        [fit_calibration(scores[:, [k]], labels[:, [k]], ["x"]).probabilities(fresh[:, [k]])[:, 0] for k in range(40)]
    )
    assert np.abs(together - truth).mean() < np.abs(alone - truth).mean()


def test_a_name_without_positives_is_rare_but_not_impossible() -> None:
    scores, labels, _ = made(200, 5, 4)
    labels[:, 2] = False
    found = fit_calibration(scores, labels, list("abcde"))
    p = found.probabilities(scores)[:, 2]
    assert 0 < p.max() < 0.5
    assert found.positives[2] == 0


def test_order_is_kept_even_if_scores_mislead() -> None:
    scores, labels, _ = made(300, 1, 5, slope=-3)
    p = fit_calibration(scores, labels, ["a"]).probabilities(scores)[:, 0]
    order = np.argsort(scores[:, 0])
    assert (np.diff(p[order]) >= 0).all()


def test_constant_scores_give_the_prevalence() -> None:
    labels = np.zeros((100, 1))
    labels[:20] = 1
    p = fit_calibration(np.ones((100, 1)), labels, ["a"]).probabilities(np.ones((5, 1)))
    assert p == pytest.approx(0.2, abs=0.02)


def test_it_can_be_kept() -> None:
    scores, labels, _ = made(50, 2, 6)
    one = fit_calibration(scores, labels, ["a", "b"])
    other = Calibration.from_arrays(one.to_arrays())
    assert other.names == one.names
    assert np.array_equal(other.probabilities(scores), one.probabilities(scores))
    assert np.array_equal(other.probabilities(scores[:, [1]], ["b"]), one.probabilities(scores)[:, [1]])


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(DataError, match="shape"):
        fit_calibration(np.zeros((3, 2)), np.zeros((3, 1)), ["a", "b"])
    with pytest.raises(DataError, match="valid"):
        fit_calibration(np.zeros((0, 1)), np.zeros((0, 1)), ["a"])
    with pytest.raises(DataError, match="no calibration"):
        fit_calibration(np.zeros((3, 1)), np.zeros((3, 1)), ["a"]).probabilities(np.zeros((1, 1)), ["b"])


def expected_f1(p: np.ndarray, count: int) -> float:
    """By going through all outcomes; the plug-in formula is an approximation of it."""
    order = np.argsort(-p)
    total = 0.0
    for outcome in itertools.product([0, 1], repeat=len(p)):
        y = np.array(outcome)
        chance = float(np.prod(np.where(y == 1, p, 1 - p)))
        right = y[order[:count]].sum()
        total += chance * (2 * right / (count + y.sum()) if count + y.sum() else 0)
    return total


@pytest.mark.parametrize("seed", range(5))
def test_the_cut_is_nearly_the_best_of_all(seed: int) -> None:
    p = np.random.default_rng(seed).beta(0.5, 1.0, 9)
    cut = best_cut(p)
    best = max(expected_f1(p, k) for k in range(1, 10))
    assert expected_f1(p, cut.count) > best - 0.03
    assert (p >= cut.threshold).sum() == cut.count


def test_a_precision_holds_as_deep_as_it_can() -> None:
    p = np.array([0.95, 0.9, 0.7, 0.4, 0.1])
    cut = best_cut(p, precision=0.8)
    assert cut.count == 3
    assert cut.precision == pytest.approx(0.85)
    assert best_cut(p, precision=0.99).count == 0
    assert best_cut([]).count == 0
    with pytest.raises(ConfigError):
        best_cut(p, precision=1.5)


def test_intervals_of_counts_hold_the_truth_about_as_often_as_they_say() -> None:
    inside = 0
    for seed in range(60):
        scores, labels, _ = made(400, 8, 100 + seed)
        fresh, shown, _ = made(1500, 8, 1000 + seed)
        found = fit_calibration(scores, labels, [str(k) for k in range(8)])
        count = estimate_count(found, "3", fresh[:, 3], np.random.default_rng(seed), confidence=0.9)
        inside += count.low <= shown[:, 3].sum() <= count.high
    assert 45 <= inside <= 60


def test_known_items_are_added() -> None:
    scores, labels, _ = made(100, 1, 7)
    found = fit_calibration(scores, labels, ["a"])
    assert estimate_count(found, "a", [], np.random.default_rng(0), known=7).expected == 7
    assert estimate_count(found, "a", scores[:5, 0], np.random.default_rng(0), known=7).low >= 7


def test_calibration_error_by_hand() -> None:
    assert calibration_error([1, 0, 0, 0], [0.5, 0.5, 0.1, 0.1], bins=10) == pytest.approx((0.0 + 0.2) / 4)
    rng = np.random.default_rng(0)
    p = rng.random(50_000)
    y = rng.random(50_000) < p
    assert calibration_error(y, p) < 0.01
    assert calibration_error(y, p**2) > 0.1
