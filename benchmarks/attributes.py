"""Relative attributes: how fast kernels and rankers are, and how many pairs of a collection they put in order.

    python benchmarks/attributes.py                # speed, on data that it draws itself
    python benchmarks/attributes.py --data FOLDER  # and accuracy, next to the paper's table where it has one

The folder may be OSR, PubFig or UT-Zap50K. Its parts: `speed`; on the source's own split `kernels`, RankMKL, its
baselines and class posteriors, and `rivals`, the learners without kernels; `spread`, RankMKL and posteriors on random
splits (30 training images per class); `times`, figure 3b; `nystroem`, what landmarks cost. All numbers are chosen by
cross-validation over training images for every method and split, types and kernels by `attributes_choice.py`. The last
line is JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from attributes_data import LOCAL, SETS, Described, describe
from attributes_rivals import MAX_PAIRS, rivals
from attributes_speed import QUICK, approximation, speed, testing_times

from mediarank.learners.pairwise.supervision import supervise
from mediarank.systems.attributes.config import METHODS, Config
from mediarank.systems.attributes.fit import fit
from mediarank.systems.attributes.report import pairs_in_order
from mediarank.systems.contract import Inputs
from mediarank.types import FeatureMatrix, Roles

CONFIG = Config(gamma_factors=(0.5, 1.0, 2.0), max_pairs=MAX_PAIRS, seed=0)
PARTS = ("speed", "kernels", "rivals", "spread", "times", "nystroem")
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
BEYOND = ("rankmkl", "posterior", "posterior_mkl")
"""Methods that are measured on every set; the others on `five` and `more`."""
SPREAD = ("five", "more")
SPREAD_METHODS = ("rankmkl", "posterior")
"""Sets and methods that are measured on random splits."""
OSR = ("natural", "open", "perspective", "large-objects", "diagonal-plane", "close-depth")
PUBLISHED = {  # paper 004, figure 3
    "rankmkl": (96.20, 93.69, 89.84, 90.06, 91.11, 91.54),
    "concatenation": (95.54, 91.77, 88.40, 88.54, 89.56, 90.02),
    "gist": (94.62, 91.44, 85.66, 86.47, 86.31, 86.80),
    "lbp": (94.26, 89.41, 86.15, 86.18, 87.13, 88.14),
    "hog": (91.73, 90.37, 84.47, 84.79, 84.58, 82.14),
    "gabor": (74.16, 79.80, 72.20, 71.88, 69.90, 74.27),
    "local_pair": (94.63, 93.27, 88.33, 89.40, 90.70, 89.53),
    "fg_local_pair": (94.68, 92.90, 88.03, 88.84, 89.65, 89.91),
    "relative_tree": (95.24, 92.39, 87.58, 88.34, 89.34, 89.54),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder in the layout of OSR, PubFig or UT-Zap50K")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="all of them by default")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(VARIANTS), help="of kernels; all by default")
    parser.add_argument("--methods", nargs="+", choices=METHODS, help="on every set; by default see the table")
    parser.add_argument("--splits", type=int, default=10, help="random splits, for the spread")
    parser.add_argument(
        "--first-split", type=int, default=0, help="the first one's number, to measure them in portions"
    )
    parser.add_argument(
        "--cache", type=Path, default=Path(".mediarank/cache/benchmarks"), help="where features are kept"
    )
    arguments = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # what a run that is cut short has found is not lost
    result: dict[str, Any] = speed() if "speed" in arguments.parts else {}
    if arguments.data:
        sets = [*arguments.sets, *(SPREAD if "spread" in arguments.parts else ())]
        used = [choice.feature for name in sets for choice in SETS[name]]
        used += LOCAL if {"rivals", "times"} & set(arguments.parts) else ()
        used += [choice.feature for choice in QUICK.kernels] if {"times", "nystroem"} & set(arguments.parts) else []
        data = describe(arguments.data, arguments.cache, list(dict.fromkeys(used)))
        splits = range(arguments.first_split, arguments.first_split + arguments.splits)
        result |= claims(data, arguments.parts, splits, arguments.sets, arguments.methods)
    print(json.dumps(result))


def claims(
    data: Described, parts: Sequence[str], splits: range, sets: Sequence[str], methods: Sequence[str] | None
) -> dict[str, Any]:
    """What the parts find on a collection."""
    first = data.prescribed() or next(data.random([0], seed=1))
    known = supervise(data.labels, first.items("base"))
    attributes = in_table_order([name for name, found in known.items() if len(found.ordered(1))])
    result: dict[str, Any] = {"attributes": attributes}
    accuracy: dict[str, dict[str, float]] = {}
    if "kernels" in parts:
        chosen = {name: methods or (METHODS if name in ("five", "more") else BEYOND) for name in sets}
        found, validation = kernel_methods(data, first, chosen)
        accuracy |= found | best_validated(found, validation)
    if "rivals" in parts:
        accuracy |= rivals(data, first, attributes)
    if accuracy:
        print(table_of(accuracy, attributes, f"{data.source}: % of test pairs in order, the source's own split"))
        result["accuracy"] = {m: [round(values[a], 2) for a in attributes] for m, values in accuracy.items()}
        result["mean"] = {m: round(float(np.mean(list(values.values()))), 2) for m, values in accuracy.items()}
    if "spread" in parts:
        drawn = [
            kernel_methods(data, roles, dict.fromkeys(SPREAD, SPREAD_METHODS))[0]
            for roles in data.random(splits, seed=0)
        ]
        result["random_splits"] = spread(drawn, attributes)
    if "times" in parts:
        times = testing_times(data, first, attributes[0])
        print("testing time in seconds (figure 3b)\n" + times.to_string(index=False))
        result["figure_3b"] = times.to_dict(orient="list")
    if "nystroem" in parts:
        result["nystroem"] = approximation(data, attributes)
    return result


def kernel_methods(
    data: Described, roles: Roles, methods_of: Mapping[str, Sequence[Any]]
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """row -> attribute -> % in order on test pairs; and set -> row -> share of held-out training pairs.

    methods_of : set of kernels -> the methods to measure on it
    """
    found: dict[str, dict[str, float]] = {}
    validation: dict[str, dict[str, float]] = {}
    for name, methods in methods_of.items():
        config = replace(CONFIG, kernels=SETS[name], methods=tuple(methods))
        fitted = fit(Inputs(data.features, data.labels, roles), config)
        _, facts = fitted.model.to_arrays()
        for method, scores in fitted.scores.items():
            alone = method.startswith("only_")
            row = method.removeprefix("only_") if alone else method + VARIANTS[name]
            found[row] = percentages(data, scores)
            validation.setdefault(name, {})[row] = fitted.model.validation[method]
        chosen = {attribute: learned["C"] for attribute, learned in facts["learned"].get("rankmkl", {}).items()}
        gammas = [kernel["gamma"] and round(kernel["gamma"], 3) for kernel in facts["kernels"]]
        reached = {row: round(float(np.mean(list(found[row].values()))), 2) for row in validation[name]}
        print(f"{name}: {reached}, C {chosen}, γ {gammas}, served {fitted.model.served}")
        if "posterior" in fitted.model.methods:
            settings = facts["settings"]["posterior"]
            print(f"  posterior: penalty {settings['penalty']}, temperature {settings['temperature']}")
    return found, validation


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


def in_table_order(attributes: Sequence[str]) -> list[str]:
    return [a for a in OSR if a in attributes] + [a for a in attributes if a not in OSR]


def table_of(accuracy: Mapping[str, Mapping[str, float]], attributes: Sequence[str], title: str) -> str:
    table = pd.DataFrame({method: dict(values) for method, values in accuracy.items()}).T[list(attributes)]
    if tuple(attributes) == OSR:
        published = pd.DataFrame(PUBLISHED, index=OSR).T.rename(index=lambda name: f"published {name}")
        table = pd.concat([table, published])
    table["mean"] = table.mean(axis=1)
    return f"{title}\n{table.round(2).to_string()}"


if __name__ == "__main__":
    main()
