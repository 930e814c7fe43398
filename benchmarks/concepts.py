"""Paper 000: how well, how fast and with how little work rare concepts are ranked.

    python benchmarks/concepts.py                     # speed, on made-up data (see concepts_speed.py)
    python benchmarks/concepts.py --data FOLDER       # the speed part, then the paper's section 5 on a collection

With a collection: fifty feature types are extracted; words, concepts or classes with 25 to 200 pictures are the
concepts, of which --concepts are taken, evenly spread; for each split the pictures are dealt out 50/20/30,
near-duplicates together; base models are trained (see concepts_rows.py), rankers are fitted, and the third part is
ranked. With `--learn all` base models are trained on the first two parts and rankers learn from their held-out scores;
`--learn split` is the paper's way: base models on the first part, rankers on the second. Methods of a row are compared
with RankBoost and with logistic stacking on the same base models by figures 6 to 9 of the paper; --out writes them as
tables. Methods that end in `keep_all` are cascades without pruning, `forward_extraction` knows what
the extraction of features costs.

The best of ours is the cascade, in the row `paper` or `ridge`, that validated best within 1.5 evaluations per item
(`budget` in the settings of `concepts`). All settings are chosen without the test part. Features, base models and
curves are kept in --cache: a benchmark that was stopped goes on where it stopped, and to look again costs nothing.
--quick takes a few pictures, types and concepts. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from concepts_compare import Run, one_thread, summary
from concepts_data import Described, describe
from concepts_measure import (
    ABLATIONS,
    CASCADES,
    EXTRACTION,
    FITTED,
    HANDMADE,
    PAPER,
    REFERENCE,
    ROLES,
    STACKING,
    measured,
)
from concepts_rows import ROWS, with_network
from concepts_speed import speed

from mediarank import store
from mediarank.systems.concepts.figures import FULL, figure6, figure7, figure8, figure9

BUDGETS = (1, 2, 3, 5, 10, 20)
SETTING = ("range", "step", "regulariser", "lambda", "map", "map100", "map500", "evaluations")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of a collection with concepts, keywords or classes")
    parser.add_argument("--cache", type=Path, default=Path(".mediarank/cache/benchmarks"), help="for all that is slow")
    parser.add_argument("--out", type=Path, help="a folder for the figures' tables")
    parser.add_argument("--seeds", type=int, default=2, help="how many splits")
    parser.add_argument("--first-seed", type=int, default=10, help="of the splits; earlier studies used 0 to 4")
    parser.add_argument("--concepts", type=int, default=40, help="how many concepts, evenly spread; 0 for all")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(HANDMADE), help="see concepts_rows.py")
    parser.add_argument("--learn", choices=tuple(ROLES), default="all", help="see above")
    parser.add_argument("--positives", type=int, nargs=2, default=(25, 200), metavar=("FEWEST", "MOST"))
    parser.add_argument(
        "--repeats",
        type=int,
        default=15,
        help="timed runs of the speed part, of which the best counts; 0 leaves it out",
    )
    parser.add_argument("--quick", action="store_true", help="a quick look: fewer pictures, types, concepts and splits")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="Concept .* is skipped")
    report: dict[str, Any] = {}
    started = time.perf_counter()
    if options.repeats:
        with one_thread():
            report = speed(3 if options.quick else options.repeats)
    if options.data:
        report |= claims(options)
    report["seconds"] = round(time.perf_counter() - started, 1)
    print(json.dumps(_without_nan(report)))


def claims(options: argparse.Namespace) -> dict[str, Any]:
    """The rows that are asked for, and the best of ours."""
    everything = describe(options.data, options.cache, *options.positives, options.quick)
    if {"network", "all"} & set(options.rows):
        everything = with_network(everything, options.data, options.cache)
    described = everything.sample(20 if options.quick else options.concepts)
    print(
        f"{len(described.judgments.queries)} of {len(described.everything.queries)} concepts, "
        f"{len(described.judgments.candidates)} pictures; learning from {options.learn}"
    )
    runs = {row: measured_row(described, row, options) for row in options.rows}
    report: dict[str, Any] = {"learn": options.learn, "concepts": len(described.judgments.queries)}
    report["rows"] = {row: ends(of_row) for row, of_row in runs.items()}
    if "paper" in runs:
        print("\nrow paper")
        others = (*CASCADES, *ABLATIONS, EXTRACTION)
        report["paper"] = summary(PAPER, runs["paper"], REFERENCE)
        report["others"] = {name: summary(name, runs["paper"], REFERENCE) for name in others}
        report["map_full"] = report["rows"]["paper"]["map"]
        report["validation"] = report["rows"]["paper"]["validated"]
        report["settings"] = print_settings(runs["paper"][0])
        if options.out:
            write_figures(options.out, runs["paper"][0], best_cascade(runs["paper"]))
    candidates = {row: best_cascade(runs[row]) for row in HANDMADE if row in runs}
    if candidates:
        row = max(candidates, key=lambda row: _within(runs[row], candidates[row]))
        best = candidates[row]
        print(f"\nrow {row}")
        report["best"] = {"row": row, **summary(best, runs[row], REFERENCE)}
        report["best_against_stacking"] = {"row": row, **summary(best, runs[row], STACKING)}
        unpruned = {method: name for name, method in ABLATIONS.items()} | {"budget_cascade": "forward_keep_all"}
        if best in unpruned:
            report["best_without_pruning"] = summary(unpruned[best], runs[row], REFERENCE)
    return report | {row: with_a_network(runs[row]) for row in ("network", "all") if row in runs}


def measured_row(described: Described, row: str, options: argparse.Namespace) -> list[Run]:
    runs = []
    for number in range(1 if options.quick else options.seeds):
        seed = options.first_seed + number
        settings = row == "paper" and number == 0
        runs.append(measured(described, row, seed, options.learn, options.cache, settings))
        print_run(row, seed, runs[-1])
        sys.stdout.flush()
    return runs


def best_cascade(runs: Sequence[Run]) -> str:
    """The cascade that ranks best within the budget, by cross-validation on the items that rankers learn from."""
    return max(CASCADES, key=lambda method: _within(runs, method))


def _validated(runs: Sequence[Run], method: str) -> float:
    return float(np.mean([run.validation[method] for run in runs]))


def _within(runs: Sequence[Run], method: str) -> float:
    return float(np.mean([run.within[method] for run in runs]))


def ends(runs: Sequence[Run]) -> dict[str, Any]:
    """Where the methods of a row end, as means over splits."""
    methods = list(runs[0].traces)
    found = {
        "map": {m: float(np.mean([run.end(m) for run in runs])) for m in methods},
        "map_of_splits": {m: [run.end(m) for run in runs] for m in methods},
        "evaluations": {m: float(np.mean([run.evaluations(m) for run in runs])) for m in methods},
        "map100": {m: float(np.mean([run.end(m, 100) for run in runs])) for m in methods},
        "map500": {m: float(np.mean([run.end(m, 500) for run in runs])) for m in methods},
        "validated": {m: _validated(runs, m) for m in FITTED},
        "validated_within_budget": {m: _within(runs, m) for m in CASCADES},
        "chosen": [dict(run.chosen) for run in runs],
        "base_models": runs[0].models,
    }
    found["map"] |= {m: float(np.mean([run.trees[m] for run in runs])) for m in runs[0].trees}
    return found


def with_a_network(runs: Sequence[Run]) -> dict[str, Any]:
    """MAP of the best method and of the best cascade by validation, and the share of base models it evaluates."""
    best, cascade = max(FITTED, key=lambda method: _validated(runs, method)), best_cascade(runs)
    return {
        "map": float(np.mean([run.end(best) for run in runs])),
        "cascade_map": float(np.mean([run.end(cascade) for run in runs])),
        "evaluations_fraction": float(np.mean([run.evaluations(cascade) / run.models for run in runs])),
        "best": best,
        "cascade": cascade,
        "base_models": runs[0].models,
        "concepts": len(runs[0].traces[best]),
        "splits": len(runs),
    }


def print_run(row: str, seed: int, run: Run) -> None:
    print(f"\nrow {row}, split {seed}, {run.models} base models: chosen without the test part: {dict(run.chosen)}")
    print(
        f"  {'method':22s} MAP     MAP@100 MAP@500 evaluations  ms/concept  validated; MAP at "
        f"{', '.join(map(str, BUDGETS))} evaluations"
    )
    for method, traces in run.traces.items():
        end = [run.end(method, depth) for depth in (FULL, 100, 500)]
        seconds = np.mean([t.seconds[-1] for t in traces])
        early = [np.mean([t.at("evaluations", np.array([float(b)]), FULL)[0] for t in traces]) for b in BUDGETS]
        print(
            f"  {method:22s} {end[0]:.4f}  {end[1]:.4f}  {end[2]:.4f} {run.evaluations(method):8.2f}  "
            f"{seconds * 1e3:10.1f}  {run.validation.get(method, math.nan):9.4f}    ",
            " ".join(f"{value:.3f}" for value in early),
        )
    for method, value in run.trees.items():
        print(f"  {method:22s} {value:.4f}")


def print_settings(run: Run) -> list[dict[str, Any]]:
    """Figure 9 as a table: where each setting of RankBoost and Imbalanced RankBoost ends."""
    print("\nsettings of RankBoost and Imbalanced RankBoost, first split:")
    rows = []
    for key, traces in run.settings.items():
        end = [float(np.mean([t.precision[depth][-1] for t in traces])) for depth in (FULL, 100, 500)]
        row = dict(zip(SETTING, (*key, *end, float(np.mean([t.evaluations[-1] for t in traces]))), strict=True))
        print(
            f"  {row['range']:9s} {row['step']:5s} {row['regulariser']:12s} λ {row['lambda']:<5g} MAP {row['map']:.4f}"
            f"  MAP@100 {row['map100']:.4f}  MAP@500 {row['map500']:.4f}  evaluations {row['evaluations']:.1f}"
        )
        rows.append(row)
    return rows


def write_figures(folder: Path, run: Run, best: str) -> None:
    """Figures 6 to 9 of the paper, of the first split, as CSV."""
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


def _without_nan(found: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(found, Mapping):
        return {key: _without_nan(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [_without_nan(value) for value in found]
    return None if isinstance(found, float) and math.isnan(found) else found


if __name__ == "__main__":
    main()
