"""Every fusion that is registered gets these checks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit

from mediarank.evaluation.metrics import average_precision
from mediarank.learners.fusion.fusion_methods import FUSIONS, fusion
from mediarank.learners.fusion.linear_fusion import Fusion
from mediarank.types import ConfigError


def learned(name: str, source: np.ndarray, *rest: np.ndarray) -> Fusion:
    """The fusion of a source whose held-in and out-of-fold scores are the same."""
    kind = fusion(name)
    return kind.make().fit(kind.of(source, source), *rest)


ALL = pytest.mark.parametrize("name", FUSIONS)


def made(seed: int, learned: int = 120, seen: int = 40) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)

    def part(n: int) -> tuple[np.ndarray, np.ndarray]:
        y = np.arange(n) < n // 4
        return 1 / (1 + np.exp(-rng.normal(0, 1, (n, 3)) - np.outer(y, [2.0, 1.0, 0.5]) + 1)), y

    return (*part(learned), *part(seen))


@ALL
def test_it_ranks_what_it_learned_better_than_chance(name: str) -> None:
    parts = made(0)
    test, y = made(1, learned=400)[:2]
    fused = learned(name, *parts).predict(test)
    assert average_precision(y, fused) > 0.6 > y.mean()


@ALL
def test_the_order_of_classifiers_and_of_clips_does_not_matter(name: str) -> None:
    source, source_y, target, target_y = made(2)
    rng = np.random.default_rng(2)
    turned, one, other = [2, 0, 1], rng.permutation(len(source)), rng.permutation(len(target))
    plain = learned(name, source, source_y, target, target_y)
    mixed = learned(name, source[one][:, turned], source_y[one], target[other][:, turned], target_y[other])
    np.testing.assert_allclose(mixed.weights_, plain.weights_[turned], rtol=1e-4, atol=1e-6)


@ALL
def test_a_classifier_that_says_the_same_of_all_changes_nothing_that_ranks(name: str) -> None:
    source, source_y, target, target_y = made(3)
    source[:, 1], target[:, 1] = 0.3, 0.3
    fitted = learned(name, source, source_y, target, target_y)
    test = made(4)[0]
    test[:, 1] = 0.3
    assert np.isfinite(fitted.predict(test)).all()
    order = np.argsort(fitted.predict(test))
    test[:, 1] = 0.7
    np.testing.assert_array_equal(np.argsort(fitted.predict(test)), order)


@ALL
def test_repeats_in_parallel_are_repeats_one_by_one(name: str) -> None:
    parts = [np.stack(part) for part in zip(*(made(seed) for seed in range(3)), strict=True)]
    test = made(9)[0]
    together = learned(name, *parts).predict(test)
    assert together.shape == (3, len(test))
    for k in range(3):
        np.testing.assert_allclose(together[k], learned(name, *made(k)).predict(test), rtol=1e-4, atol=1e-6)


@ALL
def test_an_event_with_two_positives_and_a_target_without_any(name: str) -> None:
    source, _, target, _ = made(5)
    fitted = learned(name, source, np.arange(120) < 2, target, np.zeros(40, bool))
    assert np.isfinite(fitted.predict(target)).all()


def test_every_fusion_is_there_on_both_scales() -> None:
    def without_scale(name: str) -> str:
        made = fusion(name).make()
        settings = {k: v for k, v in vars(made).items() if k != "scale"}
        return f"{type(made).__name__} {settings} {fusion(name).source}"

    scales: dict[str, set[str]] = {}
    for name in FUSIONS:
        scales.setdefault(without_scale(name), set()).add(fusion(name).make().scale)
    assert all(found == {"probability", "log_odds"} for found in scales.values()), scales


def test_on_log_odds_a_fusion_is_that_of_the_log_odds() -> None:
    source, source_y, target, target_y = made(6)
    for name in ("average", "meta_only", "naive", "equal_weights", "recycling", "out_of_fold"):
        plain = fusion(name).make().fit(logit(source), source_y, logit(target), target_y)
        other = fusion(f"{name}_log_odds").make().fit(source, source_y, target, target_y)
        np.testing.assert_allclose(other.predict(target), plain.predict(logit(target)), rtol=1e-9)


def test_names_are_known_and_unknown_ones_refused() -> None:
    assert {kind.source for kind in FUSIONS.values()} == {"held_in", "out_of_fold", "both"}
    with pytest.raises(ConfigError, match="recycling"):
        fusion("cycling")
