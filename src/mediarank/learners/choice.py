"""Choosing between settings of a ranker by cross-validation on the role that rankers are fitted on.

One setting is chosen for all concepts together: a single rare concept has too few positives to tell settings apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from mediarank.base_models.svm import stratified_folds
from mediarank.evaluation.metrics import average_precision
from mediarank.learners.costs import Costs
from mediarank.learners.plan import Plan
from mediarank.types import DataError, Floats

Name = TypeVar("Name")


class Ranker(Protocol):
    """Anything that `fit` turns into a plan."""

    @property
    def plan_(self) -> Plan: ...


@dataclass(frozen=True)
class Examples:
    """What a concept's ranker is fitted on: (n, models) scores, (n,) labels and the costs of the models."""

    scores: Floats = field(repr=False)
    relevant: npt.NDArray[np.bool_] = field(repr=False)
    costs: Costs | None = field(default=None, repr=False)


Fit = Callable[[Examples], Ranker]


def held_out_precision(fit: Fit, examples: Examples, *, folds: int, seed: int) -> float:
    """Mean average precision of rankers on folds they did not see; NaN where positives are too few for two folds."""
    values = []
    for held in stratified_folds(examples.relevant, folds, np.random.default_rng(seed)):
        kept = np.setdiff1d(np.arange(len(examples.relevant)), held)
        if not examples.relevant[kept].any():
            continue
        ranker = fit(Examples(examples.scores[kept], examples.relevant[kept], examples.costs))
        values.append(average_precision(examples.relevant[held], ranker.plan_.score(examples.scores[held])))
    return float(np.mean(values)) if values else float("nan")


def choose(
    candidates: Mapping[Name, Fit], concepts: Iterable[Examples], *, folds: int = 3, seed: int = 7
) -> tuple[Name, dict[Name, float]]:
    """The candidate of the highest mean over concepts, the first among equals, and the means of all."""
    if not candidates:
        raise DataError("There is nothing to choose from: give at least one candidate.")
    precisions: dict[Name, list[float]] = {name: [] for name in candidates}
    for examples in concepts:
        for name, fit in candidates.items():
            precisions[name].append(held_out_precision(fit, examples, folds=folds, seed=seed))
    known = {name: [v for v in values if not np.isnan(v)] for name, values in precisions.items()}
    means = {name: float(np.mean(values)) if values else 0.0 for name, values in known.items()}
    return max(means, key=lambda name: means[name]), means
