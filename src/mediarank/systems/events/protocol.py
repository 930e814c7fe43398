"""The experiment of paper 002, section 3, on any base scores: fusions with fewer and fewer unseen labelled clips.

In each of 100 repeats the base models' training clips are drawn with replacement, and n_T = r·n_S of the unseen clips
without; every fusion learns from the same draws and ranks the same test clips. Repeats are learned together in
blocks that fit the processor's cache, and blocks are shared among threads; events are shared among the workers of a
cluster, if there is one. Then the figures: 2 (held-in and unseen scores), 4 (AP and best F1 by r) and 5 (by
iteration).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from mediarank.evaluation.metrics import measure
from mediarank.evaluation.ranks import Relevance, rank_relevant
from mediarank.fanout import fan_out, on_threads
from mediarank.learners.fusion.fusion_methods import FUSIONS, fusion
from mediarank.learners.fusion.linear_fusion import Fusion
from mediarank.learners.fusion.recycling import Recycling
from mediarank.systems.events.config import RATIOS
from mediarank.types import DataError, Doubles, FeatureMatrix

Integers = npt.NDArray[np.intp]
Marks = npt.NDArray[np.bool_]

METRICS: Final = ("ap", "f1")
BLOCK: Final = 10
"""Repeats learned together."""
FEWEST: Final = 2
"""Least number of positives in a drawn subset of unseen clips, if there are enough."""
SURE: Final = 1.96
"""Half width of a band around a mean, in standard errors."""


@dataclass(frozen=True)
class EventScores:
    """Scores (clips, classifiers) of one event, by the same base models, and the labels of the clips.

    held_in, out_of_fold : of the clips that base models were trained on, by themselves and by cross-validation
    unseen, test : of the clips that fusions may learn from, and of the test clips
    """

    held_in: Doubles
    out_of_fold: Doubles
    base_y: Marks
    unseen: Doubles
    unseen_y: Marks
    test: Doubles
    test_y: Marks


@dataclass(frozen=True)
class Draws:
    """Positions of the source's (repeats, n_S) and the target's (repeats, n_T) examples."""

    source: Integers
    target: Integers

    def part(self, rows: slice) -> Draws:
        return Draws(self.source[rows], self.target[rows])


def draw(event: EventScores, ratio: float, repeats: int, rng: np.random.Generator) -> Draws:
    """The base clips with replacement; of the unseen clips a subset with the same share of positives.

    A subset has at least two positives, or all if there are fewer.
    """
    base, unseen = len(event.base_y), len(event.unseen_y)
    wanted = min(unseen, max(FEWEST + 1, round(ratio * base)))
    positives, negatives = np.flatnonzero(event.unseen_y), np.flatnonzero(~event.unseen_y)
    shown = min(len(positives), max(FEWEST, round(wanted * len(positives) / unseen)))
    others = min(len(negatives), wanted - shown)
    source = rng.integers(base, size=(repeats, base))
    target = np.concatenate([_subsets(positives, shown, repeats, rng), _subsets(negatives, others, repeats, rng)], 1)
    return Draws(source, target)


def learn(method: str, event: EventScores, draws: Draws) -> Fusion:
    """The fusion of every repeat."""
    kind = fusion(method)
    return kind.make().fit(
        kind.of(event.held_in, event.out_of_fold)[draws.source],
        event.base_y[draws.source],
        event.unseen[draws.target],
        event.unseen_y[draws.target],
    )


@dataclass(frozen=True)
class ProtocolResult:
    """values : (metrics, methods, events, ratios, repeats)"""

    methods: tuple[str, ...]
    events: tuple[str, ...]
    ratios: tuple[float, ...]
    values: Doubles

    def of(self, metric: str, method: str) -> Doubles:
        """(events, ratios, repeats)"""
        return np.asarray(self.values[METRICS.index(metric), self.methods.index(method)])

    def means(self, metric: str) -> dict[str, list[float]]:
        """method -> mean over events and repeats at each ratio."""
        return {method: self.of(metric, method).mean(axis=(0, 2)).tolist() for method in self.methods}

    def figure4(self) -> pd.DataFrame:
        """event, ratio, method, metric, mean, low, high: means over the repeats with their 95 % bands."""
        rows = []
        for m, metric in enumerate(METRICS):
            for k, method in enumerate(self.methods):
                for e, event in enumerate(self.events):
                    for r, ratio in enumerate(self.ratios):
                        rows.append((event, ratio, method, metric, *band(self.values[m, k, e, r])))
        return pd.DataFrame(rows, columns=["event", "ratio", "method", "metric", "mean", "low", "high"])

    def compare(self, metric: str, first: str, second: str) -> pd.DataFrame:
        """event, ratio, difference, low, high: the lead of the first over the second, paired by repeat."""
        gaps = self.of(metric, first) - self.of(metric, second)
        rows = [
            (event, ratio, *band(gaps[e, r]))
            for e, event in enumerate(self.events)
            for r, ratio in enumerate(self.ratios)
        ]
        return pd.DataFrame(rows, columns=["event", "ratio", "difference", "low", "high"])


def run_protocol(
    events: Mapping[str, EventScores],
    *,
    methods: Sequence[str] = tuple(FUSIONS),
    ratios: Sequence[float] = RATIOS,
    repeats: int = 100,
    seed: int = 7,
) -> ProtocolResult:
    """Section 3: every method on every event at every ratio, `repeats` times."""
    if not events:
        raise DataError("There is no event with base scores to measure.")
    one = partial(_one_event, methods=methods, ratios=ratios, repeats=repeats, seed=seed)
    values = fan_out(one, list(enumerate(events.values())), "repeats of events", batch=1)
    return ProtocolResult(tuple(methods), tuple(events), tuple(ratios), np.stack(values, axis=2))


def _one_event(
    numbered: tuple[int, EventScores], methods: Sequence[str], ratios: Sequence[float], repeats: int, seed: int
) -> Doubles:
    """(metrics, methods, ratios, repeats)"""
    number, event = numbered
    draws = [draw(event, ratio, repeats, np.random.default_rng([seed, number, r])) for r, ratio in enumerate(ratios)]
    fused = np.empty((len(methods), len(ratios), repeats, len(event.test_y)), np.float32)

    def fuse(task: tuple[int, int, int]) -> None:
        m, r, start = task
        rows = slice(start, start + BLOCK)
        fused[m, r, rows] = learn(methods[m], event, draws[r].part(rows)).predict(event.test)

    on_threads(fuse, [(m, r, s) for m in range(len(methods)) for r in range(len(ratios)) for s in _starts(repeats)])
    found = measured(fused.reshape(-1, len(event.test_y)), event.test_y)
    return np.stack([values.reshape(len(methods), len(ratios), repeats) for values in found])


def measured(scores: npt.NDArray[np.float32], relevant: Marks) -> list[Doubles]:
    """AP and best F1 of every row of scores (rankings, clips)."""
    rankings, clips = scores.shape
    queries = tuple(map(str, range(rankings)))
    names = tuple(f"{place:09d}" for place in range(clips))
    items = np.flatnonzero(relevant)
    relevance = Relevance(
        queries,
        names,
        np.tile(items, rankings),
        np.ones(rankings * len(items)),
        np.arange(rankings + 1, dtype=np.int64) * len(items),
    )
    ranks = rank_relevant(FeatureMatrix(np.array(queries), names, scores), relevance)
    return [measure(ranks, metric) for metric in METRICS]


def band(values: Doubles) -> tuple[float, float, float]:
    """Mean of the repeats and the ends of its 95 % band."""
    mean = float(values.mean())
    reach = SURE * float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return mean, mean - reach, mean + reach


def figure2(event: EventScores, classifiers: Sequence[str], bins: int = 20) -> pd.DataFrame:
    """classifier, part, shown, score, share: how scores of either class are distributed, held-in and on test clips."""
    edges = np.linspace(0.0, 1.0, bins + 1)
    rows = []
    for column, classifier in enumerate(classifiers):
        for part, scores, marks in (("held-in", event.held_in, event.base_y), ("test", event.test, event.test_y)):
            for shown in (True, False):
                counts, _ = np.histogram(np.clip(scores[marks == shown, column], 0, 1), edges)
                shares = counts / max(counts.sum(), 1)
                middles = (edges[:-1] + edges[1:]) / 2
                rows += [(classifier, part, shown, float(x), float(y)) for x, y in zip(middles, shares, strict=True)]
    return pd.DataFrame(rows, columns=["classifier", "part", "shown", "score", "share"])


def figure5(
    event: EventScores, *, ratio: float = RATIOS[0], iterations: int = 10, repeats: int = 100, seed: int = 7
) -> pd.DataFrame:
    """iteration, metric, mean, low, high: recycling after each iteration; the first one is equalisation alone."""
    draws = draw(event, ratio, repeats, np.random.default_rng([seed, 5]))
    recycling = Recycling(iterations=iterations)
    recycling.fit(
        event.held_in[draws.source],
        event.base_y[draws.source],
        event.unseen[draws.target],
        event.unseen_y[draws.target],
    )
    rows = []
    for t, weights in enumerate(recycling.staged_):
        fused = (weights[:, :-1] @ event.test.T + weights[:, -1:]).astype(np.float32)
        for metric, values in zip(METRICS, measured(fused, event.test_y), strict=True):
            rows.append((t + 1, metric, *band(values)))
    return pd.DataFrame(rows, columns=["iteration", "metric", "mean", "low", "high"])


def _starts(repeats: int) -> range:
    return range(0, repeats, BLOCK)


def _subsets(of: Integers, count: int, repeats: int, rng: np.random.Generator) -> Integers:
    """(repeats, count) positions, each row without repetition, in random order."""
    return of[np.argsort(rng.random((repeats, len(of))), axis=1)[:, :count]]
