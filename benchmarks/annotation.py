"""Paper 001: how well and how fast keywords are suggested.

    python benchmarks/annotation.py                     # speed of boosting, on made-up pairs
    python benchmarks/annotation.py --data FOLDER       # table 1 on a collection with keywords and its own split

With a collection: features are extracted, for each set of feature types all methods are fitted to the training images,
their numbers chosen by cross-validation among them, and the test images are annotated. Features, distances and results
are kept in --cache, so the table may be measured in portions (--sets, --methods); a last run with all of them prints it
at once. With --held-out, test images are not measured: only what cross-validation says is printed.
The last line is one JSON object: every method's figures of the last set, with `f1` and `held_out_f1` by method and
`best`, the best one by cross-validation; `other_features` has the same of the other sets, and `network` and `all` are
the best of these sets.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from annotation_results import Result, Split, drawn_again, measure
from annotation_speed import boosting
from annotation_types import SETS, describe

from mediarank.evaluation.keywords import KeywordScores, row_scores
from mediarank.systems.annotation.average import choose_average
from mediarank.systems.annotation.config import AVERAGE, METHODS, Config
from mediarank.systems.annotation.methods import mean_scores

PUBLISHED: Mapping[str, Mapping[str, tuple[int, int, int]]] = {
    "corel5k": {
        "jec": (27, 32, 139), "lasso": (24, 29, 127), "nw_rnn": (29, 32, 149), "rnn": (31, 34, 149),
        "tagprop": (33, 42, 160), "2pknn": (39, 40, 177), "2pknn_margin": (44, 46, 191),
    },
    "iaprtc12": {
        "jec": (28, 29, 250), "lasso": (28, 29, 246), "nw_rnn": (28, 30, 259), "rnn": (33, 31, 255),
        "tagprop": (46, 35, 266), "2pknn": (49, 32, 274), "2pknn_margin": (54, 37, 278),
    },
    "espgame": {
        "jec": (22, 25, 224), "tagprop": (39, 27, 239), "2pknn": (51, 23, 245), "2pknn_margin": (53, 27, 252),
    },
}  # fmt: skip
"""P %, R %, N+: table 1 of paper 001; TagProp and 2PKNN as their authors report them, on other features."""
MEASURED = tuple(method for method in METHODS if METHODS[method].aim == "f1")
ROUNDS, DEPTHS = (400,), (50, 200)
DRAWN = ("nw_rnn", "rnn", "drawn_rnn")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of a collection with keywords and a test part")
    parser.add_argument("--cache", type=Path, default=Path(".mediarank/cache/benchmarks"), help="for all that is kept")
    parser.add_argument("--sets", nargs="+", default=["jec", "jec_joint", "rich", "network", "all"], choices=SETS)
    parser.add_argument("--methods", nargs="+", default=list(MEASURED), choices=METHODS)
    parser.add_argument("--held-out", action="store_true", help="print what cross-validation says, no test figure")
    parser.add_argument("--repeats", type=int, default=0, help="other draws of pairs, for RNN and its variants")
    parser.add_argument("--pairs", type=int, nargs="+", default=[500], help="per training image; chosen of several")
    parser.add_argument("--rounds", type=int, nargs="+", default=ROUNDS, help="of RankBoost; chosen of several")
    parser.add_argument("--depths", type=int, nargs="+", default=DEPTHS, help="of NDCG; chosen of several")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--speed-pairs", type=int, default=2_000_000, help="of the speed part; 0 leaves it out")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # what a run that is cut short has found is not lost
    report = claims(options) if options.data else {}
    report |= boosting(options.speed_pairs) if options.speed_pairs else {}
    print(json.dumps(report))


def claims(options: argparse.Namespace) -> dict[str, Any]:
    tables = {}
    for name in options.sets:
        config = Config(
            tuple(SETS[name]),
            SETS[name],
            tuple(options.methods),
            serve_for="words",
            pairs=tuple(options.pairs),
            rounds=tuple(options.rounds),
            ndcg_depth=tuple(options.depths),
            tagprop_iterations=1000,  # enough to converge
            seed=options.seed,
        )
        described = describe(options.data, options.cache, SETS[name])
        tables[name] = table_of(name, described.source, Split(described, config, options.cache), options)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\npeak memory {peak:.1f} GiB")
    last = options.sets[-1]
    best = {name: table["best"] for name, table in tables.items() if name in ("network", "all")}
    return {
        "features": last,
        **tables[last],
        "other_features": {name: table for name, table in tables.items() if name != last},
        **best,
        "peak_gib": round(peak, 2),
    }


def table_of(name: str, source: str, split: Split, options: argparse.Namespace) -> dict[str, Any]:
    """Fit, choose and measure everything on one set of feature types."""
    print(
        f"\n{name}: {len(split.config.features)} feature types, {len(split.train)} training images, {len(split.test)} "
        f"test images, {len(split.words)} words"
    )
    results = measure(split, split.config.methods)
    results[AVERAGE] = averaged(split, results)
    held_out = {method: held_out_figures(split, found) for method, found in results.items()}
    tested = {} if options.held_out else {m: row_scores(split.true, found.test) for m, found in results.items()}
    print(
        f"{'method':16}{'P %':>6}{'R %':>6}{'F1 %':>6}{'N+':>5}  {'published':12}{'held out: P, R, F1 %':>22}  chosen"
    )
    for method, found in results.items():
        published = PUBLISHED.get(source, {}).get(method)
        print_row(method, tested.get(method), published, held_out[method], found.settings)
    rules = [found.by_rule for found in results.values() if found.by_rule]
    for rule in ("balanced", "highest"):
        p, r, f1 = np.mean([found[rule] for found in rules], axis=0)
        print(f"settings chosen by the {rule} F1, on folds that did not choose: P {p:.1f} R {r:.1f} F1 {f1:.2f}")
    unseen = average_elsewhere(split, results)
    print(f"methods averaged that the other folds choose: P {unseen[0]} R {unseen[1]} F1 {unseen[2]}")
    best = max(held_out, key=lambda method: held_out[method].f1)  # by cross-validation, not by the table
    for point in results["rnn"].effect_of_k if "rnn" in results else ():
        print(f"figure 1, k = {point['k']:>3}: P {point['precision']:.3f} R {point['recall']:.3f} N+ {point['n_plus']}")
    found: dict[str, Any] = {method: short(scores) for method, scores in tested.items()}
    if options.repeats and tested:
        found["repeated"] = repeated(split, options.repeats)
    found["best"] = {"name": best, "held_out_f1": percent(held_out[best].f1)}
    if tested:
        found["best"] |= short(tested[best]) | {"f1": percent(tested[best].f1), "n_plus": tested[best].n_plus}
    found["f1"] = {method: percent(scores.f1) for method, scores in tested.items()}
    found["held_out_f1"] = {method: percent(scores.f1) for method, scores in held_out.items()}
    found["average_elsewhere"] = unseen
    found["seconds"] = {method: round(result.seconds, 1) for method, result in results.items() if method != AVERAGE}
    return found


def averaged(split: Split, results: Mapping[str, Result]) -> Result:
    """The sum of the methods that do best together on held-out images."""
    folds = {method: found.held_out for method, found in results.items()}
    chosen = choose_average(folds, split.held_out_words, split.config.words, split.config.aim)
    parts = list(zip(chosen.of, chosen.units, strict=True))

    def total(of: Mapping[str, np.ndarray]) -> np.ndarray:
        return np.sum([of[method] / unit for method, unit in parts], axis=0)

    held_out = [total({m: rows[n] for m, rows in folds.items()}) for n in range(len(split.held_out_words))]
    test = total({method: found.test for method, found in results.items()})
    return Result(held_out, test, " + ".join(chosen.of), 0.0)


def average_elsewhere(split: Split, results: Mapping[str, Result]) -> list[float]:
    """P, R, F1 in %, means over folds, of the average that the other folds choose: without the gain of choosing."""
    parts = {method: found.held_out for method, found in results.items() if method != AVERAGE}
    figures = []
    for fold, true in enumerate(split.held_out_words):
        others = {m: [rows for n, rows in enumerate(folds) if n != fold] for m, folds in parts.items()}
        words = [rows for n, rows in enumerate(split.held_out_words) if n != fold]
        chosen = choose_average(others, words, split.config.words, split.config.aim)
        total = np.sum([parts[m][fold] / unit for m, unit in zip(chosen.of, chosen.units, strict=True)], axis=0)
        figures.append(row_scores(true, total))
    mean = mean_scores(figures)
    return [percent(mean.precision), percent(mean.recall), percent(mean.f1)]


def held_out_figures(split: Split, found: Result) -> KeywordScores:
    folds = zip(split.held_out_words, found.held_out, strict=True)
    return mean_scores([row_scores(true, scores) for true, scores in folds])


def repeated(split: Split, draws: int) -> dict[str, dict[str, list[float]]]:
    """Means and deviations over other draws of pairs, of RNN and its variants among the methods."""
    found = {}
    for method in [m for m in DRAWN if m in split.config.methods]:
        scores = [row_scores(split.true, test) for test in drawn_again(split, method, draws)]
        figures = [(100 * s.precision, 100 * s.recall, s.n_plus, 100 * s.f1) for s in scores]
        mean, spread = np.mean(figures, axis=0).round(1).tolist(), np.std(figures, axis=0).round(1).tolist()
        found[method] = {"mean": mean, "deviation": spread}
        text = ", ".join(f"{key} {m} ± {s}" for key, m, s in zip(("P", "R", "N+", "F1"), mean, spread, strict=True))
        print(f"{method} over {draws} other draws of pairs: {text}")
    return found


def print_row(
    method: str,
    tested: KeywordScores | None,
    published: Sequence[int] | None,
    held_out: KeywordScores,
    settings: str,
) -> None:
    figures = " " * 23
    if tested is not None:
        shares = (tested.precision, tested.recall, tested.f1)
        figures = "".join(f"{100 * share:6.1f}" for share in shares) + f"{tested.n_plus:5}"
    validated = "".join(f"{100 * s:6.1f}" for s in (held_out.precision, held_out.recall, held_out.f1))
    print(f"{method:16}{figures}  {'/'.join(map(str, published or '-')):12}{validated:>22}  {settings}")


def short(found: KeywordScores) -> dict[str, float]:
    return {"p": percent(found.precision), "r": percent(found.recall), "n": found.n_plus}


def percent(value: float) -> float:
    return round(100 * value, 1)


if __name__ == "__main__":
    main()
