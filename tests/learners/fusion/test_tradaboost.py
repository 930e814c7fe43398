from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from mediarank.learners.fusion.tradaboost import TargetStep, balanced_costs, boost


def made(seed: int, learned: int = 30, seen: int = 12) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    source_y, target_y = np.arange(learned) < learned // 3, np.arange(seen) < seen // 3
    source = np.clip(rng.normal(0.3 + 0.4 * source_y[:, None], 0.1, (learned, 2)), 0, 1)
    target = np.clip(rng.normal(0.4 + 0.2 * target_y[:, None], 0.2, (seen, 2)), 0, 1)
    return source, source_y, target, target_y


def algorithm_1(
    source: np.ndarray,
    source_y: np.ndarray,
    target: np.ndarray,
    target_y: np.ndarray,
    iterations: int,
    step: TargetStep,
) -> tuple[np.ndarray, list[np.ndarray]]:
    """As it is printed, an example at a time, with scikit-learn's ridge."""
    x = np.column_stack([np.concatenate([source, target]), np.ones(len(source) + len(target))])
    y = np.concatenate([source_y, target_y]).astype(float)
    n_s, c, total, costs = len(source), np.ones(len(y)), np.zeros(x.shape[1]), []
    beta = 1 / (1 + np.sqrt(2 * np.log(n_s) / iterations))
    for _ in range(iterations):
        c = c / c.sum()
        costs.append(c.copy())
        w = Ridge(alpha=0.01, fit_intercept=False).fit(x, y, sample_weight=c).coef_
        e = [abs(min(max(float(x[i] @ w), 0.0), 1.0) - y[i]) for i in range(len(y))]
        error = sum(c[i] * e[i] for i in range(n_s, len(y))) / sum(c[n_s:])
        beta_t = error / (1 - error)
        total += -np.log(beta_t) * w
        for i in range(len(y)):
            c[i] *= beta ** e[i] if i < n_s else (beta if step == "printed" else beta_t) ** -e[i]
    return total, costs


@pytest.mark.parametrize("step", ["printed", "adaptive"])
@pytest.mark.parametrize("iterations", [1, 4])
def test_equals_algorithm_1(iterations: int, step: TargetStep) -> None:
    boosted = boost(*made(0), iterations=iterations, strength=0.01, target_step=step)
    expected, costs = algorithm_1(*made(0), iterations, step)
    np.testing.assert_allclose(boosted.combined, expected, rtol=1e-7)
    np.testing.assert_allclose(boosted.costs, costs, rtol=1e-7)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.booleans())
def test_costs_sum_to_1_votes_are_positive_and_the_source_loses_where_it_does_not_fit(
    seed: int, balanced: bool
) -> None:
    source, source_y, target, target_y = made(seed)
    boosted = boost(source, source_y, target, target_y, iterations=6, strength=0.01, balanced=balanced)
    np.testing.assert_allclose(boosted.costs.sum(axis=-1), 1)
    assert (boosted.alphas > 0).all()
    learned = len(source)
    share = boosted.costs[:, learned:].sum(axis=-1)
    assert (np.diff(share) >= -1e-12).all(), "the target's part only grows"


def test_the_sum_of_learners_is_the_last_stage() -> None:
    boosted = boost(*made(3), iterations=5, strength=0.01)
    np.testing.assert_allclose(boosted.combined, (boosted.alphas[:, None] * boosted.weights).sum(axis=0))
    np.testing.assert_allclose(boosted.staged[0], boosted.alphas[0] * boosted.weights[0])


def test_a_perfect_target_has_a_large_but_finite_vote() -> None:
    y = np.array([True, False] * 4)
    scores = y[:, None].astype(float)
    boosted = boost(scores, y, scores, y, iterations=3, strength=1e-9)
    assert np.isfinite(boosted.combined).all()
    assert (boosted.alphas > 5).all()


def test_repeats_are_boosted_each_by_itself() -> None:
    parts = [np.stack(part) for part in zip(*(made(seed) for seed in range(3)), strict=True)]
    together = boost(*parts, iterations=4, strength=0.01).combined
    for k in range(3):
        np.testing.assert_allclose(together[k], boost(*made(k), iterations=4, strength=0.01).combined)


def test_balanced_costs_give_both_classes_half_and_keep_rare_positives_in_play() -> None:
    rare = np.arange(20) < 2
    costs = balanced_costs(rare)
    np.testing.assert_allclose([costs[rare].sum(), costs[~rare].sum()], 0.5)
    np.testing.assert_allclose(balanced_costs(np.zeros(4, bool)), 0.25)
    source, source_y, target, target_y = made(1, learned=40)
    source_y = np.arange(40) < 3
    kept = [boost(source, source_y, target, target_y, iterations=8, strength=0.01, balanced=b) for b in (False, True)]
    plain, balanced = (b.costs[-1][:3].sum() for b in kept)
    assert balanced > 2 * plain
