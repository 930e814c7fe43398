"""Paper 000: how well, how fast and with how little work rare concepts are ranked.

    python benchmarks/concepts.py                     # speed, on made-up data (see concepts_speed.py)
    python benchmarks/concepts.py --data FOLDER       # the speed part, then the paper's section 5 on a collection

With a collection: fifty feature types are extracted (and kept in --cache); words, concepts or classes with 25 to 200
pictures are the concepts, of which --concepts are taken, evenly spread; for each seed the pictures are dealt out
50/20/30, near-duplicates together; a hundred SVMs per concept are trained, rankers are fitted, and the third part is
ranked, every SVM really evaluated on the survivors of its step only. With `--learn all` SVMs are trained on the first
two parts and rankers learn from their held-out scores; `--learn split` is the paper's way: SVMs on the first part,
rankers on the second. Methods are compared with RankBoost and with logistic stacking by figures 6 to 9 of the paper;
--out writes them as tables. `forward_keep_all` is forward_cascade without pruning, `forward_extraction` knows what the
extraction of features costs. The best cascade is the one that validated best. All settings are chosen without the test
part; the cascades' schedule, the grids of strengths and the fifty types come from earlier studies on Corel 5K, so on
that collection they are not untouched. `--rows network all` measures with a pretrained network in the pool
instead (see concepts_network.py). --quick takes a few pictures, types and concepts. The last line is one JSON
object.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
from concepts_compare import Run, priced, summary, trace
from concepts_data import Described, describe
from concepts_network import network_rows
from concepts_speed import speed
from rivals_lightgbm import LightGBMStacking
from threadpoolctl import threadpool_limits

from mediarank import store
from mediarank.base_models.concept import ConceptModels
from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import SVMConfig
from mediarank.base_models.training import train_pool
from mediarank.evaluation.metrics import average_precision
from mediarank.fanout import fan_out
from mediarank.learners.boosting.choice import Examples
from mediarank.learners.boosting.imbalanced_rankboost import ImbalancedRankBoost, Regulariser
from mediarank.learners.boosting.plan import Plan
from mediarank.learners.boosting.rankboost import RankBoost
from mediarank.systems.concepts.config import Config
from mediarank.systems.concepts.figures import (
    FULL,
    Trace,
    figure6,
    figure7,
    figure8,
    figure9,
    mean_curve,
    trace_scored,
)
from mediarank.systems.concepts.fit import METHODS, fit_rankers, rank_examples, settle
from mediarank.systems.concepts.model import concept_scores, score_items
from mediarank.types import Floats, MediarankError

REFERENCE, STACKING, PAPER = "rankboost", "logistic_stacking", "imbalanced_rankboost"
CASCADES = ("boosted_cascade", "stacked_cascade", "forward_cascade")
ABLATION, EXTRACTION = "forward_keep_all", "forward_extraction"
ENDS = ("mean_fusion", "best_single", "ridge_stacking")
FITTED = (REFERENCE, PAPER, *CASCADES, STACKING, *ENDS)
BUDGETS = (1, 2, 3, 5, 10, 20)
ROLES = {"all": (("base", "rank"), ("base", "rank")), "split": (("base",), ("rank",))}
"""How to learn -> the roles of the SVMs, and those of the rankers."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of a collection with concepts, keywords or classes")
    parser.add_argument("--cache", type=Path, default=Path(".mediarank/cache/benchmarks"), help="for features")
    parser.add_argument("--out", type=Path, help="a folder for the figures' tables")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--concepts", type=int, default=40, help="how many concepts, evenly spread; 0 for all")
    parser.add_argument(
        "--rows", nargs="+", choices=("paper", "network", "all"), default=["paper"], help="paper: the fifty types"
    )
    parser.add_argument("--learn", choices=tuple(ROLES), default="all", help="see above")
    parser.add_argument("--positives", type=int, nargs=2, default=(25, 200), metavar=("FEWEST", "MOST"))
    parser.add_argument(
        "--repeats",
        type=int,
        default=15,
        help="timed runs of the speed part, of which the best counts; 0 leaves it out",
    )
    parser.add_argument("--quick", action="store_true", help="a quick look: fewer pictures, types and seeds")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="Concept .* is skipped")
    report: dict[str, Any] = {}
    if options.repeats:
        with one_thread():
            report = speed(3 if options.quick else options.repeats)
    if options.data and "paper" in options.rows:
        report |= claims(options)
    networks = [name for name in options.rows if name != "paper"]
    if options.data and networks:
        limits = (options.concepts, 1 if options.quick else options.seeds)
        report |= network_rows(options.data, options.cache, tuple(options.positives), *limits, networks)
    print(json.dumps(report))


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


def claims(options: argparse.Namespace) -> dict[str, Any]:
    fewest, most = options.positives
    described = describe(options.data, options.cache, fewest, most, options.concepts, options.quick)
    print(
        f"{len(described.judgments.queries)} of {described.concepts} concepts, {len(described.judgments.candidates)} "
        f"pictures, {len(described.features)} feature types; learning from {options.learn}"
    )
    runs = []
    for seed in range(1 if options.quick else options.seeds):
        runs.append(measure(described, seed, options.learn))
        print_run(seed, runs[-1])
        sys.stdout.flush()
    best = max(CASCADES, key=lambda m: np.mean([run.validation[m] for run in runs]))
    if options.out:
        write_figures(options.out, runs[0], best)
    others = [name for name in (*CASCADES, ABLATION, EXTRACTION) if name != best]
    return {
        "learn": options.learn,
        "concepts": len(described.judgments.queries),
        "paper": summary(PAPER, runs, REFERENCE),
        "best": summary(best, runs, REFERENCE),
        "best_against_stacking": summary(best, runs, STACKING),
        "others": {name: summary(name, runs, REFERENCE) for name in others},
        "map_full": {name: float(np.mean([run.ends[name] for run in runs])) for name in runs[0].ends},
        "validation": {name: float(np.mean([run.validation[name] for run in runs])) for name in FITTED},
        "settings": print_settings(runs[0]),
    }


def measure(described: Described, seed: int, learn: str) -> Run:
    """One split: train SVMs, fit rankers and choose settings, rank `test`."""
    train_on, learn_from = ROLES[learn]
    config = Config(methods=FITTED, seed=seed)  # type: ignore[arg-type]
    roles, judgments = described.roles(seed), described.judgments
    groups = dict(zip(roles.table["item_id"], roles.table["group_id"], strict=True))
    svm = SVMConfig(seed=seed, roles=train_on)  # type: ignore[arg-type]
    trained = {
        kind: train_pool(kind, matrix, judgments, roles.items(*train_on), svm, groups)
        for kind, matrix in sorted(described.features.items())
    }
    pools = {kind: found.pool for kind, found in trained.items()}
    learning, items = sorted(roles.items(*learn_from)), sorted(roles.items("test"))
    scores = {kind: found.score(described.features[kind], learning) for kind, found in trained.items()}
    examples = rank_examples(pools, scores, judgments, groups=groups)
    dear = rank_examples(pools, scores, judgments, described.extraction, groups)
    model = fit_rankers(pools, examples, config)
    found = score_items(pools, described.features, items)
    concepts = [c for c in model.names if judgments.grades(c, items).any()]
    known = {c: (concept_scores(pools, found, c), judgments.grades(c, items) > 0) for c in concepts}
    plans = {m: dict(model.plans[m]) for m in (REFERENCE, PAPER, *CASCADES, STACKING)} | variants(
        examples, dear, config, model.chosen
    )
    with one_thread():
        traces = {m: trace_all(of_method, known, pools, described, items) for m, of_method in plans.items()}
    by_price = {
        m: [priced(of_method[c], c, *known[c], dear[c].costs) for c in concepts]  # type: ignore[arg-type]
        for m, of_method in plans.items()
    }
    ends = {m: float(mean_curve(of_method, "evaluations", FULL)[1][-1]) for m, of_method in traces.items()}
    ends |= end_points({m: model.plans[m] for m in ENDS}, examples, known)
    settings = settings_traces(examples, known) if seed == 0 else {}
    return Run(traces, by_price, ends, model.chosen, model.validation, settings)


def variants(
    examples: Mapping[str, Examples], dear: Mapping[str, Examples], config: Config, chosen: Mapping[str, float]
) -> dict[str, dict[str, Plan]]:
    """forward_cascade without pruning, which shows what its weights alone are worth, and with costs of extraction."""
    plain = replace(config, strengths=(chosen["strength"],), cost_weights=(chosen["cost_weight"],))
    costly = settle(list(dear.values()), config)
    forward = METHODS["forward_cascade"]
    kept, paid = (
        fan_out(partial(forward, setting), list(given.values()), "variants of the cascade")
        for setting, given in ((replace(plain, keep=1.0, floor=1.0), examples), (costly, dear))
    )
    return {
        ABLATION: {c: ranker.plan_ for c, ranker in zip(examples, kept, strict=True)},
        EXTRACTION: {c: ranker.plan_ for c, ranker in zip(dear, paid, strict=True)},
    }


def trace_all(
    plans: Mapping[str, Plan],
    known: Mapping[str, tuple[Floats, np.ndarray]],
    pools: Mapping[str, SVMPool],
    described: Described,
    items: Sequence[str],
) -> list[Trace]:
    return [
        trace(plans[concept], ConceptModels.of(pools, concept), described.features, items, relevant, repeats=2)
        for concept, (_, relevant) in known.items()
    ]


def settings_traces(
    examples: Mapping[str, Examples], known: Mapping[str, tuple[Floats, np.ndarray]]
) -> dict[tuple[str, str, str, float], list[Trace]]:
    """Figure 9, and both score ranges and steps: curves by evaluations from known scores."""
    grid: list[tuple[str, str, str, float]] = [
        ("symmetric", "bound", regulariser, strength)
        for regulariser in get_args(Regulariser)
        for strength in Config().lambdas
    ]
    grid += [(r, s, "squared", 0.05) for r, s in (("unit", "bound"), ("symmetric", "exact"), ("unit", "exact"))]
    grid += [(r, s, "rankboost", 0.0) for r in ("symmetric", "unit") for s in ("bound", "exact")]
    plans = fan_out(partial(_plans_of, grid), [examples[c] for c in known], "settings of RankBoost")
    return {
        setting: [
            trace_scored(of_concept[number], concept, *known[concept])
            for concept, of_concept in zip(known, plans, strict=True)
        ]
        for number, setting in enumerate(grid)
    }


def _plans_of(grid: Sequence[tuple[str, str, str, float]], e: Examples) -> list[Plan]:
    found = []
    for score_range, step, regulariser, strength in grid:
        ranker: Any = (
            RankBoost(score_range=score_range, step=step)  # type: ignore[arg-type]
            if regulariser == "rankboost"
            else ImbalancedRankBoost(200, score_range, step, regulariser, strength)  # type: ignore[arg-type]
        )
        found.append(ranker.fit(e.scores, e.relevant).plan_)
    return found


def end_points(
    plans: Mapping[str, Mapping[str, Plan]],
    examples: Mapping[str, Examples],
    known: Mapping[str, tuple[Floats, np.ndarray]],
) -> dict[str, float]:
    """MAP of the methods that evaluate every SVM on every item."""
    values: dict[str, list[float]] = {}
    for concept, (X, relevant) in known.items():
        rankings = {method: of_method[concept].score(X) for method, of_method in plans.items()}
        try:
            fitted = LightGBMStacking().fit(examples[concept].scores, examples[concept].relevant)
            rankings["lightgbm"] = fitted.predict(X)
        except MediarankError as error:
            warnings.warn(str(error), stacklevel=1)
        for method, ranking in rankings.items():
            values.setdefault(method, []).append(average_precision(relevant, ranking))
    return {method: float(np.mean(of_method)) for method, of_method in values.items()}


def print_run(seed: int, run: Run) -> None:
    print(f"\nseed {seed}: chosen without the test part: {dict(run.chosen)}")
    print(
        f"  {'method':22s} MAP     MAP@100 MAP@500 evaluations  ms/concept  validated; MAP at "
        f"{', '.join(map(str, BUDGETS))} evaluations"
    )
    for method, traces in run.traces.items():
        ends = [mean_curve(traces, "evaluations", depth)[1][-1] for depth in (FULL, 100, 500)]
        evaluations, seconds = (np.mean([getattr(t, axis)[-1] for t in traces]) for axis in ("evaluations", "seconds"))
        early = [np.mean([t.at("evaluations", np.array([float(b)]), FULL)[0] for t in traces]) for b in BUDGETS]
        print(
            f"  {method:22s} {ends[0]:.4f}  {ends[1]:.4f}  {ends[2]:.4f} {evaluations:8.1f}  {seconds * 1e3:10.1f}  "
            f"{run.validation.get(method, float('nan')):9.4f}    ",
            " ".join(f"{value:.3f}" for value in early),
        )
    others = {method: value for method, value in run.ends.items() if method not in run.traces}
    print("  evaluating every SVM:", ", ".join(f"{method} {value:.4f}" for method, value in others.items()))


def print_settings(run: Run) -> list[dict[str, Any]]:
    """Figure 9 as a table: where each setting of RankBoost and Imbalanced RankBoost ends."""
    print("\nsettings of RankBoost and Imbalanced RankBoost, first seed:")
    rows = []
    for (score_range, step, regulariser, strength), traces in run.settings.items():
        ends = [float(mean_curve(traces, "evaluations", depth)[1][-1]) for depth in (FULL, 100, 500)]
        evaluations = float(np.mean([t.evaluations[-1] for t in traces]))
        print(
            f"  {score_range:9s} {step:5s} {regulariser:12s} λ {strength:<5g} MAP {ends[0]:.4f}  MAP@100 {ends[1]:.4f}"
            f"  MAP@500 {ends[2]:.4f}  evaluations {evaluations:.1f}"
        )
        names = ("range", "step", "regulariser", "lambda", "map", "map100", "map500", "evaluations")
        values = (score_range, step, regulariser, strength, *ends, evaluations)
        rows.append(dict(zip(names, values, strict=True)))
    return rows


def write_figures(folder: Path, run: Run, best: str) -> None:
    """Figures 6 to 9 of the paper, of the first seed, as CSV."""
    pair = {m: run.traces[m] for m in (REFERENCE, PAPER, best)}
    budget = float(np.mean([t.seconds[-1] for t in run.traces[best]]))
    seven = figure7(pair, budget)
    best_to_worst = seven.assign(gain=seven[best] - seven[REFERENCE]).sort_values("gain")["concept"].tolist()
    nine = {
        key[2:]: traces
        for key, traces in run.settings.items()
        if key[:2] == ("symmetric", "bound") and key[2] != "rankboost"
    }
    store.write_csv(folder / "figure6_seconds.csv", figure6(run.traces))
    store.write_csv(folder / "figure6_evaluations.csv", figure6(run.traces, "evaluations"))
    store.write_csv(folder / "figure7.csv", seven)
    store.write_csv(folder / "figure8.csv", figure8(pair, best_to_worst[:1] + best_to_worst[-3:]))
    store.write_csv(folder / "figure9.csv", figure9(nine, "evaluations"))


if __name__ == "__main__":
    main()
