from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from mediarank.base_models.calibration import fit_sigmoid


def test_it_finds_the_sigmoid_that_made_the_labels() -> None:
    rng = np.random.default_rng(0)
    decisions = rng.normal(size=20_000)
    labels = rng.random(20_000) < expit(2.0 * decisions - 1.0)
    slope, offset = fit_sigmoid(decisions, labels)
    assert slope == pytest.approx(2.0, abs=0.1)
    assert offset == pytest.approx(-1.0, abs=0.1)


def test_it_is_a_logistic_regression_on_softened_targets() -> None:
    rng = np.random.default_rng(1)
    labels = np.arange(60) < 25
    decisions = np.where(labels, 0.5, -0.5) + rng.normal(size=60)
    target = np.where(labels, 26 / 27, 1 / 37)
    peer = LogisticRegression(C=1e9, tol=1e-10, max_iter=1000).fit(
        np.tile(decisions, 2)[:, None], np.repeat([1, 0], 60), sample_weight=np.concatenate([target, 1 - target])
    )
    slope, offset = fit_sigmoid(decisions, labels)
    assert slope == pytest.approx(peer.coef_[0, 0], abs=1e-4)
    assert offset == pytest.approx(peer.intercept_[0], abs=1e-4)


def test_a_separable_sample_keeps_a_finite_slope() -> None:
    slope, _ = fit_sigmoid(np.array([2.0, 1.0, -1.0, -2.0]), np.array([True, True, False, False]))
    assert 0 < slope < 10


def test_constant_decisions_give_the_base_rate() -> None:
    labels = np.arange(100) < 30
    slope, offset = fit_sigmoid(np.zeros(100), labels)
    assert expit(slope * 0 + offset) == pytest.approx(0.3, abs=0.02)


def test_a_prior_moves_the_odds_only() -> None:
    rng = np.random.default_rng(2)
    labels = np.arange(400) < 200
    decisions = np.where(labels, 1.0, -1.0) + rng.normal(size=400)
    slope, offset = fit_sigmoid(decisions, labels)
    rare_slope, rare_offset = fit_sigmoid(decisions, labels, prior=0.02)
    assert rare_slope == slope
    odds = np.exp(rare_offset - offset)
    assert odds == pytest.approx(0.02 / 0.98)
