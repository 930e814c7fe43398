from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from mediarank.learners.fusion.equalisation import equalise
from mediarank.learners.fusion.linear_fusion import SUREST
from mediarank.learners.fusion.logistic_fusion import BlendedLogistic, Logistic, logistic
from mediarank.learners.fusion.weighted_ridge import with_bias
from mediarank.types import DataError


def made(seed: int, n: int = 300, classifiers: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    y[:2] = True, False
    return expit(rng.normal(0, 1, (n, classifiers)) + np.outer(y, np.linspace(0.5, 2, classifiers)) - 1), y


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10_000), st.sampled_from([0.3, 3.0, 30.0]))
def test_the_loss_has_its_minimum_there(seed: int, strength: float) -> None:
    scores, y = made(seed, n=40)
    design = with_bias(logit(scores))
    centre = np.array([0.5, 0.5, 0.5, 0.0])
    penalty = np.array([strength] * 3 + [1e-6])

    def loss(w: np.ndarray) -> float:
        z = design @ w
        return float(np.sum(np.logaddexp(0, z) - y * z) + 0.5 * penalty @ (w - centre) ** 2)

    found = logistic(design, y, strength, 0.5)
    assert loss(found) <= minimize(loss, centre).fun + 1e-6


def test_without_a_prior_it_is_scikit_learns_logistic_regression() -> None:
    scores, y = made(1)
    found = logistic(with_bias(logit(scores)), y, 2.0, 0.0)
    oracle = LogisticRegression(C=1 / 2.0, tol=1e-9).fit(logit(scores), y)
    np.testing.assert_allclose(found, np.append(oracle.coef_[0], oracle.intercept_), rtol=1e-3, atol=1e-4)


def test_it_finds_the_weights_that_made_the_labels() -> None:
    rng = np.random.default_rng(2)
    evidence = rng.normal(0, 2, (20_000, 2))
    y = rng.random(20_000) < expit(evidence @ [1.0, 0.25] - 1)
    fitted = Logistic().fit(expit(evidence[:15_000]), y[:15_000], expit(evidence[15_000:]), y[15_000:])
    np.testing.assert_allclose([*fitted.weights_, fitted.bias_], [1.0, 0.25, -1.0], atol=0.08)


def test_few_examples_leave_it_near_equal_weights() -> None:
    scores, y = made(3, n=4)
    fitted = Logistic(strength=100.0).fit(scores, y, scores, y)
    np.testing.assert_allclose(fitted.weights_, 0.5, atol=0.1)


def test_separable_examples_keep_finite_weights() -> None:
    y = np.array([True, False] * 5)
    fitted = Logistic().fit(y[:, None] * 1.0, y, y[:, None] * 1.0, y)
    assert np.isfinite(fitted.weights_).all()
    assert fitted.weights_[0] > 0


def test_recycled_it_learns_from_equalised_scores() -> None:
    source, source_y = made(4)
    target, target_y = made(5, n=60)
    fitted = Logistic(recycled=True, doubt=3.0).fit(source, source_y, target, target_y)
    prepared = [logit(np.clip(s, SUREST, 1 - SUREST)) for s in (source, target)]
    mapped = equalise(prepared[0], source_y, prepared[1], target_y, doubt=3.0)
    y = np.concatenate([source_y, target_y])
    plain = logistic(with_bias(np.concatenate([mapped, prepared[1]])), y, 3.0, 0.5)
    np.testing.assert_allclose(np.append(fitted.weights_, fitted.bias_), plain)


def test_blended_it_learns_from_the_mean_of_both_guesses() -> None:
    held_in, y = made(4)
    out_of_fold, target, target_y = 1 - (1 - held_in) * 0.9, *made(5, n=60)
    fitted = BlendedLogistic().fit(np.concatenate([held_in, out_of_fold], axis=1), y, target, target_y)
    prepared = [logit(np.clip(s, SUREST, 1 - SUREST)) for s in (held_in, out_of_fold, target)]
    mean = (equalise(prepared[0], y, prepared[2], target_y) + prepared[1]) / 2
    marks = np.concatenate([y, target_y])
    plain = logistic(with_bias(np.concatenate([mean, prepared[2]])), marks, 3.0, 0.5)
    np.testing.assert_allclose(np.append(fitted.weights_, fitted.bias_), plain)
    with pytest.raises(DataError, match="two columns"):
        BlendedLogistic().fit(held_in, y, target, target_y)


def test_repeats_are_learned_each_by_itself() -> None:
    scores, y = (np.stack(part) for part in zip(*(made(seed, n=50) for seed in range(3)), strict=True))
    together = Logistic().fit(scores, y, scores, y).weights_
    for k in range(3):
        np.testing.assert_allclose(together[k], Logistic().fit(scores[k], y[k], scores[k], y[k]).weights_, atol=1e-4)


def test_scores_that_are_no_probabilities_are_refused() -> None:
    scores, y = made(6, n=20)
    with pytest.raises(DataError, match="calibrate"):
        Logistic().fit(scores * 3, y, scores, y)
