"""Choose the served method of `events`: how well each ranks clips that neither classifiers nor fusions have seen.

The clips of `base` and `rank` are dealt into folds, groups kept together. Each fusion learns from the other folds and
ranks the clips of the fold together with those of `valid`; clips of `base` are ranked by their out-of-fold scores. The
figure of a method is its mean average precision over folds and events. The clips of `rank` alone would be too few to
distinguish methods.

SVMs choose C on the very decisions that become out-of-fold scores, so their figures are a little too good, where
positives are few by more than methods differ. So the fusion of kernels, which chooses next to nothing, is served unless
the best method leads it by more than the standard error of the difference (`choose`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from mediarank.base_models.svm import grouped_folds
from mediarank.evaluation.metrics import average_precision
from mediarank.learners.fusion.fusion_methods import fusion
from mediarank.types import Doubles

Marks = npt.NDArray[np.bool_]
FOLDS: Final = 5
REPEATS: Final = 2
"""How often the clips are dealt into folds."""


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
    """(clips, events) which clips of each role show which event; groups : (base and rank clips,) numbers"""

    base: Marks
    rank: Marks
    valid: Marks
    groups: npt.NDArray[np.intp]


def validate(
    sets: Mapping[str, Judged], uses: Mapping[str, str], alone: Mapping[str, Doubles], truth: Truth, seed: int
) -> dict[str, Doubles]:
    """Method -> its average precision, event by event and fold by fold; empty if there is nothing to judge.

    First the fusions of `uses`, each over its set, then what ranks `alone`.

    alone : method -> its scores (clips, events) of all clips of `base`, `rank` and `valid`, held out
    """
    values = {}
    for method, which in uses.items():
        values[method] = _precisions(lambda kept, e, m=method, j=sets[which]: _fused(m, j, truth, kept, e), truth, seed)  # type: ignore[misc]
    for name, scores in alone.items():
        values[name] = _precisions(lambda kept, e, s=scores: s[:, e], truth, seed)  # type: ignore[misc]
    return values


def figures(values: Mapping[str, Doubles]) -> dict[str, float]:
    """Method -> its mean average precision."""
    return {method: float(found.mean()) if len(found) else 0.0 for method, found in values.items()}


def choose(values: Mapping[str, Doubles], modest: str) -> str:
    """The method with the highest mean, or the `modest` one, if the best one's lead is within its standard error."""
    means = figures(values)
    best = max(means, key=lambda method: round(means[method], 9))
    if modest not in values or not len(values[best]):
        return best
    lead = values[best] - values[modest]
    return modest if lead.mean() <= lead.std(ddof=min(1, len(lead) - 1)) / np.sqrt(len(lead)) else best


def _fused(method: str, judged: Judged, truth: Truth, kept: npt.NDArray[np.intp], event: int) -> Doubles:
    """Scores of the clips of `base`, `rank` and `valid` by a fusion that learned from `kept`, of the first two."""
    kind, count = fusion(method), len(truth.base)
    base, rank = kept[kept < count], kept[kept >= count] - count
    source = kind.of(judged.held_in[base, event], judged.out_of_fold[base, event])
    learned = kind.make().fit(source, truth.base[base, event], judged.unseen[rank, event], truth.rank[rank, event])
    return learned.predict(judged.honest[:, event])


def _precisions(scores: Callable[[npt.NDArray[np.intp], int], Doubles], truth: Truth, seed: int) -> Doubles:
    """scores : of all clips of `base`, `rank` and `valid`, given the clips to learn from and the event"""
    clips = np.arange(len(truth.base) + len(truth.rank))
    valid = len(clips) + np.arange(len(truth.valid))
    values: list[float] = []
    for event in range(truth.rank.shape[1]):
        marks = np.concatenate([truth.base[:, event], truth.rank[:, event], truth.valid[:, event]])
        folds = [
            fold
            for repeat in range(REPEATS)
            for fold in grouped_folds(marks[clips], truth.groups, FOLDS, np.random.default_rng([seed, event, repeat]))
        ]
        order = np.random.default_rng([seed, event])
        for fold in folds:
            # in random order, since equal scores are ranked in the order of the clips, which may be that of the classes
            kept, judged = np.setdiff1d(clips, fold), order.permutation(np.concatenate([fold, valid]))
            if (kept >= len(truth.base)).any():
                values.append(average_precision(marks[judged], scores(kept, event)[judged]))
    return np.array(values)
