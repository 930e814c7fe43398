"""Paper 000: how well, how fast and with how little work rare concepts are ranked.

    python benchmarks/concepts.py                     # speed, on made-up data (see concepts_speed.py)
    python benchmarks/concepts.py --data FOLDER       # the speed part, then the paper's section 5 on a collection

With a collection: fifty feature types are extracted (and kept in --cache); words, concepts or classes with 25 to 200
pictures are the concepts; for each seed the pictures are dealt out 50/20/30, a hundred SVMs per concept are trained
on the first part, rankers on the second, and the third is ranked, every SVM really evaluated on the survivors of
its step only. Methods are compared with RankBoost by figures 6 to 9 of the paper; --out writes them as tables. All
settings are chosen on the second part. --quick takes a few pictures, types and concepts. The last line is one JSON
object.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from concepts_data import Described, describe
from concepts_speed import speed
from threadpoolctl import threadpool_limits

from mediarank import store
from mediarank.base_models.concept import ConceptModels
from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import SVMConfig
from mediarank.base_models.training import fit_pool
from mediarank.evaluation.metrics import average_precision
from mediarank.learners.boosting.choice import Examples
from mediarank.learners.boosting.plan import Plan
from mediarank.learners.fusion.stacking import LightGBMStacking
from mediarank.systems.concepts.config import Config
from mediarank.systems.concepts.figures import (
    FULL,
    Trace,
    figure6,
    figure7,
    figure8,
    figure9,
    gain_at,
    mean_curve,
    speed_up,
    trace,
    trace_scored,
)
from mediarank.systems.concepts.fit import fit_rankers, rank_examples, regulariser_plans
from mediarank.systems.concepts.model import Model, concept_scores, score_items
from mediarank.types import FeatureMatrix, Judgments, MediarankError, Roles

REFERENCE, PAPER, BEST = "rankboost", "imbalanced_rankboost", "forward_cascade"
TRACED = (REFERENCE, PAPER, "boosted_cascade", "stacked_cascade", BEST)
ENDS = ("mean_fusion", "best_single", "ridge_stacking", "logistic_stacking")
BUDGETS = (1, 2, 3, 5, 10, 20)


@dataclass(frozen=True)
class Run:
    """What one seed gave: traces of the methods that skip, end points of those that don't, and what was chosen."""

    traces: Mapping[str, Sequence[Trace]]
    ends: Mapping[str, float]
    chosen: Mapping[str, float]
    regularisers: Mapping[tuple[str, float], Sequence[Trace]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of a collection with concepts, keywords or classes")
    parser.add_argument("--cache", type=Path, default=Path(".mediarank/cache/benchmarks"), help="for features")
    parser.add_argument("--out", type=Path, help="a folder for the figures' tables")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--positives", type=int, nargs=2, default=(25, 200), metavar=("FEWEST", "MOST"))
    parser.add_argument(
        "--repeats", type=int, default=15, help="timed runs of the speed part, of which the best counts"
    )
    parser.add_argument("--quick", action="store_true", help="a quick look: fewer pictures, types and seeds")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="Concept .* is skipped")
    report = speed(3 if options.quick else options.repeats)
    if options.data:
        report |= claims(options)
    print(json.dumps(report))


def claims(options: argparse.Namespace) -> dict[str, Any]:
    fewest, most = options.positives
    described = describe(options.data, options.cache, fewest, most, options.quick)
    print(
        f"{len(described.judgments.queries)} concepts, {len(described.judgments.candidates)} pictures, "
        f"{len(described.features)} feature types"
    )
    runs = []
    for seed in range(1 if options.quick else options.seeds):
        runs.append(measure(described, seed))
        print_run(seed, runs[-1])
        sys.stdout.flush()
    if options.out:
        write_figures(options.out, runs)
    return {
        "paper": summary(PAPER, runs),
        "best": summary(BEST, runs),
        "others": {name: summary(name, runs) for name in TRACED if name not in (REFERENCE, PAPER, BEST)},
        "map_full": {name: float(np.mean([run.ends[name] for run in runs])) for name in runs[0].ends},
    }


def measure(described: Described, seed: int) -> Run:
    """One split: train on `base`, fit and choose on `rank`, rank `test`."""
    config = Config(methods=(*TRACED, *ENDS), seed=seed)  # type: ignore[arg-type]
    roles = described.roles(seed)
    pools = fit_pools(described.features, described.judgments, roles, SVMConfig(seed=seed))
    examples = rank_examples(
        pools, score_items(pools, described.features, sorted(roles.items("rank"))), described.judgments
    )
    model = fit_rankers(pools, examples, config)
    items = sorted(roles.items("test"))
    concepts = [c for c in model.names if described.judgments.grades(c, items).any()]
    found = score_items(pools, described.features, items)
    with threadpool_limits(1):
        traces = {m: trace_all(model.plans[m], concepts, pools, described, items) for m in TRACED}
        grid = regulariser_plans(examples, config.lambdas) if seed == 0 else {}
    known = {concept: concept_scores(pools, found, concept) for concept in concepts} if grid else {}
    regularisers = {
        key: [
            trace_scored(plans[c], c, scored, described.judgments.grades(c, items) > 0) for c, scored in known.items()
        ]
        for key, plans in grid.items()
    }
    ends = {m: float(mean_curve(of_method, "evaluations", FULL)[1][-1]) for m, of_method in traces.items()}
    ends |= end_points(model, examples, found, concepts, described, items)
    return Run(traces, ends, model.chosen, regularisers)


def fit_pools(
    features: Mapping[str, FeatureMatrix], judgments: Judgments, roles: Roles, svm: SVMConfig
) -> dict[str, SVMPool]:
    """One pool per feature type, trained on the base role."""
    return {kind: fit_pool(kind, features[kind], judgments, roles.items("base"), svm) for kind in sorted(features)}


def trace_all(
    plans: Mapping[str, Plan],
    concepts: Sequence[str],
    pools: Mapping[str, SVMPool],
    described: Described,
    items: Sequence[str],
    repeats: int = 2,
) -> list[Trace]:
    found = []
    for concept in concepts:
        relevant = described.judgments.grades(concept, items) > 0
        models = ConceptModels.of(pools, concept)
        found.append(trace(plans[concept], models, described.features, items, relevant, repeats=repeats))
    return found


def end_points(
    model: Model,
    examples: Mapping[str, Examples],
    found: Mapping[str, FeatureMatrix],
    concepts: Sequence[str],
    described: Described,
    items: Sequence[str],
) -> dict[str, float]:
    """MAP of the methods that evaluate every SVM on every item."""
    values: dict[str, list[float]] = {}
    for concept in concepts:
        X = concept_scores(model.pools, found, concept)
        relevant = described.judgments.grades(concept, items) > 0
        rankings = {method: model.plans[method][concept].score(X) for method in ENDS}
        try:
            fitted = LightGBMStacking().fit(examples[concept].scores, examples[concept].relevant)
            rankings["lightgbm"] = fitted.predict(X)
        except MediarankError as error:
            warnings.warn(str(error), stacklevel=1)
        for method, ranking in rankings.items():
            values.setdefault(method, []).append(average_precision(relevant, ranking))
    return {method: float(np.mean(of_method)) for method, of_method in values.items()}


def compare(name: str, run: Run, share: float = 0.99) -> dict[str, float]:
    """A method against RankBoost on one split. Equal time is the time that the method takes to its end."""
    reference, other = run.traces[REFERENCE], run.traces[name]
    budget = float(np.mean([t.seconds[-1] for t in other]))
    at = np.array([budget])
    won = [o.at("seconds", at, FULL)[0] >= r.at("seconds", at, FULL)[0] for r, o in zip(reference, other, strict=True)]
    last = {m: np.mean([t.evaluations[-1] for t in run.traces[m]]) for m in (REFERENCE, name)}
    return {
        "speedup_map100": speed_up(reference, other, "evaluations", 100, share),
        "speedup_full": speed_up(reference, other, "evaluations", FULL, share),
        "time_speedup_map100": speed_up(reference, other, "seconds", 100, share),
        "time_speedup_full": speed_up(reference, other, "seconds", FULL, share),
        "gain_fixed_time": gain_at(reference, other, "seconds", FULL, budget),
        "gain_end": run.ends[name] / run.ends[REFERENCE] - 1,
        "concepts_won": float(np.mean(won)),
        "evaluations_fraction": float(last[name] / last[REFERENCE]),
    }


def summary(name: str, runs: Sequence[Run]) -> dict[str, Any]:
    """Means over seeds, their standard deviations, the same at 95 % of RankBoost's best, and bootstrap intervals."""
    rows = [compare(name, run) for run in runs]
    at95 = [compare(name, run, 0.95) for run in runs]
    means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    spread = {key: float(np.std([row[key] for row in rows])) for key in rows[0]}
    looser = {key: float(np.mean([row[key] for row in at95])) for key in rows[0] if "speedup" in key}
    intervals = {f"speedup_{what}": bootstrap(name, runs, depth) for what, depth in (("map100", 100), ("full", FULL))}
    print(f"\n{name} against {REFERENCE}, mean of {len(runs)} seeds (standard deviation):")
    for key, value in means.items():
        at = f"; at 95 % {looser[key]:.2f}" if key in looser else ""
        interval = (
            f"; 95 % of resampled concepts {intervals[key][0]:.2f} to {intervals[key][1]:.2f}"
            if key in intervals
            else ""
        )
        print(f"  {key:22s} {value:6.3f} ({spread[key]:.3f}){at}{interval}")
    return {"name": name, **means, "spread": spread, "at_95": looser, "intervals": intervals}


def bootstrap(name: str, runs: Sequence[Run], depth: int, resamples: int = 500) -> tuple[float, float]:
    """Where 95 % of the speed-ups in evaluations lie when concepts are drawn anew."""
    rng = np.random.default_rng(7)
    budgets = np.geomspace(0.5, 200, 600)
    tables = [
        tuple(np.stack([t.at("evaluations", budgets, depth) for t in run.traces[m]]) for m in (REFERENCE, name))
        for run in runs
    ]
    values = []
    for _ in range(resamples):
        ratios = []
        for reference, other in tables:
            drawn = rng.integers(len(reference), size=len(reference))
            first, second = reference[drawn].mean(axis=0), other[drawn].mean(axis=0)
            level = 0.99 * first.max()
            reached = second.max() >= level
            ratios.append(budgets[np.argmax(first >= level)] / budgets[np.argmax(second >= level)] if reached else 0.0)
        values.append(np.mean(ratios))
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def print_run(seed: int, run: Run) -> None:
    print(f"\nseed {seed}: chosen on the rank role: {dict(run.chosen)}")
    print(
        f"  {'method':22s} MAP     MAP@100 evaluations  ms/concept; MAP at {', '.join(map(str, BUDGETS))} evaluations"
    )
    for method, traces in run.traces.items():
        ends = [mean_curve(traces, "evaluations", depth)[1][-1] for depth in (FULL, 100)]
        evaluations, seconds = (np.mean([getattr(t, axis)[-1] for t in traces]) for axis in ("evaluations", "seconds"))
        early = [np.mean([t.at("evaluations", np.array([float(b)]), FULL)[0] for t in traces]) for b in BUDGETS]
        print(
            f"  {method:22s} {ends[0]:.4f}  {ends[1]:.4f}  {evaluations:8.1f}  {seconds * 1e3:10.1f}    ",
            " ".join(f"{value:.3f}" for value in early),
        )
    others = {method: value for method, value in run.ends.items() if method not in run.traces}
    print("  evaluating every SVM:", ", ".join(f"{method} {value:.4f}" for method, value in others.items()))


def write_figures(folder: Path, runs: Sequence[Run]) -> None:
    """Figures 6 to 9 of the paper, of the first seed, as CSV."""
    first = runs[0]
    pair = {m: first.traces[m] for m in (REFERENCE, PAPER, BEST)}
    budget = float(np.mean([t.seconds[-1] for t in first.traces[BEST]]))
    seven = figure7(pair, budget)
    best_to_worst = seven.assign(gain=seven[BEST] - seven[REFERENCE]).sort_values("gain")["concept"].tolist()
    store.write_csv(folder / "figure6_seconds.csv", figure6(first.traces))
    store.write_csv(folder / "figure6_evaluations.csv", figure6(first.traces, "evaluations"))
    store.write_csv(folder / "figure7.csv", seven)
    store.write_csv(folder / "figure8.csv", figure8(pair, best_to_worst[:1] + best_to_worst[-3:]))
    store.write_csv(folder / "figure9.csv", figure9(first.regularisers))


if __name__ == "__main__":
    main()
