"""Local order: the oracle is a loop over comparisons; held-out items are scored by the other folds alone."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.learners.kernels.local_order import fit_local
from mediarank.learners.kernels.local_scores import local_scores, standings
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs


def made(items: int = 40, seed: int = 0) -> tuple[np.ndarray, OrderedPairs, np.ndarray]:
    """Items on a circle that is ordered by its height, which no linear function of the angle gives."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, items)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    kernel = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=2))
    first, second = rng.integers(items, size=(2, 300))
    higher = points[first, 1] > points[second, 1] + 0.1
    return kernel, OrderedPairs(first[higher], second[higher], items), np.arange(items) % 4


def test_standings_count_comparisons() -> None:
    _, pairs, _ = made()
    for item, found in enumerate(standings(pairs)):
        won, lost = (pairs.stronger == item).sum(), (pairs.weaker == item).sum()
        assert found == pytest.approx((won - lost) / (won + lost)) if won + lost else np.isnan(found)


def test_scores_are_means_of_standings() -> None:
    kernel, pairs, _ = made()
    there = standings(pairs)
    there[3] = np.nan
    found = local_scores(kernel[:5], there, 0.1)
    for row, score in zip(kernel[:5], found, strict=True):
        weights = {n: np.exp(row[n] / 0.1) for n in range(len(row)) if n != 3}
        assert score == pytest.approx(sum(w * there[n] for n, w in weights.items()) / sum(weights.values()))
    np.testing.assert_allclose(local_scores(kernel[:5], there, 1e6), np.nanmean(there), atol=1e-4)


def test_held_out_items_are_placed_by_the_others() -> None:
    kernel, pairs, fold_of = made()
    found = fit_local(kernel, {"high": pairs}, fold_of, [0.01, 0.1, 1e6])
    assert found.validation["high"] > 0.9
    assert found.temperatures[0] < 1e6, "with equal weights everything ties"
    held = np.flatnonzero(fold_of == 1)
    across = np.isin(pairs.stronger, held) | np.isin(pairs.weaker, held)
    flipped = OrderedPairs(
        np.where(across, pairs.weaker, pairs.stronger), np.where(across, pairs.stronger, pairs.weaker), pairs.items
    )
    again = fit_local(kernel, {"high": flipped}, fold_of, found.temperatures.tolist())
    np.testing.assert_array_equal(again.held_out[0, held], found.held_out[0, held])


def test_one_pair_leaves_nothing_to_hold_out() -> None:
    kernel, _, fold_of = made()
    found = fit_local(kernel, {"high": OrderedPairs(np.array([0]), np.array([1]), 40)}, fold_of, [0.1, 0.2])
    assert np.isnan(found.validation["high"])
    assert found.temperatures.tolist() == [0.1]
