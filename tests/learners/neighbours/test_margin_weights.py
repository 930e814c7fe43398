"""Weights by a large margin: triples by the definition, the loss by a grid, and which distance tells."""

from __future__ import annotations

import numpy as np

from mediarank.learners.neighbours import margin_weights
from mediarank.learners.neighbours.keywords import Keywords
from mediarank.learners.neighbours.margin_weights import IMPOSTORS, draw_triples, fit_margin


def test_triples_follow_the_definition() -> None:
    rng = np.random.default_rng(0)
    rows = (rng.random((30, 6)) < 0.3).astype(np.float32)
    keywords = Keywords(tuple("abcdef"), rows)
    similarity = rng.random((30, 30)).astype(np.float32)
    np.fill_diagonal(similarity, -np.inf)
    found = draw_triples(similarity, np.arange(30), keywords)
    for query in range(30):
        nearest = [max(np.flatnonzero(rows[:, w]), key=lambda i: similarity[query, i]) for w in range(6)]
        targets = {int(nearest[w]) for w in range(6) if rows[query, w]}
        others = {int(nearest[w]) for w in range(6) if not rows[query, w]}
        impostors = {i for i in others if not (rows[i] * rows[query]).any()}
        own = found.query == query
        expected = {(t, i) for t in targets for i in impostors}
        assert set(zip(found.target[own].tolist(), found.impostor[own].tolist(), strict=True)) == expected
    assert len(found.query) <= 30 * 6 * IMPOSTORS


def test_the_loss_is_minimal() -> None:
    rng = np.random.default_rng(1)
    targets, impostors = rng.random((50, 2)), rng.random((50, 2)) + np.array([0.5, 0.0])
    start = np.array([0.5, 0.5])
    found = fit_margin(targets, impostors, start, 0.1)

    def loss(weights: np.ndarray) -> float:
        slack = np.maximum(1 + (targets - impostors) @ weights, 0)
        return float((slack**2).mean() + 0.1 * ((weights - start) ** 2).sum())

    grid = [np.array([a, b]) for a in np.linspace(0, 3, 61) for b in np.linspace(0, 3, 61)]
    assert loss(found) <= min(map(loss, grid)) + 1e-6
    assert found[0] > found[1] >= 0


def test_without_triples_nothing_changes() -> None:
    start = np.array([0.2, 0.8])
    np.testing.assert_array_equal(fit_margin(np.zeros((0, 2)), np.zeros((0, 2)), start), start)


def test_the_kernel_is_its_python() -> None:
    found = margin_weights._nearest_by_word.py_func(
        np.float32([0.1, 0.9, 0.9]), np.array([0, 2, 3, 3]), np.array([0, 1, 2])
    )
    assert found.tolist() == [1, 2, -1]
