"""Paper 003: how well and how fast search by example is learned.

    python benchmarks/retrieval.py                     # speed, on made-up data (see retrieval_speed.py)
    python benchmarks/retrieval.py --data FOLDER       # the paper's section 5 on a collection with classes

With a collection: features of sixteen hand-made types and of a pretrained network are extracted (and kept in --cache),
nine hand-made ones are picked by validation in each of five folds, all methods are measured by mAP (table 2) and timed
on growing data (figure 1); then come all sixteen types, learned similarities, the network, and classes that were never
seen (retrieval_variants.py); then queries arrive one by one and the live methods learn from the first 50 results
(figures 3 and 4). --per-class and --folds make it a sample. --out writes tables and figures. The last line is one JSON
object.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from retrieval_online import live_learners, simulate
from retrieval_protocol import FoldResult, Prepared, Protocol, cross_validate, deal_folds, prepare, run_fold, summary
from retrieval_speed import learning, searching
from retrieval_types import NETWORK, TYPES, describe
from retrieval_variants import Variant, feature_sets, run_held_out, run_variants

from mediarank import store
from mediarank.evaluation.figures import Line, line_figure
from mediarank.evaluation.protocols import compare
from mediarank.systems.retrieval.collection import Collection

ROWS = ("best_fea", "uni_con", "ranknet", "c_ascent", "ranksvm", "lambdamart", "opr", "opar1", "opar2", "ogdr")
COLUMNS = {
    "corel5k": (0.1846, 0.2990, 0.3133, 0.3406, 0.3366, 0.3683, 0.3292, 0.3340, 0.3389, 0.3228),
    "caltech101": (0.2664, 0.2594, 0.2753, 0.3193, 0.3270, 0.3650, 0.3285, 0.3070, 0.3157, 0.3024),
    "holidays": (0.4892, 0.5175, 0.6292, 0.6373, 0.6429, 0.6230, 0.6219, 0.6329, 0.6283, 0.6368),
}
PUBLISHED = {source: dict(zip(ROWS, column, strict=True)) for source, column in COLUMNS.items()}
"""Table 2; which subset and database of Corel it is of, the paper does not name."""
BASELINES = ("best_fea", "uni_con")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of a collection with classes")
    parser.add_argument("--cache", type=Path, default=Path(".mediarank/cache/benchmarks"), help="for features")
    parser.add_argument("--out", type=Path, help="a folder for tables and figures")
    parser.add_argument("--methods", nargs="+", default=list(Protocol().methods))
    parser.add_argument("--types", nargs="+", default=list(TYPES), choices=list(TYPES), help="feature types")
    parser.add_argument("--per-class", type=int, help="a sample of so many items per class")
    parser.add_argument("--folds", type=int, default=Protocol().folds, help="how many of the five folds are run")
    parser.add_argument("--instances", type=int, default=Protocol().instances, help="triplets to learn from")
    parser.add_argument("--online-queries", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=Protocol().seed)
    parser.add_argument("--triplets", type=int, default=3_000_000, help="of the speed part")
    parser.add_argument("--images", type=int, default=1_000_000, help="of the speed part")
    parser.add_argument("--rounds", type=int, default=3, help="of the speed part: best of so many")
    options = parser.parse_args()
    if options.data:
        report = claims(options)
    else:
        report = {
            **learning(options.triplets, options.rounds),
            **searching(options.images, options.rounds, options.out),
        }
    print(json.dumps(report))


def claims(options: argparse.Namespace) -> dict[str, Any]:
    types = sorted(options.types, key=lambda name: name in NETWORK)  # hand-made ones first
    described = describe(options.data, options.cache, options.seed, types, options.per_class)
    items = tuple(sorted(described.classes))
    rows = tuple(np.ascontiguousarray(matrix.rows(items)) for matrix in described.matrices.values())
    collection = Collection(items, dict(sorted(described.classes.items())), rows)
    names = list(described.matrices)
    print(f"{len(items)} items of {len(set(collection.classes.values()))} classes; {len(names)} feature types")
    protocol = replace(
        Protocol(),
        methods=tuple(options.methods),
        instances=options.instances,
        seed=options.seed,
        folds=options.folds,
    )
    results, variants, held_out, everything = [], [], [], []
    fold_of = deal_folds(items, collection.classes, options.seed)
    network = [name for name in names if name in NETWORK]
    hand_made = len(names) - len(network)
    given = (described.matrices, collection.classes, fold_of)
    started = time.perf_counter()
    for result in cross_validate(collection, fold_of, protocol, described.reserved, described.clutter, hand_made):
        results.append(result)
        sets = feature_sets(result.prepared, names, network)
        variants.append(run_variants(*given, result.prepared, sets, protocol))
        held_out.append(run_held_out(*given, result.prepared, sets, protocol, described.reserved))
        whole = replace(protocol, types=hand_made, methods=("uni_con", "opar2"))
        prepared = prepare(
            collection, fold_of, result.prepared.fold, whole, described.reserved, described.clutter, hand_made
        )
        everything.append(run_fold(prepared, whole.methods))
        picked = ", ".join(names[k] for k in result.prepared.picked)
        maps = ", ".join(f"{method} {result.mean(method):.4f}" for method in result.fitted)
        print(f"fold {result.prepared.fold} ({time.perf_counter() - started:.0f} s): {maps}; {picked}", flush=True)
    table = summary(results)
    print_table(table, PUBLISHED.get(described.source, {}))
    significance(results)
    print_variants("all classes known", variants)
    print_variants("queries of classes that were never seen", held_out)
    growth = growing(results[0])
    online = simulated(results[0].prepared, results[0], options, described.reserved)
    if options.out:
        write(options.out, table, growth, online)
    last = online.groupby("method", sort=False).last()
    print("\nlive: mean nDCG@50 and processor seconds of learning after all queries (figures 3 and 4)")
    print(last[["cumulative", "seconds"]].to_string(float_format=lambda x: f"{x:.4f}"))
    return {
        "items": len(items),
        "folds": len(results),
        "map": {
            **{method: round(row["map"], 4) for method, row in table.items()},
            "all_types_uni_con": _mean([result.mean("uni_con") for result in everything]),
            "all_types_opar2": _mean([result.mean("opar2") for result in everything]),
            **{name: _mean([fold[name].mean(fold[name].best) for fold in variants]) for name in variants[0]},
            "best": best_by_validation(results, variants),
        },
        **{name: by_method(variants, name) for name in variants[0] if name != "learned_similarity"},
        "hand_made_learned": by_method(variants, "learned_similarity"),
        "held_out_classes": {name: by_method(held_out, name) for name in held_out[0]},
        "spread": {method: round(row["spread"], 4) for method, row in table.items()},
        "train_s": {method: round(row["train_s"], 4) for method, row in table.items()},
        "online_ndcg50": {str(method): round(float(value), 4) for method, value in last["cumulative"].items()},
        "online_s": {str(method): round(float(value), 3) for method, value in last["seconds"].items()},
    }


def _mean(values: list[float]) -> float:
    return round(float(np.mean(values)), 4)


def by_method(folds: list[dict[str, Variant]], name: str) -> dict[str, float]:
    """mAP of every method of a variant over the folds, and of the one that the system would serve."""
    table = {method: _mean([fold[name].mean(method) for fold in folds]) for method in folds[0][name].validation}
    return table | {"served": _mean([fold[name].mean(fold[name].served) for fold in folds])}


def best_by_validation(results: list[FoldResult], variants: list[dict[str, Variant]]) -> float:
    """mAP of whatever validated best in each fold, over all methods and variants."""
    found = []
    for result, fold in zip(results, variants, strict=True):
        pairs = [(chosen.validation_map, result.mean(method)) for method, chosen in result.fitted.items()]
        pairs += [(v.validation[method], v.mean(method)) for v in fold.values() for method in v.validation]
        found.append(max(pairs)[1])
    return _mean(found)


def print_variants(what: str, folds: list[dict[str, Variant]]) -> None:
    print(f"\n{what}: mAP of learned similarities and of the network")
    print(pd.DataFrame({name: by_method(folds, name) for name in folds[0]}).to_string())


def print_table(table: dict[str, dict[str, Any]], reported: Mapping[str, float]) -> None:
    print(f"\n{'method':12}{'mAP':>8}{'±':>8}{'published':>11}{'validation':>12}{'train, s':>10}   (table 2)")
    for method, row in table.items():
        published = f"{reported[method]:.4f}" if method in reported else "-"
        print(
            f"{method:12}{row['map']:8.4f}{row['spread']:8.4f}{published:>11}{row['valid_map']:12.4f}"
            f"{row['train_s']:10.4f}"
        )


def significance(results: list[FoldResult]) -> None:
    """Every method against Uni-Con over all test queries of all folds."""
    rows = [
        (method, f"{result.prepared.fold}:{query}", value)
        for result in results
        for method, values in result.average_precision.items()
        for query, value in zip(result.prepared.test, values, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["method", "query", "ap"])
    if "uni_con" in set(table["method"]):
        print("\nagainst uni_con (paired randomisation over queries)")
        print(compare(table, "uni_con", seed=0).to_string(index=False, float_format=lambda x: f"{x:.4f}"))


def growing(result: FoldResult) -> pd.DataFrame:
    """Processor seconds of the chosen rankers on growing shares of the first fold's triplets: figure 1."""
    data = result.prepared.triplets
    rows = []
    for share in (0.1, 0.3):
        part = data.first_queries(max(1, int(share * (len(data.offsets) - 1))))
        part.differences  # noqa: B018  # made outside the time
        for method, found in result.fitted.items():
            if method not in BASELINES:
                started = time.process_time()
                type(found.ranker)(**found.parameters).fit_triplets(part)
                rows.append((method, len(part), time.process_time() - started))
    rows += [(method, len(data), found.seconds) for method, found in result.fitted.items() if method not in BASELINES]
    return pd.DataFrame(rows, columns=["method", "instances", "seconds"])


def simulated(
    prepared: Prepared, result: FoldResult, options: argparse.Namespace, reserved: frozenset[str]
) -> pd.DataFrame:
    """Live methods with the first fold's types and parameters; the queries that chose these are not asked again."""
    able = [i for i in prepared.collection.items if i not in {*prepared.validation.queries, *reserved}]
    queries = np.random.default_rng(options.seed).permutation(able)[: options.online_queries].tolist()
    parameters = {method: found.parameters for method, found in result.fitted.items()}
    learners = live_learners(prepared.triplets.phi.shape[1], parameters)
    return simulate(prepared.collection, prepared.scaler, queries, learners, seed=options.seed)


def write(folder: Path, table: dict[str, dict[str, Any]], growth: pd.DataFrame, online: pd.DataFrame) -> None:
    store.write_csv(folder / "table2.csv", pd.DataFrame(table).T.rename_axis("method").reset_index())
    store.write_csv(folder / "figure1.csv", growth)
    store.write_csv(folder / "figures3and4.csv", online)
    figures = {
        "figure1": (growth, "instances", "seconds", "training triplets", "processor seconds"),
        "figure3": (online, "round", "cumulative", "queries", "mean nDCG@50"),
        "figure4": (online, "round", "seconds", "queries", "processor seconds"),
    }
    for name, (values, x, y, x_label, y_label) in figures.items():
        lines = [Line(str(m), g[x].tolist(), g[y].tolist()) for m, g in values.groupby("method", sort=False)]
        store.write_text(folder / f"{name}.svg", line_figure(lines, x_label, y_label))


if __name__ == "__main__":
    main()
