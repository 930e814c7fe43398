"""Bands and p-values over clips: how sure a difference is that was measured on a few hundred clips.

Repeats of an experiment on one fixed set of test clips say nothing about other clips. So clips are drawn with
replacement (groups as a whole, and the same clips for every method, event and split), and every ranking is measured
again with the drawn clips. For a p-value the two methods' ranks of a group of clips are exchanged at random, in all
events and splits at once: if the methods were interchangeable, that would change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

RESAMPLES, EXCHANGES = 1000, 1000


@dataclass(frozen=True)
class SplitScores:
    """The test clips of one split of a collection.

    groups : (clips,) names of groups; marks : (clips, events); scores : method -> (clips, events)
    """

    groups: np.ndarray
    marks: np.ndarray
    scores: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Band:
    """A mean and its 95 % interval over clips."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def band(values: np.ndarray) -> Band:
    """values : the measured one, then those of resampled clips"""
    return Band(float(values[0]), *(float(q) for q in np.nanquantile(values[1:], [0.025, 0.975])))


def group_weights(splits: Sequence[SplitScores], resamples: int, seed: int = 0) -> list[np.ndarray]:
    """For each split (1 + resamples, clips): how often each test clip is drawn; first once each."""
    names, numbers = _numbered(splits)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=resamples)
    counts = np.concatenate([np.ones((1, len(names)), np.int64), drawn]).astype(np.float64)
    return [counts[:, of_split] for of_split in numbers]


def mean_precision(splits: Sequence[SplitScores], method: str, weights: Sequence[np.ndarray]) -> np.ndarray:
    """(1 + resamples,) average precision, mean over events and splits; events without a drawn positive are left out."""
    return np.nanmean(
        [
            measured(split.scores[method][:, event], split.marks[:, event], drawn)[0]
            for split, drawn in zip(splits, weights, strict=True)
            for event in np.flatnonzero(split.marks.any(axis=0))
        ],
        axis=0,
    )


def measured(scores: np.ndarray, marks: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Average precision and best F1 of one ranking, with every row of weights; equal scores in random order."""
    order = _order(scores)
    return _weighted(marks[order], np.ascontiguousarray(weights[:, order]))


def exchange_test(splits: Sequence[SplitScores], first: str, second: str, seed: int = 0) -> tuple[float, np.ndarray]:
    """The observed lead of the first, and leads after random exchanges, (EXCHANGES,)."""
    names, numbers = _numbered(splits)
    turned = np.random.default_rng(seed).random((EXCHANGES, len(names))) < 0.5
    observed, leads = [], []
    for split, of_split in zip(splits, numbers, strict=True):
        swap = turned[:, of_split]
        for event in np.flatnonzero(split.marks.any(axis=0)):
            one, other = (_ranks(split.scores[method][:, event]) for method in (first, second))
            marks = split.marks[:, event]
            observed.append(_precision(one[None], marks)[0] - _precision(other[None], marks)[0])
            mixed = _precision(np.where(swap, other, one), marks), _precision(np.where(swap, one, other), marks)
            leads.append(mixed[0] - mixed[1])
    return float(np.mean(observed)), np.mean(leads, axis=0)


def p_value(tests: Sequence[tuple[float, np.ndarray]]) -> float:
    """Two-sided, of the mean lead over collections; the observed pattern counts as one, so that p is never 0."""
    observed = np.mean([lead for lead, _ in tests])
    extreme = np.abs(np.mean([leads for _, leads in tests], axis=0)) >= abs(observed) - 1e-12
    return float((1 + extreme.sum()) / (1 + len(extreme)))


def significant_lead(tests: Sequence[tuple[float, np.ndarray]]) -> float:
    """The smallest mean lead over collections that would have p < .05: what these clips can show."""
    return float(np.quantile(np.abs(np.mean([leads for _, leads in tests], axis=0)), 0.95))


def _numbered(splits: Sequence[SplitScores]) -> tuple[np.ndarray, list[np.ndarray]]:
    names = np.unique(np.concatenate([split.groups for split in splits]))
    return names, [np.searchsorted(names, split.groups) for split in splits]


def _order(scores: np.ndarray) -> np.ndarray:
    mixed = np.random.default_rng(len(scores)).permutation(len(scores))
    return mixed[np.argsort(-scores[mixed], kind="stable")]


def _ranks(scores: np.ndarray) -> np.ndarray:
    """(clips,) places from the last, without ties."""
    ranks = np.empty(len(scores))
    ranks[_order(scores)] = np.arange(len(scores), 0, -1)
    return ranks


def _precision(scores: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Average precision of rows of scores; clips that have the same rank after an exchange are ranked by chance."""
    mixed = np.random.default_rng(len(marks)).permutation(len(marks))
    shown = marks[mixed][np.argsort(-scores[:, mixed], axis=1, kind="stable")]
    found = np.cumsum(shown, axis=1) / np.arange(1, shown.shape[1] + 1)
    return (found * shown).sum(axis=1) / marks.sum()


@njit(cache=True)
def _weighted(marks: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows, clips = weights.shape
    precision, best = np.full(rows, np.nan), np.full(rows, np.nan)
    for row in range(rows):
        positives = 0.0
        for clip in range(clips):
            if marks[clip]:
                positives += weights[row, clip]
        if positives == 0.0:
            continue
        found, listed, total, highest = 0.0, 0.0, 0.0, 0.0
        for clip in range(clips):
            weight = weights[row, clip]
            listed += weight
            if marks[clip] and weight > 0.0:
                found += weight
                total += weight * found / listed
                highest = max(highest, 2.0 * found / (listed + positives))
        precision[row], best[row] = total / positives, highest
    return precision, best
