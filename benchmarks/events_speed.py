"""How fast the protocol of paper 002 is, against a plain loop, and the intersection kernel, against broadcasting."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.metrics import average_precision_score, precision_recall_curve

from mediarank.similarity.kernels import intersection
from mediarank.systems.events.config import RATIOS
from mediarank.systems.events.protocol import Draws, EventScores, draw, run_protocol

METHODS = ("average", "meta_only", "naive", "recycling", "out_of_fold")
STRENGTH, ITERATIONS = 0.01, 10


def protocol_speed(events: Mapping[str, EventScores], repeats: int, loop_repeats: int) -> dict[str, float]:
    """Seconds of the whole protocol, and how many times as long the loop takes for the same work.

    The loop runs `loop_repeats` of the repeats, since all would take minutes, and must come to the same precision.
    """
    run_protocol(dict(list(events.items())[:1]), methods=METHODS, repeats=2)  # compiles the kernels
    started = time.perf_counter()
    run_protocol(events, methods=METHODS, repeats=repeats)
    seconds = time.perf_counter() - started
    started = time.perf_counter()
    found = _loop(events, loop_repeats)
    loop = (time.perf_counter() - started) * repeats / loop_repeats
    same = run_protocol(events, methods=METHODS, repeats=loop_repeats)
    for method in METHODS:
        np.testing.assert_allclose(np.mean(found[method]), same.of("ap", method).mean(), atol=2e-3)
    return {"protocol_s": seconds, "loop_s": loop, "ratio_vs_loop": loop / seconds}


def kernel_speed(rows: int = 1000, words: int = 300, repeats: int = 3) -> dict[str, float]:
    """The intersection kernel of bags of words against the quicker of two ways to broadcast it."""
    X = np.random.default_rng(0).random((rows, words), dtype=np.float32)

    def a_row_at_a_time() -> np.ndarray:
        return np.stack([np.minimum(x, X).sum(axis=1) for x in X])

    def in_blocks() -> np.ndarray:
        return np.concatenate([np.minimum(X[k : k + 16, None], X).sum(axis=2) for k in range(0, rows, 16)])

    np.testing.assert_allclose(intersection(X), a_row_at_a_time(), rtol=1e-4)
    broadcast = min(_best(a_row_at_a_time, repeats), _best(in_blocks, repeats))
    ours = _best(lambda: intersection(X), 30 * repeats)
    return {"hik_ms": 1e3 * ours, "hik_broadcast_ms": 1e3 * broadcast, "hik_ratio": broadcast / ours}


def _best(function: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


def _loop(events: Mapping[str, EventScores], repeats: int) -> dict[str, list[float]]:
    """What one would write first: a model at a time, scikit-learn's ridge and metrics."""
    found: dict[str, list[float]] = {method: [] for method in METHODS}
    for e, event in enumerate(events.values()):
        for r, ratio in enumerate(RATIOS):
            draws = draw(event, ratio, repeats, np.random.default_rng([7, e, r]))
            for repeat in range(repeats):
                for method, fused in _one_repeat(event, draws, repeat).items():
                    found[method].append(average_precision_score(event.test_y, fused))
                    precision, recall, _ = precision_recall_curve(event.test_y, fused)
                    np.max(2 * precision * recall / np.maximum(precision + recall, 1e-12))
    return found


def _one_repeat(event: EventScores, draws: Draws, repeat: int) -> dict[str, np.ndarray]:
    rows, seen = draws.source[repeat], draws.target[repeat]
    y, target, target_y = event.base_y[rows], event.unseen[seen], event.unseen_y[seen]
    held_in, out_of_fold = event.held_in[rows], event.out_of_fold[rows]
    both_y = np.concatenate([y, target_y])
    test = _design(event.test)

    def ridge(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        costs = np.full(len(labels), 1 / len(labels))
        return test @ _ridge(_design(scores), labels, costs)

    return {
        "average": event.test.mean(axis=1),
        "meta_only": ridge(target, target_y),
        "naive": ridge(np.concatenate([held_in, target]), both_y),
        "recycling": test @ _recycle(held_in, y, target, target_y),
        "out_of_fold": ridge(np.concatenate([out_of_fold, target]), both_y),
    }


def _recycle(source: np.ndarray, source_y: np.ndarray, target: np.ndarray, target_y: np.ndarray) -> np.ndarray:
    equal = source.copy()
    for shown in (True, False):
        learned, seen = source_y == shown, target_y == shown
        for column in range(source.shape[1]):
            _, place, counts = np.unique(source[learned, column], return_inverse=True, return_counts=True)
            middles = (np.cumsum(counts) - counts / 2) / counts.sum()
            goal = np.sort(target[seen, column])
            equal[learned, column] = np.interp(middles[place], (np.arange(len(goal)) + 0.5) / len(goal), goal)
    x, y = _design(np.concatenate([equal, target])), np.concatenate([source_y, target_y]).astype(float)
    n, costs, total = len(source), np.ones(len(y)), np.zeros(x.shape[1])
    beta = 1 / (1 + np.sqrt(2 * np.log(n) / ITERATIONS))
    for _ in range(ITERATIONS):
        costs = costs / costs.sum()
        w = _ridge(x, y, costs)
        residue = np.abs(np.clip(x @ w, 0, 1) - y)
        error = np.clip((costs[n:] * residue[n:]).sum() / costs[n:].sum(), 1e-6, 0.499)
        total += np.log((1 - error) / error) * w
        costs = costs * beta ** np.where(np.arange(len(y)) < n, residue, -residue)
    return total


def _ridge(x: np.ndarray, y: np.ndarray, costs: np.ndarray) -> np.ndarray:
    return Ridge(alpha=STRENGTH, fit_intercept=False).fit(x, y, sample_weight=costs).coef_


def _design(scores: np.ndarray) -> np.ndarray:
    return np.column_stack([scores, np.ones(len(scores))])
