"""Kernel ridge regressions as a pool: they rank, leave out whole groups, and are stored and scored like SVMs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_pool import collection

from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import SVMConfig, area_under_roc
from mediarank.base_models.training import TrainedPool, train_pool
from mediarank.types import FeatureMatrix

CONFIG = SVMConfig(learner="ridge", penalties=(2.0, 8.0), widths=(0.25, 1.0))


def trained(matrix: FeatureMatrix, groups: dict[str, str] | None = None) -> TrainedPool:
    return train_pool("colour", matrix, collection()[1], list(matrix.ids[:100]), CONFIG, groups)


def test_it_ranks_items_it_never_saw() -> None:
    matrix, judgments = collection()
    pool = trained(matrix).pool
    rest = matrix.ids[100:].tolist()
    scores = pool.score(matrix, rest).values
    assert [bag for _, bag in pool.models] == [0] * len(pool.concepts)
    for column, (concept, _) in enumerate(pool.models):
        assert area_under_roc(scores[:, column].astype(float), judgments.grades(concept, rest) > 0) > 0.8


def test_decisions_are_the_regression_of_the_labels() -> None:
    matrix, judgments = collection()
    pool = trained(matrix).pool
    base = sorted(matrix.ids[:100].tolist())
    relevant = np.stack([judgments.grades(concept, base) > 0 for concept in pool.concepts], axis=1)
    X = (matrix.rows(base) - pool.mean) * pool.scale
    kernel = np.exp(-pool.gammas[0] * np.square(X[:, None] - X[None]).sum(axis=2))
    fits = [
        kernel @ np.linalg.solve(kernel + np.eye(100) / C, relevant - relevant.mean(axis=0)) + relevant.mean(axis=0)
        for C in CONFIG.penalties
    ]
    found = pool.decisions(matrix.rows(base))
    assert min(np.abs(found - fit).max() for fit in fits) < 1e-3


def test_a_copy_in_the_same_group_does_not_help_a_left_out_item() -> None:
    """With every item twice, left-out scores of pairs held out together are worse than of items held out alone."""
    matrix, _ = collection()
    values = matrix.values.copy()
    values[1:100:2] = values[0:100:2]
    doubled = FeatureMatrix(matrix.ids, matrix.names, values)
    pairs = {item: f"pair{number // 2}" for number, item in enumerate(matrix.ids.tolist())}
    together, alone = trained(doubled, pairs), trained(doubled)
    first, second = (np.stack(found.held_out) for found in (together, alone))
    place = {item: row for row, item in enumerate(together.items)}
    a, b = (np.array([place[item] for item in matrix.ids[start:100:2].tolist()]) for start in (0, 1))
    np.testing.assert_allclose(first[:, a], first[:, b], atol=1e-4)  # equal items without each other score alike
    assert np.abs(second[:, a] - second[:, b]).max() > 1e-2


def test_it_is_kept_and_read_like_any_pool() -> None:
    matrix, _ = collection()
    pool = trained(matrix).pool
    again = SVMPool.from_arrays(*pool.to_arrays())
    rows = matrix.values[100:]
    np.testing.assert_array_equal(again.decisions(rows), pool.decisions(rows))
    concept = pool.concepts[0]
    np.testing.assert_allclose(again.of(concept).decisions(rows)[:, 0], pool.decisions(rows)[:, 0], atol=1e-5)


def test_rankers_learn_from_left_out_scores() -> None:
    matrix, _ = collection()
    found = trained(matrix)
    base = matrix.ids[:100].tolist()
    assert np.abs(found.score(matrix, base).values - found.pool.score(matrix, base).values).max() > 0.01


def test_it_takes_histograms_as_they_are() -> None:
    matrix, judgments = collection()
    config = SVMConfig(learner="ridge", kernel="exponential_chi2", penalties=(8.0,), widths=(1.0,))
    found = train_pool("colour", matrix, judgments, list(matrix.ids[:100]), config)
    base = sorted(matrix.ids[:100].tolist())
    X = matrix.rows(base)
    distances = (np.square(X[:, None] - X[None]) / (X[:, None] + X[None])).sum(axis=2)
    assert found.pool.gammas[0] == pytest.approx(1 / np.median(distances[np.triu_indices(100, 1)]), rel=1e-3)
    kernel = np.exp(-found.pool.gammas[0] * distances)
    relevant = np.stack([judgments.grades(concept, base) > 0 for concept in found.pool.concepts], axis=1)
    priors = relevant.mean(axis=0)
    expected = kernel @ np.linalg.solve(kernel + np.eye(100) / 8.0, relevant - priors) + priors
    np.testing.assert_allclose(found.pool.decisions(X), expected, atol=1e-3)


def test_gamma_is_chosen_at_the_middle_penalty(monkeypatch: pytest.MonkeyPatch) -> None:
    """γ first, then λ at that γ: five fits for a grid of nine, and the best of each line wins."""
    tried: list[float] = []

    def worth(kernel: np.ndarray, targets: np.ndarray, penalty: float, *_: object) -> float:
        tried.append(penalty)
        return float(-abs(penalty - 0.25) - abs(kernel[0, 1] - 0.5))

    monkeypatch.setattr("mediarank.base_models.ridge._worth", worth)
    matrix, judgments = collection()
    config = SVMConfig(learner="ridge", penalties=(1.0, 2.0, 4.0), widths=(0.5, 1.0, 2.0))
    train_pool("colour", matrix, judgments, list(matrix.ids[:100]), config)
    assert tried == [0.5, 0.5, 0.5, 0.25, 1.0]
    train_pool("colour", matrix, judgments, list(matrix.ids[:100]), replace(config, penalties=(1.0,), widths=(1.0,)))
    assert len(tried) == 5, "where nothing is to choose, nothing is tried"


def test_of_many_items_a_sample_is_used_and_the_others_are_scored_as_new() -> None:
    matrix, judgments = collection()
    base = matrix.ids[:100].tolist()
    found = train_pool("colour", matrix, judgments, base, replace(CONFIG, ridge_limit=60))
    assert len(found.pool.vectors) == 60
    used = set(found.rows[0].tolist())
    scores, plain = found.score(matrix, sorted(base)).values, found.pool.score(matrix, sorted(base)).values
    others = [row for row in range(100) if row not in used]
    np.testing.assert_allclose(scores[others], plain[others], atol=1e-5)
    assert np.abs(scores[sorted(used)] - plain[sorted(used)]).max() > 0.01
    rest = matrix.ids[100:].tolist()
    for column, (concept, _) in enumerate(found.pool.models):
        decisions = found.pool.score(matrix, rest).values[:, column].astype(float)
        assert area_under_roc(decisions, judgments.grades(concept, rest) > 0) > 0.75
    # Probabilities are of the collection, whatever share of the sample is relevant.
    probabilities = found.pool.probabilities(found.pool.decisions(matrix.rows(rest)))
    assert probabilities.mean() == pytest.approx(0.14, abs=0.08)


def test_only_kernels_of_distances() -> None:
    with pytest.raises(ValueError, match="rbf, exponential_chi2"):
        SVMConfig(learner="ridge", kernel="linear")
