"""Choose a fusion by cross-validation over the unseen clips: nothing else says how base models do on new clips.

The target's clips of each event are dealt into folds. Every candidate learns from the source and the other folds, and
ranks the fold; its figure is the mean average precision over folds and events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from mediarank.evaluation.metrics import average_precision
from mediarank.learners.fusion.fusion_methods import FUSIONS, fusion
from mediarank.learners.fusion.linear_fusion import are_probabilities
from mediarank.types import Doubles

Marks = npt.NDArray[np.bool_]
FOLDS: Final = 5
REPEATS: Final = 4
"""How often the clips are dealt into folds: a fold of few clips says little."""


@dataclass(frozen=True, eq=False)
class Examples:
    """One event: scores (clips, classifiers) and labels of source and target; out_of_fold may be missing."""

    held_in: Doubles
    out_of_fold: Doubles | None
    source_y: Marks
    target: Doubles
    target_y: Marks

    def source(self, name: str) -> Doubles:
        """What a fusion learns from."""
        return fusion(name).of(self.held_in, self.held_in if self.out_of_fold is None else self.out_of_fold)


def candidates(events: Sequence[Examples]) -> list[str]:
    """The fusions that these scores allow."""
    known = [part for e in events for part in (e.held_in, e.out_of_fold, e.target) if part is not None]
    probable = all(are_probabilities(part) for part in known)
    held_out = all(e.out_of_fold is not None for e in events)
    return [
        name
        for name, kind in FUSIONS.items()
        if (probable or kind.make().scale == "probability") and (held_out or kind.source == "held_in")
    ]


def validate(events: Sequence[Examples], names: Sequence[str], seed: int = 7) -> dict[str, float]:
    """Fusion -> its mean average precision; empty if no event has two positives and two negatives among its target."""
    figures: dict[str, list[float]] = {name: [] for name in names}
    for number, event in enumerate(events):
        folds = _folds(event.target_y, np.random.default_rng([seed, number]))
        for name in names if folds else ():
            figures[name].append(float(np.mean([_precision(name, event, fold) for fold in folds])))
    return {name: float(np.mean(values)) for name, values in figures.items() if values}


def best(figures: Mapping[str, float]) -> str | None:
    """The first of those with the highest figure."""
    return max(figures, key=lambda name: round(figures[name], 9)) if figures else None


def _precision(name: str, event: Examples, fold: npt.NDArray[np.intp]) -> float:
    kept = np.setdiff1d(np.arange(len(event.target_y)), fold)
    learned = fusion(name).make().fit(event.source(name), event.source_y, event.target[kept], event.target_y[kept])
    return average_precision(event.target_y[fold], learned.predict(event.target[fold]))


def _folds(marks: Marks, rng: np.random.Generator) -> list[npt.NDArray[np.intp]]:
    """Folds with at least one positive and one negative each."""
    parts = [np.flatnonzero(marks), np.flatnonzero(~marks)]
    count = min(FOLDS, *map(len, parts))
    if count < 2:
        return []
    dealt = []
    for _ in range(REPEATS):
        shuffled = [rng.permutation(part) for part in parts]
        dealt += [np.concatenate([part[k::count] for part in shuffled]) for k in range(count)]
    return dealt
