"""How methods of the concepts benchmark are compared: timed curves, speed-ups, gains, wins and significance."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

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
    """What one split gave.

    traces : method -> curves of its rankings; priced : some of them by counted cost, extraction included
    trees : MAP of LightGBM; chosen, validation : settings and figures from the items that rankers learn from
    within : cascade -> the same figure of what the budget of `measure` reaches
    settings : (range, step, regulariser, λ) -> curves of (Imbalanced) RankBoost; of the first split only
    models : base models per concept
    """

    traces: Mapping[str, Sequence[Trace]]
    priced: Mapping[str, Sequence[Trace]]
    trees: Mapping[str, float]
    chosen: Mapping[str, float]
    validation: Mapping[str, float]
    within: Mapping[str, float]
    settings: Mapping[tuple[str, str, str, float], Sequence[Trace]]
    models: int

    @property
    def timed(self) -> bool:
        return bool(np.isfinite(next(iter(self.traces.values()))[0].seconds).all())

    def end(self, method: str, depth: int = FULL) -> float:
        """MAP when all is spent."""
        return float(np.mean([t.precision[depth][-1] for t in self.traces[method]]))

    def evaluations(self, method: str) -> float:
        """Base models evaluated per item and concept, in the end."""
        return float(np.mean([t.evaluations[-1] for t in self.traces[method]]))

    def to_json(self) -> dict[str, Any]:
        """`from_json` takes it back."""
        settings = [{"key": list(key), "traces": _rows(traces)} for key, traces in self.settings.items()]
        curves = {name: {m: _rows(t) for m, t in getattr(self, name).items()} for name in ("traces", "priced")}
        rest = {name: dict(getattr(self, name)) for name in ("trees", "chosen", "validation", "within")}
        return {**curves, **rest, "settings": settings, "models": self.models}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Run:
        curves = {name: {m: _curves(rows) for m, rows in found[name].items()} for name in ("traces", "priced")}
        rest = {name: found[name] for name in ("trees", "chosen", "validation", "within", "models")}
        settings = {(*entry["key"],): _curves(entry["traces"]) for entry in found["settings"]}
        return cls(settings=settings, **curves, **rest)


def _rows(traces: Sequence[Trace]) -> list[dict[str, Any]]:
    return [
        {name: getattr(t, name).tolist() for name in ("seconds", "evaluations", "kernel_evaluations")}
        | {"concept": t.concept, "precision": {str(depth): values.tolist() for depth, values in t.precision.items()}}
        for t in traces
    ]


def _curves(rows: Sequence[Mapping[str, Any]]) -> list[Trace]:
    return [
        Trace(
            row["concept"],
            *(np.array(row[name]) for name in ("seconds", "evaluations", "kernel_evaluations")),
            {int(depth): np.array(values) for depth, values in row["precision"].items()},
        )
        for row in rows
    ]


@contextmanager
def one_thread() -> Iterator[None]:
    """Times are of one thread; training takes all cores."""
    before = os.environ.get("MEDIARANK_JOBS")
    os.environ["MEDIARANK_JOBS"] = "1"
    try:
        with threadpool_limits(1):
            yield
    finally:
        if before is None:
            del os.environ["MEDIARANK_JOBS"]
        else:
            os.environ["MEDIARANK_JOBS"] = before


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
    """A method against another on one split.

    Concepts are compared when both have spent what the method takes to its end: its time where it was measured, else
    its evaluations.
    """
    first, other = run.traces[reference], run.traces[name]
    budget = equal_work(name, run)[1]
    pairs = at_budget(name, run, reference)
    ends = [(r.precision[FULL][-1], o.precision[FULL][-1]) for r, o in zip(first, other, strict=True)]
    found = {
        "map": run.end(name),
        "map100": run.end(name, 100),
        "map500": run.end(name, 500),
        "reference_map": run.end(reference),
        "speedup_map100_evaluations": speed_up(first, other, "evaluations", 100, share),
        "speedup_full_evaluations": speed_up(first, other, "evaluations", FULL, share),
        "gain_fixed_evaluations": gain_at(first, other, "evaluations", FULL, run.evaluations(name)),
        "gain_end": run.end(name) / run.end(reference) - 1,
        "concepts_won": float(np.mean([o > r + TIE for r, o in pairs])),
        "concepts_tied": float(np.mean([abs(o - r) <= TIE for r, o in pairs])),
        "p_fixed_time" if run.timed else "p_fixed_evaluations": paired_randomisation(*zip(*pairs, strict=True), seed=7),
        "concepts_won_end": float(np.mean([o > r + TIE for r, o in ends])),
        "p_end": paired_randomisation(*zip(*ends, strict=True), seed=7),
        "evaluations": run.evaluations(name),
        "evaluations_fraction": run.evaluations(name) / run.evaluations(reference),
    }
    if name in run.priced and reference in run.priced:
        dear = speed_up(run.priced[reference], run.priced[name], "seconds", FULL, share)
        found["speedup_full_with_extraction"] = dear
    if run.timed:
        found |= {
            "speedup_map100_time": speed_up(first, other, "seconds", 100, share),
            "speedup_full_time": speed_up(first, other, "seconds", FULL, share),
            "gain_fixed_time": gain_at(first, other, "seconds", FULL, budget),
        }
    return found


def summary(name: str, runs: Sequence[Run], reference: str) -> dict[str, Any]:
    """Means over splits with standard deviations, the same at 95 % of the reference's best, p, bootstrap intervals."""
    rows = [compare(name, reference, run) for run in runs]
    at95 = [compare(name, reference, run, 0.95) for run in runs]
    means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    spread = {key: float(np.std([row[key] for row in rows])) for key in rows[0]}
    means["p_end"] = over_concepts(name, runs, reference)
    fixed = "p_fixed_time" if runs[0].timed else "p_fixed_evaluations"
    means[fixed] = over_concepts(name, runs, reference, at_equal_work=True)
    looser = {key: float(np.mean([row[key] for row in at95])) for key in rows[0] if "speedup" in key}
    intervals = {
        f"speedup_{what}_evaluations": bootstrap(name, runs, reference, depth)
        for what, depth in (("map100", 100), ("full", FULL))
    }
    print(f"\n{name} against {reference}, mean of {len(runs)} splits (standard deviation):")
    for key, value in means.items():
        at = f"; at 95 % {looser[key]:.2f}" if key in looser else ""
        low, high = intervals.get(key, (0.0, 0.0))
        interval = f"; 95 % of resampled concepts {low:.2f} to {high:.2f}" if key in intervals else ""
        print(f"  {key:28s} {value:6.3f} ({spread[key]:.3f}){at}{interval}")
    return {"name": name, **means, "spread": spread, "at_95": looser, "intervals": intervals}


def equal_work(name: str, run: Run) -> tuple[Axis, float]:
    """What the method spends to its end, per concept: time where it was measured, else evaluations."""
    axis: Axis = "seconds" if run.timed else "evaluations"
    return axis, float(np.mean([getattr(t, axis)[-1] for t in run.traces[name]]))


def at_budget(name: str, run: Run, reference: str) -> list[tuple[float, float]]:
    """Average precision of each concept by the reference and by the method, when both spent what the method takes."""
    axis, budget = equal_work(name, run)
    at = np.array([budget])
    both = zip(run.traces[reference], run.traces[name], strict=True)
    return [(float(r.at(axis, at, FULL)[0]), float(o.at(axis, at, FULL)[0])) for r, o in both]


def over_concepts(name: str, runs: Sequence[Run], reference: str, at_equal_work: bool = False) -> float:
    """p of a paired randomisation test over concepts, each with its mean over the splits that measured it.

    at_equal_work : when both spent what the method takes, instead of at their ends
    """
    of_concept: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        first, other = run.traces[reference], run.traces[name]
        ends = [(float(r.precision[FULL][-1]), float(o.precision[FULL][-1])) for r, o in zip(first, other, strict=True)]
        for t, pair in zip(first, at_budget(name, run, reference) if at_equal_work else ends, strict=True):
            of_concept.setdefault(t.concept, []).append(pair)
    means = np.array([np.mean(pairs, axis=0) for pairs in of_concept.values()])
    return paired_randomisation(means[:, 0].tolist(), means[:, 1].tolist(), seed=7)


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
