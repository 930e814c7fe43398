"""Learning one name: against the plain formula, on data with a known answer, and without leaks between folds."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.teaching.many_names import held_out_scores, probabilities_of
from mediarank.teaching.one_name import (
    Space,
    _costs,
    _FoldedRidge,
    apply_weights,
    deal_name_folds,
    learn_name,
    learn_order,
    standardised,
)
from mediarank.types import DataError, FeatureMatrix

NONE = np.array([], dtype=np.intp)


def matrix(values: np.ndarray, first: int = 0) -> FeatureMatrix:
    ids = np.array([f"i{first + k:04d}" for k in range(len(values))])
    return FeatureMatrix(ids, tuple(f"c{k}" for k in range(values.shape[1])), values.astype(np.float32))


def made(items: int = 300, dimensions: int = 12, shown: int = 20, seed: int = 0) -> tuple[Space, np.ndarray]:
    """Items of which some show the name: they are moved along one direction."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(items, dimensions))
    yes = np.sort(rng.choice(items, shown, replace=False))
    values[yes, 0] += 3
    return Space.of({"a": matrix(values)}), yes


def test_weights_are_those_of_the_normal_equations() -> None:
    rng = np.random.default_rng(1)
    x, y, c = rng.normal(size=(40, 5)).astype(np.float32), rng.normal(size=40), rng.random(40)
    folds = np.arange(40) % 4
    ridge = _FoldedRidge(x, y.astype(np.float32), c.astype(np.float32), folds)
    for without in (None, 2):
        kept = np.ones(40, bool) if without is None else folds != without
        xs, ys, cs = x[kept].astype(float), y[kept], c[kept] / c[kept].sum()
        centred = xs - cs @ xs
        gram = (centred * cs[:, None]).T @ centred
        w = np.linalg.solve(gram + 0.01 * np.trace(gram) * np.eye(5), (centred * cs[:, None]).T @ (ys - cs @ ys))
        found = ridge.weights(0.01, without)
        assert found[:-1] == pytest.approx(w, abs=1e-4)
        assert found[-1] == pytest.approx(cs @ ys - (cs @ xs) @ w, abs=1e-4)


def test_a_name_is_learned_from_five_positives() -> None:
    space, yes = made()
    learned = learn_name(space, yes[:5], NONE, seed=0)
    rest = np.setdiff1d(yes, yes[:5])
    order = np.argsort(-learned.scores)
    found = np.isin(order[:20], yes).sum()
    assert found >= 10  # by chance 1 or 2
    assert np.isin(rest, order[:40]).mean() > 0.7
    assert apply_weights(space, learned.weights) == pytest.approx(learned.scores)


def test_more_labels_make_it_better_and_noise_is_seen_as_noise() -> None:
    space, yes = made()
    few, many = (learn_name(space, yes[:n], NONE, 0, truth=yes).ap for n in (3, 20))
    assert many > few
    rng = np.random.default_rng(3)
    noise = np.sort(rng.choice(300, 20, replace=False))
    assert learn_name(space, noise, NONE, 0).ap < 0.2, "cross-validation does not flatter"


def test_named_negatives_push_down() -> None:
    space, yes = made()
    before = learn_name(space, yes[:6], NONE, 0)
    wrong = np.array([k for k in np.argsort(-before.scores) if k not in yes][:10], dtype=np.intp)
    after = learn_name(space, yes[:6], np.sort(wrong), 0)
    places = [np.argsort(np.argsort(-learned.scores))[wrong].mean() for learned in (before, after)]
    assert places[1] > places[0]


def test_near_duplicates_do_not_help_each_other() -> None:
    """Ten pairs of identical noise: split between folds they would look like knowledge."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=(200, 50))
    values[100:110] = values[:10]
    yes = np.concatenate([np.arange(10), np.arange(100, 110)])
    groups = {f"i{100 + k:04d}": f"i{k:04d}" for k in range(10)}
    leaking = learn_name(Space.of({"a": matrix(values)}), yes, NONE, 0).ap
    honest = learn_name(Space.of({"a": matrix(values)}, groups), yes, NONE, 0).ap
    assert honest < 0.5 * leaking


def test_folds_keep_groups_and_spread_positives() -> None:
    groups = np.arange(60) // 2
    yes = np.arange(0, 20, 2)
    folds = deal_name_folds(groups, yes, 1)
    assert all(len(set(folds[groups == g].tolist())) == 1 for g in range(30))
    assert np.bincount(folds[yes], minlength=5).tolist() == [2] * 5


def test_costs_balance() -> None:
    yes, no = np.array([0, 1]), np.array([2, 3, 4])
    costs = _costs(50, yes, no, 0)
    assert [costs[yes].sum(), costs[2:].sum()] == pytest.approx([1, 1])
    assert costs[2] == pytest.approx(3 * costs[10])
    crowded = _costs(50, yes, np.arange(2, 40), 0)
    assert [crowded[2:40].sum(), crowded[40:].sum()] == pytest.approx([0.5, 0.5])
    assert _costs(50, yes, NONE, 0)[2:].sum() == pytest.approx(1)
    everything = _costs(5, yes, no, 0)
    assert everything[no].sum() == pytest.approx(1)


def test_one_positive_is_learned_but_not_measured() -> None:
    space, yes = made()
    assert np.isnan(learn_name(space, yes[:1], NONE, 0).ap)
    with pytest.raises(DataError, match="positive"):
        learn_name(space, NONE, NONE, 0)


def test_items_that_lack_a_type_take_part() -> None:
    rng = np.random.default_rng(7)
    space = Space.of({"a": matrix(rng.normal(size=(20, 3))), "b": matrix(rng.normal(size=(10, 4)), first=15)})
    assert len(space.ids) == 25
    assert not space.parts["b"][:15].any()
    assert learn_name(space, np.array([0, 5, 16]), NONE, 0).scores.shape == (25,)
    with pytest.raises(DataError, match="feature type"):
        Space.of({})


def test_constant_columns_do_no_harm() -> None:
    assert np.isfinite(standardised(np.ones((5, 3), np.float32))).all()


def test_an_order_is_learned_from_pairs() -> None:
    rng = np.random.default_rng(8)
    values = rng.normal(size=(200, 8))
    space = Space.of({"a": matrix(values)})
    pairs = rng.choice(200, (150, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    first = values[pairs[:, 0], 2] > values[pairs[:, 1], 2]
    more, less = np.where(first, pairs[:, 0], pairs[:, 1]), np.where(first, pairs[:, 1], pairs[:, 0])
    learned = learn_order(space, more, less, 0)
    assert np.corrcoef(learned.scores, values[:, 2])[0, 1] > 0.9
    assert learned.ap > 0.8
    with pytest.raises(DataError, match="pair"):
        learn_order(space, NONE, NONE, 0)


def test_all_names_at_once_agree_with_plain_ridge_regression() -> None:
    space, _ = made(60, 6, 10)
    rng = np.random.default_rng(9)
    goals = (rng.random((60, 4)) < 0.3).astype(np.float32)
    rows = np.arange(60)
    held = held_out_scores(space, rows, goals, seed=2, strength=0.05)
    folds = (np.random.default_rng(2).permutation(60) % 5)[np.unique(space.groups, return_inverse=True)[1]]
    x = space.parts["a"].astype(float)
    kept = folds != 3
    mean = x[kept].mean(axis=0)
    gram = (x[kept] - mean).T @ (x[kept] - mean) / kept.sum()
    aim = (x[kept] - mean).T @ (goals[kept] - goals[kept].mean(axis=0)) / kept.sum()
    w = np.linalg.solve(gram + 0.05 * np.trace(gram) * np.eye(6), aim)
    expected = (x[~kept] - mean) @ w + goals[kept].mean(axis=0)
    assert held[~kept] == pytest.approx(expected, abs=1e-4)
    p = probabilities_of(held, goals > 0)
    assert ((p > 0) & (p < 1)).all()
