"""Folds by image: stratified, groups whole, and held-out images are not used for learning."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.learners.kernels.kernel_stack import GramStack
from mediarank.learners.kernels.rankmkl import RankMKL
from mediarank.learners.pairwise.image_folds import deal_folds
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs
from mediarank.learners.pairwise.pair_validation import held_out_shares
from mediarank.types import DataError


def test_strata_are_spread_evenly() -> None:
    strata = ["a"] * 30 + ["b"] * 30 + ["c"] * 20
    fold_of = deal_folds(strata, 10, seed=3)
    counts = {s: np.bincount(fold_of[[t == s for t in strata]], minlength=10) for s in "abc"}
    assert (counts["a"] == 3).all()
    assert (counts["b"] == 3).all()
    assert (counts["c"] == 2).all()
    assert (deal_folds(strata, 10, seed=3) == fold_of).all()
    assert (deal_folds(strata, 10, seed=4) != fold_of).any()


def test_groups_stay_together() -> None:
    groups = [0, 0, 1, 2, 2, 2, 3, 4]
    fold_of = deal_folds(["x"] * 8, 3, seed=0, groups=groups)
    for group in set(groups):
        assert len({fold for fold, of in zip(fold_of, groups, strict=True) if of == group}) == 1
    assert len(set(fold_of.tolist())) == 3


def test_one_fold_is_none() -> None:
    with pytest.raises(DataError, match="2 folds"):
        deal_folds(["x"] * 5, 1, seed=0)


def line(n: int = 40) -> tuple[GramStack, OrderedPairs, np.ndarray]:
    x = np.linspace(-1, 1, n)[:, None]
    return GramStack((x @ x.T)[None]), OrderedPairs.from_strengths(x[:, 0]), deal_folds([0] * n, 4, seed=1)


def test_a_line_is_learned_and_a_shuffled_one_is_not() -> None:
    kernels, pairs, fold_of = line()
    learner = RankMKL(regularizer="fixed", loss="l2")
    assert held_out_shares(kernels, [pairs], fold_of, learner, [{"C": 0.1}, {"C": 1.0}])[0] == pytest.approx([1.0, 1.0])
    shuffled = OrderedPairs.from_strengths(np.random.default_rng(0).permutation(40))
    assert held_out_shares(kernels, [shuffled], fold_of, learner, [{"C": 0.1}])[0][0] < 0.8


def test_only_whole_held_out_pairs_are_asked_and_only_whole_learned_ones_are_seen() -> None:
    """Pairs across a fold's border would make the answer wrong; they are neither learned nor asked."""
    kernels, pairs, fold_of = line()
    across = fold_of[pairs.stronger] != fold_of[pairs.weaker]
    inside = OrderedPairs(pairs.stronger[~across], pairs.weaker[~across], 40)
    # With two folds, no learned pair crosses from one fold into another: a wrong one there can't be noticed.
    two = deal_folds([0] * 40, 2, seed=1)
    across = two[pairs.stronger] != two[pairs.weaker]
    spoiled = OrderedPairs(
        np.where(across, pairs.weaker, pairs.stronger), np.where(across, pairs.stronger, pairs.weaker), 40
    )
    learner = RankMKL(regularizer="fixed", loss="l2")
    assert held_out_shares(kernels, [spoiled], two, learner, [{"C": 1.0}])[0][0] == pytest.approx(1.0)
    assert held_out_shares(kernels, [inside], fold_of, learner, [{"C": 1.0}])[0][0] == pytest.approx(1.0)


def test_settings_and_threads_do_not_disturb_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 5))
    kernels, pairs = GramStack((X @ X.T)[None]), OrderedPairs.from_strengths(np.round(X[:, 0] + rng.normal(size=60)))
    fold_of = deal_folds([0] * 60, 5, seed=0)
    learner = RankMKL(regularizer="fixed", loss="l2", inner_tol=1e-6)
    settings = [{"C": 0.001}, {"C": 1.0}]
    together = held_out_shares(kernels, [pairs], fold_of, learner, settings)[0]
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    np.testing.assert_array_equal(held_out_shares(kernels, [pairs], fold_of, learner, settings)[0], together)
    assert held_out_shares(kernels, [pairs], fold_of, learner, settings[1:])[0][0] == pytest.approx(
        together[1], abs=0.01
    )


def test_nothing_to_ask_is_nan() -> None:
    kernels, _, fold_of = line()
    lone = OrderedPairs(np.array([1]), np.array([0]), 40)
    assert np.isnan(held_out_shares(kernels, [lone], fold_of, RankMKL(regularizer="fixed"), [{"C": 1.0}])[0]).all()
