"""LocalPair: each answer equals a RankSVM on the nearest pairs, found and solved the obvious way."""

from __future__ import annotations

import numpy as np
import pytest
import rivals_local_pair as local_pair
from rivals_kernel_ranksvm import KernelRankSVM
from rivals_local_pair import LocalPair

from mediarank.learners.pairwise.ordered_pairs import OrderedPairs, equal_pairs
from mediarank.types import DataError


def bent(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Strength is |x|, which no linear function orders but every neighbourhood does."""
    rng = np.random.default_rng(seed)
    X = np.stack([rng.uniform(-1, 1, n), 0.1 * rng.normal(size=n)], axis=1)
    return X, np.abs(X[:, 0])


def obvious(X: np.ndarray, pairs: OrderedPairs, a: np.ndarray, b: np.ndarray, count: int, C: float) -> float:
    def gap(x: np.ndarray, i: int) -> float:
        return float(np.linalg.norm(x - X[i]))

    likeness = [
        min(gap(a, i) * gap(b, j), gap(a, j) * gap(b, i)) for i, j in zip(pairs.stronger, pairs.weaker, strict=True)
    ]
    chosen = np.argsort(likeness, kind="stable")[:count]
    near = OrderedPairs(pairs.stronger[chosen], pairs.weaker[chosen], len(X))
    beta = KernelRankSVM(C=C, tol=1e-2, max_sweeps=2000).fit(X @ X.T, near).dual_coef_
    return float((a - b) @ (X.T @ beta))


def test_answers_equal_the_obvious_way() -> None:
    X, strengths = bent(30, 0)
    Z, _ = bent(10, 1)
    pairs = OrderedPairs.from_strengths(np.round(strengths, 1))
    model = LocalPair(neighbours=12, C=0.5, max_sweeps=2000).fit(X, pairs)
    first, second = np.array([0, 2, 4, 6, 8]), np.array([1, 3, 5, 7, 9])
    margins = model.margins(Z, first, second)
    expected = [obvious(X, pairs, Z[a], Z[b], 12, 0.5) for a, b in zip(first, second, strict=True)]
    np.testing.assert_allclose(margins, expected, rtol=0.1, atol=0.02)


def test_local_models_order_what_no_linear_function_can() -> None:
    X, strengths = bent(60, 2)
    Z, truth = bent(40, 3)
    pairs = OrderedPairs.from_strengths(strengths)
    asked = OrderedPairs.from_strengths(truth)
    same_side = Z[asked.stronger, 0] * Z[asked.weaker, 0] > 0
    first, second = asked.stronger[same_side], asked.weaker[same_side]
    local = (LocalPair(neighbours=30).fit(X, pairs).margins(Z, first, second) > 0).mean()
    scores = KernelRankSVM().fit(X @ X.T, pairs).predict(Z @ X.T)
    assert local > 0.9 > (scores[first] > scores[second]).mean()


def test_the_learned_metric_finds_better_neighbours() -> None:
    """A loud column that says nothing hides the neighbours from Euclid, not from ITML."""
    rng = np.random.default_rng(4)
    X, strengths = bent(60, 5)
    Z, truth = bent(40, 6)
    X, Z = (np.concatenate([rows, 4 * rng.normal(size=(len(rows), 1))], axis=1) for rows in (X, Z))
    levels = np.round(strengths * 4)
    pairs, asked = OrderedPairs.from_strengths(levels), OrderedPairs.from_strengths(np.round(truth * 4))
    shares = [
        (LocalPair(neighbours=30, metric=metric).fit(X, pairs, equal_pairs(levels)).margins(
            Z, asked.stronger, asked.weaker) > 0).mean()
        for metric in ("euclidean", "itml")
    ]  # fmt: skip
    assert shares[1] > shares[0]


def test_reversing_the_question_reverses_the_answer() -> None:
    X, strengths = bent(30, 7)
    model = LocalPair(neighbours=10).fit(X, OrderedPairs.from_strengths(strengths))
    a, b = np.arange(10), np.arange(10, 20)
    np.testing.assert_allclose(model.margins(X, a, b), -model.margins(X, b, a), atol=1e-9)
    np.testing.assert_allclose(model.margins(X, a, a), 0, atol=1e-12)


def test_several_costs_at_once_equal_one_after_the_other() -> None:
    X, strengths = bent(30, 7)
    model = LocalPair(neighbours=10).fit(X, OrderedPairs.from_strengths(strengths))
    a, b = np.arange(10), np.arange(10, 20)
    both = model.margins_by_cost(X, a, b, [0.01, 1.0])
    for column, C in enumerate((0.01, 1.0)):
        np.testing.assert_array_equal(both[:, column], model.set_params(C=C).margins(X, a, b))


def test_bytes_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    X, strengths = bent(25, 8)
    model = LocalPair(neighbours=10).fit(X, OrderedPairs.from_strengths(strengths))
    first, second = np.arange(600) % 25, (np.arange(600) + 7) % 25
    results = []
    for jobs in ("1", "3"):
        monkeypatch.setenv("MEDIARANK_JOBS", jobs)
        results.append(model.margins(X, first, second).tobytes())
    assert results[0] == results[1]


def test_one_pair_and_none() -> None:
    X, strengths = bent(10, 9)
    lone = OrderedPairs(np.array([3]), np.array([1]), 10)
    assert LocalPair(metric="itml").fit(X, lone).margins(X, np.array([3]), np.array([1]))[0] > 0
    with pytest.raises(DataError, match="no ordered pair"):
        LocalPair().fit(X, OrderedPairs.from_strengths(strengths * 0))


def test_the_numba_kernels_as_plain_python() -> None:
    values = np.array([3.0, 1.0, 2.0, 1.0, 1.0])
    for smallest in (local_pair._smallest, local_pair._smallest.py_func):
        assert smallest(values, 2).tolist() == [1, 3]
        assert smallest(values, 5).tolist() == [0, 1, 2, 3, 4]
    Q = np.array([[2.0, 1.0], [1.0, 2.0]])
    for solve in (local_pair._small_dual, local_pair._small_dual.py_func):
        np.testing.assert_allclose(solve(Q, 10.0, 1000, 1e-9), [1 / 3, 1 / 3])
        np.testing.assert_allclose(solve(np.zeros((2, 2)), 10.0, 5, 1e-9), [10.0, 10.0])
    X, strengths = bent(8, 10)
    pairs = OrderedPairs.from_strengths(strengths)
    gaps = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    results = []
    for answer in (local_pair._answer, local_pair._answer.py_func):
        margins = np.empty((2, 1))
        gram, costs = X @ X.T, np.array([1.0])
        answer(
            np.array([0, 1]), np.array([2, 3]), gaps, gram, gram, pairs.stronger, pairs.weaker, 4, costs, 20, margins
        )  # fmt: skip
        results.append(margins)
    np.testing.assert_allclose(results[0], results[1], atol=1e-10)
