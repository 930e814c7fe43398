"""Expected strengths: a known answer, ridge against scikit-learn, folds that see no held-out class, and the choice."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from mediarank.learners.kernels import expected_strength
from mediarank.learners.kernels.class_posterior import fit_posterior
from mediarank.learners.kernels.expected_strength import expected_strengths
from mediarank.learners.kernels.kernel_stack import GramStack, MapStack
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs


def made(items: int = 30, noise: float = 0.3) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Two maps of items of three classes, their memberships, and the classes' strengths in one attribute."""
    rng = np.random.default_rng(0)
    memberships = np.eye(3)[np.arange(items) % 3]
    maps = [memberships + noise * rng.normal(size=(items, 3)), rng.normal(size=(items, 4))]
    return maps, memberships, np.array([[1.0], [2.0], [3.0]])


def test_maps_and_grams_give_the_ridge_of_scikit_learn() -> None:
    maps, memberships, _ = made()
    weights = np.array([0.5, 2.0])
    K = 0.5 * maps[0] @ maps[0].T + 2.0 * maps[1] @ maps[1].T
    expected = KernelRidge(alpha=0.3, kernel="precomputed").fit(K, memberships).predict(K)
    for stack in (GramStack([m @ m.T for m in maps]), MapStack(maps)):
        coef = stack.ridge(weights, memberships, 0.3)
        np.testing.assert_allclose(stack.scores(weights, coef), expected, atol=1e-9)
        columns = stack.grams if isinstance(stack, GramStack) else maps
        parts = stack.by_kernel(weights, coef)
        np.testing.assert_allclose(sum(c @ p for c, p in zip(columns, parts, strict=True)), expected, atol=1e-9)


def test_a_kernel_without_weight_is_left_out_of_the_ridge() -> None:
    maps, memberships, _ = made()
    alone, both = MapStack(maps[:1]), MapStack(maps)
    first = alone.scores(np.ones(1), alone.ridge(np.ones(1), memberships, 0.1))
    weights = np.array([1.0, 0.0])
    np.testing.assert_allclose(both.scores(weights, both.ridge(weights, memberships, 0.1)), first, atol=1e-9)


@pytest.mark.parametrize("stack", [GramStack, MapStack])
def test_strengths_are_found_on_held_out_items(stack: type) -> None:
    maps, memberships, strengths = made()
    given = maps if stack is MapStack else [m @ m.T for m in maps]
    truth = (memberships @ strengths)[:, 0]
    pairs = {"open": OrderedPairs.from_strengths(truth)}
    fold_of = np.arange(30) // 10
    found = fit_posterior(stack(given), memberships, strengths, pairs, fold_of, (0.1, 1.0), (0.05, 0.3))
    assert found.validation["open"] > 0.9
    shuffled = np.random.default_rng(1).permutation(30)
    random = {"open": OrderedPairs.from_strengths(truth[shuffled])}
    lost = fit_posterior(stack(given), memberships[shuffled], strengths, random, fold_of, (0.1, 1.0), (0.05, 0.3))
    assert lost.validation["open"] < 0.75, "labels of held-out items are not seen"


def test_the_best_setting_on_held_out_pairs_is_chosen() -> None:
    maps, memberships, strengths = made(noise=0.8)
    pairs = {"open": OrderedPairs.from_strengths((memberships @ strengths)[:, 0])}
    stack, fold_of = GramStack([m @ m.T for m in maps]), np.arange(30) // 10
    both = fit_posterior(stack, memberships, strengths, pairs, fold_of, (0.01, 30.0), (0.02, 5.0))
    each = [
        fit_posterior(stack, memberships, strengths, pairs, fold_of, (penalty,), (temperature,)).validation["open"]
        for penalty in (0.01, 30.0)
        for temperature in (0.02, 5.0)
    ]
    assert both.validation["open"] == max(each)


def test_expected_strengths_stay_between_the_weakest_and_the_strongest_class() -> None:
    scores = np.random.default_rng(0).normal(size=(20, 3))
    expected = expected_strengths(scores, np.array([[1.0], [4.0], [2.0]]), 0.2)
    assert ((expected >= 1) & (expected <= 4)).all()


def test_examples() -> None:
    tried = doctest.testmod(expected_strength)
    assert tried.failed == 0
    assert tried.attempted > 0
