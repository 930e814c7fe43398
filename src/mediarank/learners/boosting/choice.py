"""Choosing between settings of a ranker by cross-validation on the role that rankers are fitted on.

One setting is chosen for all concepts together: a single rare concept has too few positives to compare settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from mediarank.base_models.svm import grouped_folds
from mediarank.evaluation.metrics import average_precision
from mediarank.fanout import fan_out
from mediarank.learners.boosting.costs import Costs, relative_costs
from mediarank.learners.boosting.plan import Plan, walk
from mediarank.types import DataError, Floats

Name = TypeVar("Name")


class Ranker(Protocol):
    """Anything that `fit` turns into a plan."""

    @property
    def plan_(self) -> Plan: ...


@dataclass(frozen=True)
class Examples:
    """What a concept's ranker is fitted on.

    scores : (n, models); relevant : (n,)
    costs : of the models, by default all the same
    groups : (n,) numbers of the groups that are held out together, by default each example alone
    """

    scores: Floats = field(repr=False)
    relevant: npt.NDArray[np.bool_] = field(repr=False)
    costs: Costs | None = field(default=None, repr=False)
    groups: npt.NDArray[np.intp] | None = field(default=None, repr=False)


Fit = Callable[[Examples], Ranker]
Worth = Callable[[Plan, Examples], float]


def final_precision(plan: Plan, examples: Examples) -> float:
    """Average precision after the whole plan."""
    return average_precision(examples.relevant, plan.score(examples.scores))


def early_precision(plan: Plan, examples: Examples, budgets: Sequence[float] = (1, 2, 4, 8)) -> float:
    """Mean average precision of the rankings that these budgets allow.

    budgets : per item, in mean prices of a model; where all models cost the same, a number of evaluations per item.
        Before the first step the precision counts as 0.
    """
    costs = relative_costs(examples.costs, examples.scores.shape[1])
    prices = costs.prices()
    spent, found = 0.0, [0.0] * len(budgets)
    for state in walk(plan, lambda model, items: examples.scores[items, model], len(examples.scores)):
        for model in plan.models[plan.starts[state.step] : plan.starts[state.step + 1]].tolist():
            spent += prices[model] * len(state.active) / len(examples.scores)
            costs.pay(prices, model)
        if spent > max(budgets) * (1 + 1e-9):
            break
        value = average_precision(examples.relevant, state.scores)
        found = [value if spent <= b * (1 + 1e-9) else old for b, old in zip(budgets, found, strict=True)]
    return float(np.mean(found))


def held_out(fit: Fit, examples: Examples, *, worth: Worth = final_precision, folds: int = 3, seed: int = 7) -> float:
    """Mean worth of rankers on folds they did not see; NaN where positives are too few for two folds."""
    values = []
    groups = np.arange(len(examples.relevant)) if examples.groups is None else examples.groups
    for held in grouped_folds(examples.relevant, groups, folds, np.random.default_rng(seed)):
        kept = np.setdiff1d(np.arange(len(examples.relevant)), held)
        ranker = fit(_part(examples, kept))
        values.append(worth(ranker.plan_, _part(examples, held)))
    return float(np.mean(values)) if values else float("nan")


def choose(
    candidates: Mapping[Name, Fit],
    concepts: Iterable[Examples],
    *,
    worth: Worth = final_precision,
    folds: int = 3,
    seed: int = 7,
) -> tuple[Name, dict[Name, float]]:
    """The candidate with the highest mean over concepts (among equals the first), and the means of all."""
    if not candidates:
        raise DataError("There is nothing to choose from: give at least one candidate.")
    of_concept = partial(_held_out_each, list(candidates.values()), worth, folds, seed)
    values = np.array(fan_out(of_concept, list(concepts), "choosing settings", batch=1)).reshape(-1, len(candidates))
    known = {name: of_name[~np.isnan(of_name)] for name, of_name in zip(candidates, values.T, strict=True)}
    means = {name: float(np.mean(of_name)) if len(of_name) else 0.0 for name, of_name in known.items()}
    return max(means, key=lambda name: means[name]), means


def _held_out_each(fits: Sequence[Fit], worth: Worth, folds: int, seed: int, examples: Examples) -> list[float]:
    return [held_out(fit, examples, worth=worth, folds=folds, seed=seed) for fit in fits]


def _part(examples: Examples, rows: npt.NDArray[np.intp]) -> Examples:
    groups = None if examples.groups is None else examples.groups[rows]
    return Examples(examples.scores[rows], examples.relevant[rows], examples.costs, groups)
