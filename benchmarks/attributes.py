"""Relative attributes: how fast kernels and rankers are, and how many pairs of a collection they put in order.

    python benchmarks/attributes.py                # speed, on data that it draws itself
    python benchmarks/attributes.py --data FOLDER  # and accuracy, next to the paper's table where it has one

The folder may be OSR, PubFig or UT-Zap50K. Its parts: `speed`; on the source's own split `kernels`, RankMKL, its
baselines and what goes beyond it, `losses`, RankMKL with L1 and L2 loss and regulariser, and `rivals`, the learners
without kernels; `spread`, RankMKL and posteriors on random splits (30 training images per class); `times`, figure 3b;
`nystroem`, what landmarks cost. UT-Zap50K is measured as two sets with their own splits of pairs (`kernels` alone).
All numbers are chosen by cross-validation over training images for every method and split, types and kernels by
`attributes_choice.py`. Features and results are kept in --cache, so parts, sets and methods may be measured one after
the other; a last run with all of them prints the table at once. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import attributes_zappos
import numpy as np
import pandas as pd
from attributes_data import SETS, Described, describe
from attributes_published import in_table_order, published
from attributes_rivals import MAX_PAIRS, TYPES_USED, rivals
from attributes_speed import QUICK, approximation, speed, testing_times
from kept_results import digest, source_digest, store_json

from mediarank.learners.pairwise.supervision import supervise
from mediarank.systems.attributes.config import METHODS, Config, MethodName
from mediarank.systems.attributes.fit import fit
from mediarank.systems.attributes.report import pairs_in_order
from mediarank.systems.contract import Inputs
from mediarank.types import FeatureMatrix, Roles

CONFIG = Config(
    gamma_factors=(0.5, 1.0, 2.0),
    cost=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3),
    svm_cost=(0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
    max_pairs=MAX_PAIRS,
    seed=0,
)
"""Every method chooses among six C."""
PARTS = ("speed", "kernels", "losses", "rivals", "spread", "times", "nystroem")
VARIANTS = {
    "five": "",
    "paper_kernels": "_paper_kernels",
    "mirrored": "_mirrored",
    "more": "_more",
    "network": "_network",
    "all": "_all",
}
"""Sets of kernels, and the suffix that methods on them have in the table."""
WITH_NETWORK = ("network", "all")
SPREAD = ("five", "more")
SPREAD_METHODS = ("rankmkl", "posterior")
"""Sets and methods that are measured on random splits."""
LOSSES = [(loss, regularizer) for loss in ("l1", "l2") for regularizer in ("l1", "l2")]
"""Of RankMKL: the paper's is L1 loss with an L2 regulariser; L2 with L2 is the row `rankmkl` once more."""
LOSS_SETS = ("paper_kernels",)
SOURCES = (
    *(f"systems/attributes/{name}.py" for name in ("config", "prepare", "methods", "model")),
    *(f"similarity/{name}.py" for name in ("kernels", "chi2", "fitted_kernel", "unit_range")),
    *(f"learners/pairwise/{name}.py" for name in ("ranksvm", "pair_validation", "ordered_pairs", "supervision")),
    "learners/kernels", "evaluation/pairs.py",
)  # fmt: skip
"""What results depend on; where one of these files changes, everything is measured anew."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder in the layout of OSR, PubFig or UT-Zap50K")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="all of them by default")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(VARIANTS), help="of kernels; all by default")
    parser.add_argument("--methods", nargs="+", choices=METHODS, help="all by default")
    parser.add_argument("--splits", type=int, default=10, help="random splits, for the spread")
    parser.add_argument(
        "--first-split", type=int, default=0, help="the first one's number, to measure them in portions"
    )
    parser.add_argument(
        "--cache", type=Path, default=Path(".mediarank/cache/benchmarks"), help="where features and results are kept"
    )
    parser.add_argument("--local-pairs", type=int, default=10_000, help="that local learners answer in figure 3b")
    arguments = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # what a run that is cut short has found is not lost
    result: dict[str, Any] = speed() if "speed" in arguments.parts else {}
    if arguments.data:
        sets = arguments.sets if "kernels" in arguments.parts else []
        sets = [*sets, *(SPREAD if "spread" in arguments.parts else ())]
        sets += LOSS_SETS if "losses" in arguments.parts else ()
        used = [choice.feature for name in sets for choice in SETS[name]]
        used += TYPES_USED if {"rivals", "times"} & set(arguments.parts) else ()
        used += [choice.feature for choice in QUICK.kernels] if {"times", "nystroem"} & set(arguments.parts) else []
        data = describe(arguments.data, arguments.cache, list(dict.fromkeys(used)))
        kept = arguments.cache / "results"
        if data.source == "zap50k":
            result |= zappos(data, arguments)
        else:
            result |= claims(data, arguments, kept)
    print(json.dumps(result))


def claims(data: Described, options: argparse.Namespace, kept: Path) -> dict[str, Any]:
    """What the parts find on a collection."""
    parts = options.parts
    first = data.prescribed() or next(data.random([0], seed=1))
    known = supervise(data.labels, first.items("base"))
    attributes = in_table_order(data.source, [name for name, found in known.items() if len(found.ordered(1))])
    result: dict[str, Any] = {"attributes": attributes}
    accuracy: dict[str, dict[str, float]] = {}
    if "kernels" in parts:
        chosen = {name: options.methods or methods_on(name) for name in options.sets}
        found, validation = kernel_methods(data, first, chosen, kept)
        accuracy |= found | best_validated(found, validation)
        result["held_out"] = {row: round(100 * share, 2) for rows in validation.values() for row, share in rows.items()}
    if "losses" in parts:
        for loss, regularizer in LOSSES:
            config = replace(CONFIG, loss=loss, regularizer=regularizer)
            found, _ = kernel_methods(data, first, dict.fromkeys(LOSS_SETS, ("rankmkl",)), kept, config)
            accuracy |= {f"{row}_{loss}_loss_{regularizer}_weights": values for row, values in found.items()}
    if "rivals" in parts:
        found, result["rivals"] = rivals(data, first, attributes, kept)
        accuracy |= found
    if accuracy:
        print(table_of(accuracy, attributes, data.source, "the source's own split"))
        print(samples_of(result.get("rivals", {})))
        result["accuracy"] = {m: [round(values[a], 2) for a in attributes] for m, values in accuracy.items()}
        result["mean"] = {m: round(float(np.mean(list(values.values()))), 2) for m, values in accuracy.items()}
    if "spread" in parts:
        numbers = range(options.first_split, options.first_split + options.splits)
        drawn = [
            kernel_methods(data, roles, dict.fromkeys(SPREAD, SPREAD_METHODS), kept)[0]
            for roles in data.random(numbers, seed=0)
        ]
        result["random_splits"] = spread(drawn, attributes)
    if "times" in parts:
        times = testing_times(data, first, attributes[0], options.local_pairs)
        print("testing time in seconds (figure 3b)\n" + times.to_string(index=False))
        result["figure_3b"] = times.to_dict(orient="list")
    if "nystroem" in parts:
        result["nystroem"] = approximation(data, attributes)
    return result


def zappos(data: Described, options: argparse.Namespace) -> dict[str, Any]:
    """Both sets of UT-Zap50K, each with its own splits of pairs."""
    result: dict[str, Any] = {}
    for name in options.sets:
        config = replace(CONFIG, kernels=SETS[name], methods=tuple(options.methods or METHODS))
        splits = attributes_zappos.splits(options.data, options.splits)
        for part, rows in attributes_zappos.measure(data, splits, config).items():
            attributes = in_table_order(part, list(next(iter(rows.values()))))
            print(table_of(rows, attributes, part, f"its own splits of pairs, {name}"))
            means = {method: round(float(np.mean(list(own.values()))), 2) for method, own in rows.items()}
            result.setdefault(part, {})[name] = means
    return result


def kernel_methods(
    data: Described,
    roles: Roles,
    methods_of: Mapping[str, Sequence[Any]],
    kept: Path,
    settings: Config = CONFIG,
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """row -> attribute -> % in order on test pairs; and set -> row -> share of held-out training pairs.

    methods_of : set of kernels -> the methods to measure on it
    kept : the folder of what was measured before
    """
    found: dict[str, dict[str, float]] = {}
    validation: dict[str, dict[str, float]] = {}
    sources = source_digest(SOURCES)
    for name, methods in methods_of.items():
        config = replace(settings, kernels=SETS[name])
        key = repr((config, roles.items("base"), roles.items("test"), sources)).encode()
        vectors = b"".join(data.features[feature].values.tobytes() for feature in config.features)
        path = kept / f"attributes_{name}_{digest(key + vectors)}.json"
        measured: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        missing = tuple(method for method in methods if not rows_of(method, measured))
        if missing:
            measured |= fitted_rows(data, roles, replace(config, methods=missing))
            store_json(path, measured)
        for method in [row for one in methods for row in rows_of(one, measured)]:
            row = row_name(method, name)
            found[row] = measured[method]["accuracy"]
            validation.setdefault(name, {})[row] = measured[method]["validation"]
            reached = float(np.mean(list(found[row].values())))
            held_out = 100 * measured[method]["validation"]
            print(f"{row}: {reached:.2f}, held out {held_out:.2f}; {measured[method]['chosen']}")
    return found, validation


def methods_on(name: str) -> list[MethodName]:
    """All methods; kernels of `mirrored` and `all` alone are rows of `more` and `network`."""
    return [method for method in METHODS if method != "each_kernel" or name not in ("mirrored", "all")]


def row_name(method: str, name: str) -> str:
    """A method's row in the table; a kernel alone is named by its type, which tells its set but for the paper's."""
    alone = method.removeprefix("only_")
    return alone + VARIANTS[name] if alone == method or name == "paper_kernels" else alone


def rows_of(method: str, measured: Mapping[str, Any]) -> list[str]:
    """The rows that a method has in what was measured: one, or one per kernel."""
    return [row for row in measured if row == method or (method == "each_kernel" and row.startswith("only_"))]


def fitted_rows(data: Described, roles: Roles, config: Config) -> dict[str, dict[str, Any]]:
    """method -> % in order per attribute, share of held-out training pairs, and what cross-validation chose."""
    fitted = fit(Inputs(data.features, data.labels, roles), config)
    _, facts = fitted.model.to_arrays()
    rows = {}
    for method, scores in fitted.scores.items():
        learned, own = facts["learned"][method], facts["settings"][method]
        chosen: dict[str, Any] = {"C": [found["C"] for found in learned.values() if "C" in found]}
        chosen |= {name: own[name] for name in ("penalty", "temperature") if name in own}
        chosen["gamma"] = [kernel["gamma"] and round(kernel["gamma"], 3) for kernel in facts["kernels"]]
        rows[method] = {
            "accuracy": percentages(data, scores),
            "validation": fitted.model.validation[method],
            "chosen": chosen,
        }
    return rows


def best_validated(
    found: Mapping[str, dict[str, float]], validation: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """`best`: of the rows without the network, the one that ordered most held-out training pairs; `network`, `all`."""
    hand_made = {
        row: share for name, rows in validation.items() if name not in WITH_NETWORK for row, share in rows.items()
    }
    chosen = {"best": hand_made, **{name: validation[name] for name in WITH_NETWORK if name in validation}}
    rows = {name: max(shares, key=lambda row: shares[row]) for name, shares in chosen.items() if shares}
    print(f"chosen by held-out training pairs: {rows}")
    return {name: found[row] for name, row in rows.items()}


def percentages(data: Described, scores: FeatureMatrix) -> dict[str, float]:
    known = supervise(data.labels, scores.ids.tolist())
    return {
        attribute: 100 * pairs_in_order(known[attribute], values.astype(np.float64))
        for attribute, values in zip(scores.names, scores.values.T, strict=True)
    }


def spread(drawn: Sequence[Mapping[str, Mapping[str, float]]], attributes: Sequence[str]) -> dict[str, Any]:
    """By method: the mean over splits an attribute, and each split's mean over attributes with their deviation."""
    found = {}
    for method in drawn[0] if drawn else ():
        values = np.array([[split[method][attribute] for attribute in attributes] for split in drawn])
        by_split = values.mean(axis=1)
        found[method] = {
            "by_attribute": values.mean(axis=0).round(2).tolist(),
            "by_split": by_split.round(2).tolist(),
            "deviation": round(float(by_split.std()), 2),
        }
        print(f"{len(drawn)} random splits, {method}: {by_split.mean():.2f} ± {by_split.std():.2f}")
    return found


def samples_of(details: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Which rows are of a sample of the test pairs, of how many, and with which standard error in points."""
    lines = []
    for row, by_attribute in details.items():
        sampled = {name: found for name, found in by_attribute.items() if "standard_error" in found}
        errors = ", ".join(f"{found['standard_error']:.2f}" for found in sampled.values())
        most = max((found["pairs"] for found in sampled.values()), default=0)
        if sampled:
            lines.append(f"{row}: {most:,} test pairs per attribute, drawn at random; standard error {errors}")
    return "\n".join(lines)


def table_of(accuracy: Mapping[str, Mapping[str, float]], attributes: Sequence[str], source: str, split: str) -> str:
    table = pd.DataFrame({method: dict(values) for method, values in accuracy.items()}).T[list(attributes)]
    table = pd.concat([table, published(source, attributes)]).astype(float)
    table["mean"] = table.mean(axis=1)
    return f"{source}: % of test pairs in order, {split}\n{table.round(2).to_string()}"


if __name__ == "__main__":
    main()
