"""Choose the served method of `events`: how well each ranks clips that neither classifiers nor fusions have seen.

The clips of `base` and `rank` are dealt into folds, groups kept together. Each fusion learns from the other folds and
scores the fold (`held_out`); clips of `base` are known to it by their out-of-fold scores. The figure of a method is the
mean average precision of all these clips in one ranking per event, with those of `valid` (`precisions`). The clips of
`rank` alone would be too few to distinguish methods.

With a handful of positives per event, the best of many figures is mostly the luckiest. So the mean of our two best
kinds of fusion (`consensus.py`) is served unless a method leads it by more than chance would: by two standard errors of
the difference, over clips (`choose`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from mediarank.base_models.svm import grouped_folds
from mediarank.learners.fusion.fusion_methods import fusion
from mediarank.learners.fusion.linear_fusion import equal_weights
from mediarank.types import Doubles

Marks = npt.NDArray[np.bool_]
FOLDS: Final = 5
DEALINGS: Final = 2
"""How often the clips are dealt into folds."""
RESAMPLES: Final = 200
"""Of the clips, for standard errors."""
SURE: Final = 2.0
"""Standard errors that a lead must exceed."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Scores (clips, events, classifiers) by one set of base classifiers.

    held_in, out_of_fold : of the clips of `base`, by classifiers that have seen them and by cross-validation
    unseen, valid : of the clips of `rank` and `valid`, by classifiers that have not seen them
    """

    held_in: Doubles
    out_of_fold: Doubles
    unseen: Doubles
    valid: Doubles

    @property
    def honest(self) -> Doubles:
        """Scores of the clips of all three roles by classifiers that have not seen them."""
        return np.concatenate([self.out_of_fold, self.unseen, self.valid])


@dataclass(frozen=True, eq=False)
class Truth:
    """(clips, events) which clips of each role show which event; groups : (clips of all three,) numbers"""

    base: Marks
    rank: Marks
    valid: Marks
    groups: npt.NDArray[np.intp]

    @property
    def all(self) -> Marks:
        return np.concatenate([self.base, self.rank, self.valid])


def held_out(method: str, judged: Judged, truth: Truth, seed: int) -> Doubles:
    """(dealings, clips, events) scores of the clips of all roles by a fusion that has not learned from them.

    Clips of `valid` get the mean score of the fusions of all folds.
    """
    learned_from = len(truth.base) + len(truth.rank)
    scores = np.zeros((DEALINGS, *truth.all.shape))
    for dealing, event in np.ndindex(DEALINGS, truth.base.shape[1]):
        marks, rng = truth.all[:learned_from, event], np.random.default_rng([seed, event, dealing])
        folds = grouped_folds(marks, truth.groups[:learned_from], FOLDS, rng)
        for fold in folds:
            found = _fused(method, judged, truth, np.setdiff1d(np.arange(learned_from), fold), event)
            scores[dealing, fold, event] = found[fold]
            scores[dealing, learned_from:, event] += found[learned_from:] / len(folds)
    return scores


def precisions(scores: Mapping[str, Doubles], truth: Truth, seed: int) -> dict[str, Doubles]:
    """Method -> its mean average precision, as it is and with resampled clips: (1 + RESAMPLES,).

    scores : method -> (dealings, clips, events), held out
    """
    count = int(truth.groups.max()) + 1
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
    weights = np.concatenate([np.ones((1, count), np.int64), drawn])[:, truth.groups].astype(np.float64)
    return {method: _mean_precision(found, truth.all, weights) for method, found in scores.items()}


def choose(values: Mapping[str, Doubles], modest: str) -> str:
    """The method with the highest figure, or the `modest` one, if the best one's lead may be chance.

    values : of `precisions`
    """
    best = max(values, key=lambda method: round(float(values[method][0]), 9))
    if modest not in values:
        return best
    lead = values[best] - values[modest]
    return best if lead[0] > SURE * lead[1:].std() else modest


def _fused(method: str, judged: Judged, truth: Truth, kept: npt.NDArray[np.intp], event: int) -> Doubles:
    """Scores of the clips of `base`, `rank` and `valid` by a fusion that learned from `kept`, of the first two.

    If no clip of a role is kept, because one fold holds them all, nothing is learned and classifiers weigh the same.
    """
    kind, count = fusion(method), len(truth.base)
    base, rank = kept[kept < count], kept[kept >= count] - count
    honest, made = judged.honest[:, event], kind.make()
    if not len(base) or not len(rank):
        return made.with_weights(equal_weights(honest.shape[-1])).predict(honest)
    source = kind.of(judged.held_in[base, event], judged.out_of_fold[base, event])
    return made.fit(source, truth.base[base, event], judged.unseen[rank, event], truth.rank[rank, event]).predict(
        honest
    )


def _mean_precision(scores: Doubles, marks: Marks, weights: Doubles) -> Doubles:
    """Mean over dealings and events; resampled events without a positive are left out, and without any it is 0."""
    shown = np.flatnonzero(marks.any(axis=0))
    if not len(shown):
        return np.zeros(len(weights))
    found = [_weighted_precision(dealt[:, e], marks[:, e], weights) for dealt in scores for e in shown]
    known = ~np.isnan(found)
    return np.asarray(np.where(known, found, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))


def _weighted_precision(scores: Doubles, marks: Marks, weights: Doubles) -> Doubles:
    """Average precision of one ranking with every row of weights; equal scores are ranked in random order.

    The order of the clips may be that of the classes.
    """
    mixed = np.random.default_rng(len(scores)).permutation(len(scores))
    order = mixed[np.argsort(-scores[mixed], kind="stable")]
    listed = weights[:, order]
    hits = listed * marks[order]
    positives = hits.sum(axis=1)
    found = (hits * np.cumsum(hits, axis=1) / np.maximum(np.cumsum(listed, axis=1), 1)).sum(axis=1)
    return np.where(positives > 0, found / np.maximum(positives, 1), np.nan)
