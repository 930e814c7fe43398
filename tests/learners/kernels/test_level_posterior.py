"""Posteriors over levels: levels by a loop, held-out items untouched by their own pairs, and what is learned."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.learners.kernels.kernel_stack import GramStack
from mediarank.learners.kernels.level_posterior import LevelPosterior, fit_levels, levels_of
from mediarank.learners.kernels.local_scores import standings
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs

FOLDS = np.arange(48) % 4


def made(seed: int = 0) -> tuple[np.ndarray, OrderedPairs]:
    """Items of four kinds in a plane; the order of the kinds is not that of any direction."""
    rng = np.random.default_rng(seed)
    kind = rng.permutation(48) % 4
    points = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])[kind] + 0.1 * rng.normal(size=(48, 2))
    kernel = np.exp(-4 * ((points[:, None] - points[None]) ** 2).sum(axis=2))
    return kernel, OrderedPairs.from_strengths(kind.astype(float))


def fitted(kernel: np.ndarray, pairs: OrderedPairs, count: int = 4) -> LevelPosterior:
    return fit_levels(GramStack([kernel]), {"more": pairs}, FOLDS, [0.01, 0.1], [0.05, 0.2], count)


def test_levels_hold_items_of_equal_standing() -> None:
    _, pairs = made()
    found = levels_of([pairs], 8)
    standing = standings(pairs)
    members = found.targets + found.shares > 0.5
    assert members.shape == (48, 4), "four kinds have four standings, and equals are never parted"
    np.testing.assert_allclose(found.shares, members.mean(axis=0))
    for level, mean in enumerate(found.standings):
        assert set(standing[members[:, level]].round(9)) == {round(float(mean), 9)}
    assert levels_of([pairs], 2).targets.shape == (48, 2)
    few = levels_of([OrderedPairs(np.array([3]), np.array([5]), 48)], 8)
    assert np.flatnonzero(few.targets.any(axis=1)).tolist() == [3, 5], "the others were never compared"


def test_expected_standing_is_a_mean_over_levels() -> None:
    kernel, pairs = made()
    found = fitted(kernel, pairs)
    raw = kernel @ found.coef
    scores = found.levels.expected(raw, found.temperature)[0]
    for item in range(5):
        weights = np.exp((raw[item] + found.levels.shares) / found.temperature)
        assert scores[item] == pytest.approx(float(weights @ found.levels.standings / weights.sum()))


def test_it_learns_an_order_that_is_not_linear() -> None:
    found = fitted(*made())
    assert found.validation["more"] > 0.9


def test_held_out_items_do_not_teach() -> None:
    kernel, pairs = made()
    held = np.flatnonzero(FOLDS == 1)
    touching = np.isin(pairs.stronger, held) | np.isin(pairs.weaker, held)
    ends = (pairs.weaker, pairs.stronger), (pairs.stronger, pairs.weaker)
    flipped = OrderedPairs(*(np.where(touching, one, other) for one, other in zip(*ends, strict=True)), 48)
    one, other = (
        fit_levels(GramStack([kernel]), {"more": own}, FOLDS, [0.1], [0.2], 4).held_out for own in (pairs, flipped)
    )
    np.testing.assert_array_equal(one[0, held], other[0, held])
    assert not np.allclose(one, other)


def test_one_pair_leaves_nothing_to_hold_out() -> None:
    kernel, _ = made()
    found = fitted(kernel, OrderedPairs(np.array([0]), np.array([1]), 48))
    assert np.isnan(found.validation["more"])
    scores = found.levels.expected(kernel @ found.coef, found.temperature)[0]
    assert scores[0] > scores[1]
