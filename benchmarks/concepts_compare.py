"""How methods of the concepts benchmark are compared: timed curves, speed-ups, gains, wins and significance."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mediarank.base_models.concept import ConceptModels, Questions
from mediarank.evaluation.metrics import average_precision
from mediarank.evaluation.significance import paired_randomisation
from mediarank.learners.boosting.costs import Costs
from mediarank.learners.boosting.plan import Plan, walk
from mediarank.systems.concepts.figures import DEPTHS, FULL, Axis, Trace, mean_curve
from mediarank.types import FeatureMatrix

TIE = 1e-9
"""Average precisions closer than this are equal: neither method wins the concept."""


@dataclass(frozen=True)
class Run:
    """What one seed gave.

    traces : method -> curves of real rankings, with times; priced : the same by counted cost, extraction included
    ends : method -> MAP at the end; chosen, validation : settings and figures from the items that rankers learn from
    settings : (range, step, regulariser, λ) -> curves of (Imbalanced) RankBoost; of the first seed only
    """

    traces: Mapping[str, Sequence[Trace]]
    priced: Mapping[str, Sequence[Trace]]
    ends: Mapping[str, float]
    chosen: Mapping[str, float]
    validation: Mapping[str, float]
    settings: Mapping[tuple[str, str, str, float], Sequence[Trace]]


def trace(
    plan: Plan,
    models: ConceptModels,
    features: Mapping[str, FeatureMatrix],
    items: Sequence[str],
    relevant: NDArray[np.bool_],
    *,
    depths: Sequence[int] = DEPTHS,
    repeats: int = 3,
) -> Trace:
    """Rank `items`, sorted by id, step by step. The time of a step is its shortest over the repeats."""
    times = np.full((repeats, len(plan)), np.inf)
    for repeat in range(repeats):
        ask = Questions(models, features, items)
        kernels, evaluations, scores = [], [], []
        steps = walk(plan, ask, len(items))
        for step in range(len(plan)):
            started = time.perf_counter()
            state = next(steps)
            times[repeat, step] = time.perf_counter() - started
            kernels.append(ask.kernel_evaluations / len(items))
            evaluations.append(state.evaluations / len(items))
            scores.append(state.scores)
    precision = {depth: np.array([average_precision(relevant, s, k=depth or None) for s in scores]) for depth in depths}
    seconds = np.cumsum(times.min(axis=0))
    return Trace(models.concept, seconds, np.array(evaluations), np.array(kernels), precision)


def speed_up(reference: Sequence[Trace], other: Sequence[Trace], axis: Axis, depth: int, share: float = 0.99) -> float:
    """How many times less work the other needs to reach this share of the reference's best MAP; 0 if it never does."""
    budgets, values = mean_curve(reference, axis, depth)
    level = share * values.max()
    needed = budgets[np.argmax(values >= level)]
    others, reached = mean_curve(other, axis, depth)
    if reached.max() < level:
        return 0.0
    return float(needed / others[np.argmax(reached >= level)])


def gain_at(reference: Sequence[Trace], other: Sequence[Trace], axis: Axis, depth: int, budget: float) -> float:
    """Relative difference of the two MAPs when both may spend `budget`."""
    at = np.array([budget])
    first = float(np.mean([t.at(axis, at, depth) for t in reference]))
    second = float(np.mean([t.at(axis, at, depth) for t in other]))
    return second / first - 1 if first > 0 else float("nan")


def priced(plan: Plan, concept: str, scores: NDArray[np.float32], relevant: NDArray[np.bool_], costs: Costs) -> Trace:
    """A curve by counted seconds per item: scoring, and once per item and feature type its extraction."""
    prices, spent = costs.prices(), 0.0
    seconds, evaluations, precision = [], [], []
    for state in walk(plan, lambda model, items: scores[items, model], len(scores)):
        for model in plan.models[plan.starts[state.step] : plan.starts[state.step + 1]].tolist():
            spent += prices[model] * len(state.active) / len(scores)
            costs.pay(prices, model)
        seconds.append(spent)
        evaluations.append(state.evaluations / len(scores))
        precision.append(average_precision(relevant, state.scores))
    unknown = np.full(len(plan), np.nan)
    return Trace(concept, np.array(seconds), np.array(evaluations), unknown, {FULL: np.array(precision)})


def compare(name: str, reference: str, run: Run, share: float = 0.99) -> dict[str, float]:
    """A method against another on one split. Equal time is the time that the method takes to its end."""
    first, other = run.traces[reference], run.traces[name]
    budget = float(np.mean([t.seconds[-1] for t in other]))
    at = np.array([budget])
    pairs = [(r.at("seconds", at, FULL)[0], o.at("seconds", at, FULL)[0]) for r, o in zip(first, other, strict=True)]
    ends = [(r.precision[FULL][-1], o.precision[FULL][-1]) for r, o in zip(first, other, strict=True)]
    last = {m: np.mean([t.evaluations[-1] for t in run.traces[m]]) for m in (reference, name)}
    return {
        "map": run.ends[name],
        "map500": float(mean_curve(other, "evaluations", 500)[1][-1]),
        "speedup_map100_evaluations": speed_up(first, other, "evaluations", 100, share),
        "speedup_full_evaluations": speed_up(first, other, "evaluations", FULL, share),
        "speedup_map100_time": speed_up(first, other, "seconds", 100, share),
        "speedup_full_time": speed_up(first, other, "seconds", FULL, share),
        "speedup_full_with_extraction": speed_up(run.priced[reference], run.priced[name], "seconds", FULL, share),
        "gain_fixed_time": gain_at(first, other, "seconds", FULL, budget),
        "gain_end": run.ends[name] / run.ends[reference] - 1,
        "concepts_won": float(np.mean([o > r + TIE for r, o in pairs])),
        "concepts_tied": float(np.mean([abs(o - r) <= TIE for r, o in pairs])),
        "p_fixed_time": paired_randomisation(*zip(*pairs, strict=True), seed=7),
        "p_end": paired_randomisation(*zip(*ends, strict=True), seed=7),
        "evaluations_fraction": float(last[name] / last[reference]),
    }


def summary(name: str, runs: Sequence[Run], reference: str) -> dict[str, Any]:
    """Means over seeds, their standard deviations, the same at 95 % of the reference's best, bootstrap intervals."""
    rows = [compare(name, reference, run) for run in runs]
    at95 = [compare(name, reference, run, 0.95) for run in runs]
    means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    spread = {key: float(np.std([row[key] for row in rows])) for key in rows[0]}
    looser = {key: float(np.mean([row[key] for row in at95])) for key in rows[0] if "speedup" in key}
    intervals = {
        f"speedup_{what}_evaluations": bootstrap(name, runs, reference, depth)
        for what, depth in (("map100", 100), ("full", FULL))
    }
    print(f"\n{name} against {reference}, mean of {len(runs)} seeds (standard deviation):")
    for key, value in means.items():
        at = f"; at 95 % {looser[key]:.2f}" if key in looser else ""
        low, high = intervals.get(key, (0.0, 0.0))
        interval = f"; 95 % of resampled concepts {low:.2f} to {high:.2f}" if key in intervals else ""
        print(f"  {key:28s} {value:6.3f} ({spread[key]:.3f}){at}{interval}")
    return {"name": name, **means, "spread": spread, "at_95": looser, "intervals": intervals}


def bootstrap(name: str, runs: Sequence[Run], reference: str, depth: int, resamples: int = 500) -> tuple[float, float]:
    """Where 95 % of the speed-ups in evaluations lie when concepts are drawn anew."""
    rng = np.random.default_rng(7)
    axis: Axis = "evaluations"
    budgets = np.geomspace(0.5, 200, 600)
    tables = [
        tuple(np.stack([t.at(axis, budgets, depth) for t in run.traces[m]]) for m in (reference, name)) for run in runs
    ]
    values = []
    for _ in range(resamples):
        ratios = []
        for reference_aps, other in tables:
            drawn = rng.integers(len(other), size=len(other))
            first, second = reference_aps[drawn].mean(axis=0), other[drawn].mean(axis=0)
            level = 0.99 * first.max()
            reached = second.max() >= level
            ratios.append(budgets[np.argmax(first >= level)] / budgets[np.argmax(second >= level)] if reached else 0.0)
        values.append(np.mean(ratios))
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
