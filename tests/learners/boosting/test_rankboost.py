from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from mediarank.learners.boosting import rankboost
from mediarank.learners.boosting.rankboost import RankBoost, distribution, in_range, rates, step_length
from mediarank.types import DataError


def example(seed: int, items: int = 60, models: int = 5, noise: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.random(items) < 0.3
    y[:2] = True, False
    X = np.where(y, 0.15, -0.15)[:, None] + rng.normal(scale=noise, size=(items, models))
    return np.clip(X, -1, 1).astype(np.float32), y


def pair_loss(f: np.ndarray, y: np.ndarray) -> float:
    """The loss as eq 1 defines it, over all pairs, relative to their number."""
    return float(np.mean(np.exp(-(f[y][:, None] - f[~y][None, :]))))


def test_the_distribution_factorises_and_sums_to_one() -> None:
    _, y = example(0)
    f = np.random.default_rng(1).normal(size=len(y))
    u, loss = distribution(f, y)
    C = np.exp(f[~y][None, :] - f[y][:, None])
    assert loss == pytest.approx(C.mean())
    np.testing.assert_allclose(u[y][:, None] * -u[~y][None, :], C / C.sum(), rtol=1e-12)
    assert u[y].sum() == pytest.approx(1)
    assert u[~y].sum() == pytest.approx(-1)


def test_the_distribution_survives_scores_far_beyond_exp() -> None:
    u, loss = distribution(np.array([2000.0, 1990.0, 0.0]), np.array([True, True, False]))
    np.testing.assert_allclose(u, [np.exp(-10) / (1 + np.exp(-10)), 1 / (1 + np.exp(-10)), -1])
    assert loss == 0.0


def test_rates_equal_the_sum_over_pairs() -> None:
    X, y = example(2)
    u, _ = distribution(np.random.default_rng(3).normal(size=len(y)), y)
    A = X[y][:, None, :] - X[~y][None, :, :]
    C = u[y][:, None] * -u[~y][None, :]
    expected = np.einsum("ij,ijk->k", C, A)
    np.testing.assert_allclose(rates(X, u), expected, atol=1e-7)
    np.testing.assert_allclose(rankboost._rates.py_func(X[:, :2], u), expected[:2], atol=1e-7)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_the_exact_step_minimises_the_loss(seed: int, masked: bool) -> None:
    X, y = example(seed)
    rng = np.random.default_rng(seed)
    f = rng.normal(scale=0.3, size=len(y))
    active = np.flatnonzero(rng.random(len(y)) < 0.6) if masked else np.arange(len(y))
    h = np.zeros(len(y))
    h[active] = X[active, 0]
    limit = np.arctanh(rankboost.RATE_LIMIT)
    found = minimize_scalar(lambda a: pair_loss(f + a * h, y), bounds=(-limit, limit), method="bounded")
    alpha = step_length(X[:, 0], active, distribution(f, y)[0], 0.0, "symmetric", "exact")
    assert pair_loss(f + alpha * h, y) <= found.fun * (1 + 1e-9)


def test_the_exact_step_of_a_perfect_model_stops_at_the_limit() -> None:
    h = np.array([1, 1, -1, -1], dtype=np.float32)
    y = np.array([True, True, False, False])
    u, _ = distribution(np.zeros(4), y)
    limit = np.arctanh(rankboost.RATE_LIMIT)
    everyone = np.arange(4)
    assert step_length(h, everyone, u, 2.0, "symmetric", "exact") == pytest.approx(limit)
    assert step_length(-h, everyone, u, -2.0, "symmetric", "exact") == pytest.approx(-limit)
    assert step_length(h, everyone, u, 2.0, "symmetric", "bound") == pytest.approx(limit)
    assert rankboost._exact_step.py_func(h, everyone, u, np.zeros(2), 0.3) == pytest.approx(0.3)


def test_one_round_by_hand() -> None:
    # r = mean of the relevant minus mean of the others = .5 − .25; α = ½ ln(1.25/.75), on scores of [0, 1].
    X = np.array([[0.0], [0.0], [-1.0], [0.0]], dtype=np.float32)
    fitted = RankBoost(rounds=1, score_range="unit").fit(X, [1, 1, 0, 0])
    assert fitted.weights_[0] == pytest.approx(0.5 * np.log(1.25 / 0.75))
    np.testing.assert_allclose(fitted.predict(X), fitted.weights_[0] * np.array([0.5, 0.5, 0.0, 0.5]), atol=1e-7)


@pytest.mark.parametrize(("score_range", "step"), [("unit", "bound"), ("unit", "exact"), ("symmetric", "exact")])
def test_the_loss_falls_every_round_and_is_what_it_says(score_range: str, step: str) -> None:
    X, y = example(4)
    fitted = RankBoost(rounds=30, score_range=score_range, step=step, tolerance=0).fit(X, y)
    assert len(fitted.models_) == 30
    assert np.all(np.diff(fitted.losses_) < 1e-12)
    assert fitted.losses_[-1] == pytest.approx(pair_loss(fitted.predict(X), y), rel=1e-5)
    assert fitted.losses_[0] == 1


def test_the_signs_as_printed_would_make_the_loss_explode() -> None:
    """Deviation 1 of the card: eqs 3 and 15 with their printed sign climb instead of descending."""
    X, y = example(5)
    f, losses = np.zeros(len(y)), []
    for _ in range(10):
        u, loss = distribution(f, y)
        losses.append(loss)
        r = -rates(X, u)  # X0 counted as irrelevant, as printed
        k = int(np.argmax(np.abs(r)))
        f += np.arctanh(np.clip(r[k], -0.99, 0.99)) * X[:, k]
    assert losses[-1] > 10 * losses[0]
    assert RankBoost(rounds=10).fit(X, y).losses_[-1] < 1


def test_a_reversed_model_gets_a_negative_weight() -> None:
    X, y = example(6, models=1)
    assert RankBoost(rounds=1).fit(-X, y).weights_[0] == pytest.approx(-RankBoost(rounds=1).fit(X, y).weights_[0])
    assert RankBoost(rounds=1).fit(-X, y).weights_[0] < 0


def test_it_stops_when_the_loss_converges() -> None:
    X, y = example(7)
    fitted = RankBoost(rounds=500, step="exact", tolerance=1e-4).fit(X, y)
    assert 1 < len(fitted.models_) < 500
    assert abs(np.diff(fitted.losses_)[-1]) < 1e-4
    assert np.all(np.abs(np.diff(fitted.losses_)[:-1]) >= 1e-4)


def test_constant_scores_learn_nothing_and_rank_all_the_same() -> None:
    fitted = RankBoost().fit(np.full((4, 3), 0.5, dtype=np.float32), [1, 0, 0, 1])
    assert len(fitted.plan_) == 0
    np.testing.assert_array_equal(fitted.predict(np.zeros((2, 3), dtype=np.float32)), [0, 0])


def test_one_relevant_example_is_enough() -> None:
    X = np.array([[0.9, -0.2], [0.1, 0.3], [-0.4, 0.6]], dtype=np.float32)
    assert np.argmax(RankBoost(rounds=5).fit(X, [1, 0, 0]).predict(X)) == 0


@pytest.mark.parametrize("y", [[0, 0, 0], [1, 1, 1]])
def test_labels_of_one_kind_are_refused(y: list[int]) -> None:
    with pytest.raises(DataError, match="items are relevant"):
        RankBoost().fit(np.zeros((3, 2), dtype=np.float32), y)


@pytest.mark.parametrize("bad", [1.5, np.nan])
def test_scores_outside_the_range_are_refused(bad: float) -> None:
    with pytest.raises(DataError, match="normalise"):
        RankBoost().fit(np.array([[0.0], [bad]], dtype=np.float32), [1, 0])


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="shape"):
        RankBoost().fit(np.zeros((3, 2), dtype=np.float32), [1, 0])


def test_both_ranges_rank_the_same_after_one_exact_step() -> None:
    X, y = example(8)
    symmetric = RankBoost(rounds=1, step="exact").fit(X, y)
    unit = RankBoost(rounds=1, step="exact", score_range="unit").fit(X, y)
    assert in_range(X, "unit").min() >= 0
    assert unit.weights_[0] == pytest.approx(2 * symmetric.weights_[0], rel=1e-6)
    np.testing.assert_allclose(np.diff(unit.predict(X)), np.diff(symmetric.predict(X)), atol=1e-6)
