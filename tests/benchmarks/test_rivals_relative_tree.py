"""Relative trees: they give an order, beat a linear ranker on non-linear data, and split where the pairs fit."""

from __future__ import annotations

import numpy as np
import pytest
import rivals_relative_tree as relative_tree
from rivals_relative_tree import RelativeForest, RelativeTree

from mediarank.evaluation.pairs import pair_accuracy
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs


def bend(n: int, seed: int, width: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Low strengths are distinguished by one column, high strengths by the other; a third part says which is which."""
    rng = np.random.default_rng(seed)
    low, high = rng.uniform(0, 1, n), rng.uniform(0, 1, n)
    side = np.arange(n) % 2
    X = np.stack([side * 3.0, low, high] + [0.1 * rng.normal(size=n)] * (width - 2), axis=1)
    return X, side * 2 + np.where(side == 1, high, low)


def test_a_tree_beats_a_line_where_each_half_has_its_own_cue() -> None:
    X, strengths = bend(80, 0)
    Z, truth = bend(60, 1)
    Z[:, 1] = np.where(Z[:, 0] > 0, np.random.default_rng(2).uniform(0, 1, 60), Z[:, 1])
    pairs = OrderedPairs.from_strengths(strengths)
    tree = RelativeTree(depth=1, C=1.0).fit(X, pairs)
    line = RelativeTree(depth=0, C=1.0).fit(X, pairs)
    assert pair_accuracy(truth, tree.predict(Z)) > pair_accuracy(truth, line.predict(Z))
    assert pair_accuracy(truth, tree.predict(Z)) > 0.97


def test_a_stump_is_linear() -> None:
    X, strengths = bend(40, 3)
    tree = RelativeTree(depth=0).fit(X, OrderedPairs.from_strengths(strengths))
    np.testing.assert_array_equal(np.argsort(tree.predict(X)), np.argsort(X @ tree.root_.coef))
    assert tree.root_.low is None


def test_scores_lie_between_0_and_1_and_halves_do_not_mix() -> None:
    X, strengths = bend(80, 4)
    tree = RelativeTree(depth=2, smallest=10).fit(X, OrderedPairs.from_strengths(strengths))
    scores = tree.predict(X)
    assert ((scores >= 0) & (scores <= 1)).all()
    goes_high = X @ tree.root_.coef > tree.root_.cut
    assert scores[goes_high].min() >= 0.5 >= scores[~goes_high].max()


def test_the_best_cut_is_that_of_all_cuts() -> None:
    rng = np.random.default_rng(5)
    scores = np.round(rng.normal(size=30), 1)  # with ties, which no cut may part
    pairs = OrderedPairs.from_strengths(scores + rng.normal(size=30))
    for best_cut in (relative_tree._best_cut, relative_tree._best_cut.py_func):
        cut = best_cut(scores, pairs.stronger, pairs.weaker, 5)

        def net(value: float) -> int:
            above = scores > value
            return int((above[pairs.stronger] & ~above[pairs.weaker]).sum()) - int(
                (~above[pairs.stronger] & above[pairs.weaker]).sum()
            )

        allowed = [v for v in np.unique(scores)[:-1] if 5 <= (scores > v).sum() <= 25]
        assert net(cut) == max(map(net, allowed))
        assert best_cut(scores, pairs.weaker, pairs.stronger, 5) != cut
        assert best_cut(np.zeros(30), pairs.stronger, pairs.weaker, 5) == np.inf  # nothing to cut between


def test_a_forest_is_at_least_as_good_and_repeatable() -> None:
    X, strengths = bend(80, 6, width=6)
    Z, truth = bend(60, 7, width=6)
    pairs = OrderedPairs.from_strengths(strengths)
    forest = RelativeForest(trees=15, columns=0.7, depth=1).fit(X, pairs)
    assert len(forest.trees_) == 15
    assert pair_accuracy(truth, forest.predict(Z)) > 0.85
    again = RelativeForest(trees=15, columns=0.7, depth=1).fit(X, pairs)
    np.testing.assert_array_equal(forest.predict(Z), again.predict(Z))


def test_one_pair_is_enough() -> None:
    X, _ = bend(50, 8)
    lone = OrderedPairs(np.array([9]), np.array([4]), 50)
    for model in (RelativeTree(), RelativeForest(trees=3)):
        scores = model.fit(X, lone).predict(X)
        assert scores[9] > scores[4]
        assert np.isfinite(scores).all()


@pytest.mark.parametrize("depth", [0, 2])
def test_features_that_say_nothing_end_in_a_leaf(depth: int) -> None:
    tree = RelativeTree(depth=depth).fit(np.ones((50, 2)), OrderedPairs.from_strengths(np.arange(50)))
    assert tree.root_.low is None
    assert len(set(tree.predict(np.ones((3, 2))))) == 1
