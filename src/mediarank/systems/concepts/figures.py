"""The figures of paper 000 as tables: average precision against the work spent so far.

`trace_scored` carries a plan out with known scores and records the work and the average precision after every step.
From such traces come figure 6 (MAP against work at several depths), 7 (concepts at equal work), 8 (curves of single
concepts) and 9 (regularisers and λ). Times are measured by `benchmarks/concepts.py`, which makes the same tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from mediarank.evaluation.metrics import average_precision
from mediarank.learners.boosting.plan import Plan, State, walk
from mediarank.systems.concepts.model import Model, concept_scores
from mediarank.types import DataError, Doubles, FeatureMatrix, Judgments

Axis = Literal["seconds", "evaluations", "kernel_evaluations"]

FULL: Final = 0
"""Stands for the whole list where a depth is asked for."""
DEPTHS: Final = (100, 500, FULL)
SKIPPING: Final = (
    "rankboost", "imbalanced_rankboost", "boosted_cascade", "stacked_cascade", "forward_cascade", "distilled_cascade",
    "budget_cascade",
)  # fmt: skip
"""Methods that rank step by step, so that they have a curve."""


@dataclass(frozen=True)
class Trace:
    """A concept's ranking, step by step; all arrays are (steps,) and costs are sums so far.

    seconds : wall time for all items; NaN where nothing was timed
    evaluations, kernel_evaluations : SVMs evaluated, and kernels computed for that, per item
    precision : depth -> average precision there
    """

    concept: str
    seconds: Doubles
    evaluations: Doubles
    kernel_evaluations: Doubles
    precision: Mapping[int, Doubles]

    def at(self, axis: Axis, budgets: Doubles, depth: int) -> Doubles:
        """Average precision of the ranking when each budget runs out; 0 before the first step is done."""
        steps = np.searchsorted(getattr(self, axis), budgets * (1 + 1e-12), side="right")
        return np.concatenate([[0.0], self.precision[depth]])[steps]


def trace_scored(
    plan: Plan,
    concept: str,
    scores: npt.NDArray[np.float32],
    relevant: npt.NDArray[np.bool_],
    *,
    depths: Sequence[int] = DEPTHS,
    points: int = 30,
) -> Trace:
    """The same from known scores (items, SVMs): work is counted as if they were not known, and nothing is timed.

    points : how many steps are recorded, the first ones closer together
    """
    states = list(walk(plan, lambda model, items: scores[items, model], len(scores)))
    if not states:  # a plan without a step evaluates nothing and leaves all items level
        states = [State(0, np.zeros(len(scores)), np.arange(len(scores)), 0)]
    states = [states[step - 1] for step in np.unique(np.geomspace(1, len(states), points).astype(int))]
    evaluations = np.array([state.evaluations / len(scores) for state in states])
    precision = {d: np.array([average_precision(relevant, s.scores, k=d or None) for s in states]) for d in depths}
    unknown = np.full(len(states), np.nan)
    return Trace(concept, unknown, evaluations, unknown, precision)


def mean_curve(traces: Sequence[Trace], axis: Axis, depth: int) -> tuple[Doubles, Doubles]:
    """Budgets at which something changes, and the mean over concepts of the average precision at each."""
    if not traces:
        raise DataError("There are no traces to draw a curve of.")
    budgets = np.unique(np.concatenate([getattr(t, axis) for t in traces]))
    return budgets, np.mean([t.at(axis, budgets, depth) for t in traces], axis=0)


def figure6(traces: Mapping[str, Sequence[Trace]], axis: Axis = "seconds", points: int = 200) -> pd.DataFrame:
    """MAP against ranking time, one curve per method and depth: method, depth, the axis, map."""
    tables = []
    for method, of_method in traces.items():
        for depth in of_method[0].precision:
            budgets, values = mean_curve(of_method, axis, depth)
            shown = np.unique(np.linspace(0, len(budgets) - 1, points).astype(int))
            tables.append(pd.DataFrame({"method": method, "depth": depth, axis: budgets[shown], "map": values[shown]}))
    return pd.concat(tables, ignore_index=True)


def figure7(
    traces: Mapping[str, Sequence[Trace]], budget: float, axis: Axis = "seconds", depth: int = FULL
) -> pd.DataFrame:
    """Average precision of every concept when a budget is spent: concept, and one column per method."""
    columns = {
        method: pd.Series({t.concept: float(t.at(axis, np.array([budget]), depth)[0]) for t in of_method})
        for method, of_method in traces.items()
    }
    return pd.DataFrame(columns).rename_axis("concept").reset_index()


def figure8(
    traces: Mapping[str, Sequence[Trace]], concepts: Iterable[str], axis: Axis = "seconds", depth: int = FULL
) -> pd.DataFrame:
    """Curves of single concepts: concept, method, the axis, ap."""
    wanted = set(concepts)
    tables = [
        pd.DataFrame({"concept": t.concept, "method": method, axis: getattr(t, axis), "ap": t.precision[depth]})
        for method, of_method in traces.items()
        for t in of_method
        if t.concept in wanted
    ]
    if not tables:
        raise DataError(f"None of the concepts {', '.join(sorted(wanted))} was traced.")
    return pd.concat(tables, ignore_index=True)


def figure9(
    traces: Mapping[tuple[str, float], Sequence[Trace]], axis: Axis = "seconds", depth: int = FULL
) -> pd.DataFrame:
    """MAP against time for every (regulariser, λ): regulariser, regularization, the axis, map."""
    tables = []
    for (regulariser, strength), of_setting in traces.items():
        budgets, values = mean_curve(of_setting, axis, depth)
        tables.append(
            pd.DataFrame({"regulariser": regulariser, "regularization": strength, axis: budgets, "map": values})
        )
    return pd.concat(tables, ignore_index=True)


def figure_tables(
    model: Model,
    scores: Mapping[str, FeatureMatrix],
    judgments: Judgments,
    grid: Mapping[tuple[str, float], Mapping[str, Plan]],
) -> dict[str, dict[str, list[Any]]]:
    """Figures 6 to 9 by evaluations per item, as columns for JSON. Nothing is timed, so they can be repeated.

    scores : of the SVMs for the items to rank; grid : plans for figure 9
    """
    items = next(iter(scores.values())).ids.tolist()
    asked = [c for c in model.names if 0 < np.count_nonzero(judgments.grades(c, items)) < len(items)]
    known = {c: (concept_scores(model.pools, scores, c), judgments.grades(c, items) > 0) for c in asked}

    def traces(plans: Mapping[str, Plan], depths: Sequence[int] = DEPTHS) -> list[Trace]:
        return [trace_scored(plans[concept], concept, *known[concept], depths=depths) for concept in asked]

    skipping = {method: traces(plans) for method, plans in model.plans.items() if method in SKIPPING}
    if not asked or not skipping:
        return {}
    least = min(skipping, key=lambda method: np.mean([t.evaluations[-1] for t in skipping[method]]))
    budget = float(np.mean([t.evaluations[-1] for t in skipping[least]]))
    seven = figure7(skipping, budget, "evaluations")
    first = next(iter(skipping))
    gaps = (seven[least] - seven[first]).sort_values(kind="stable").index
    telling = seven["concept"].iloc[list(dict.fromkeys([gaps[0], gaps[-1]]))]
    tables = {
        "figure6": figure6(skipping, "evaluations", points=40),
        "figure7": seven.assign(budget=budget),
        "figure8": figure8({m: skipping[m] for m in dict.fromkeys((first, least))}, telling, "evaluations"),
    }
    if grid:
        tables["figure9"] = figure9({key: traces(plans, (FULL,)) for key, plans in grid.items()}, "evaluations")
    return {name: {str(c): table[c].tolist() for c in table.columns} for name, table in tables.items()}
