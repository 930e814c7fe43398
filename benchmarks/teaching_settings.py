"""The settings of teaching, chosen on one half of the names; `teaching.py` reports on the other half.

    python benchmarks/teaching_settings.py --data FOLDER

One setting after the other is varied around what the code has, on the first half of the words and classes (`half`), and
the best is printed beside what the code has. Equal figures keep what the code has. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import teaching
from teaching_data import CHOOSING, describe
from threadpoolctl import threadpool_limits

from mediarank.labels import Labels
from mediarank.teaching import many_names, one_name, review, taught_ranker
from mediarank.teaching.many_names import held_out_scores, neighbour_shares, probabilities_of
from mediarank.teaching.one_name import Space
from mediarank.teaching.review import directions

WORDS, QUERIES = 10, 24
GRIDS = {
    "NAMED": (1.0, 3.0, 10.0),
    "STRENGTH": (0.003, 0.01, 0.03),
    "NEIGHBOURS": (10, 20, 40),
    "UNSEEN": (0.005, 0.02, 0.1),
    "MORE_LIKE": (0.5, 1.5, 3.0),
    "LESS_LIKE": (0.0, 0.2, 0.5),
    "IMPLIED": (2.0, 5.0, 20.0),
    "DAMPED": (5.0, 20.0, 80.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of a collection with keywords and classes")
    parser.add_argument("--cache", type=Path, default=Path(".mediarank/cache/benchmarks"), help="for features")
    parser.add_argument("--settings", nargs="+", choices=list(GRIDS), default=list(GRIDS))
    options = parser.parse_args()
    data = describe(options.data, options.cache)
    space, found = Space.of(data.matrices), {}

    def clicks(value: Any, name: str) -> float:
        with patch.object(taught_ranker, name, value):
            told = teaching.feedback(data, QUERIES, CHOOSING)
        if name == "DAMPED":
            return float(told["other_p10_change"])
        return float(np.mean([told["p10_not_clicked"][step] for step in ("1", "3", "10")]))

    def labels_needed(value: float) -> float:
        with patch.object(one_name, "NAMED", value):
            return -teaching.label_saving(space, data.labels, WORDS, 1, which=CHOOSING)["labels_needed_mean"]

    shipped = {"STRENGTH": many_names.STRENGTH, "NEIGHBOURS": many_names.NEIGHBOURS, "UNSEEN": review.UNSEEN}
    measures: dict[str, tuple[Any, Callable[[Any], float]]] = {"NAMED": (one_name.NAMED, labels_needed)}
    for name in shipped:
        measures[name] = shipped[name], lambda value, name=name: suspects(space, data.labels, shipped | {name: value})
    for name in ("MORE_LIKE", "LESS_LIKE", "IMPLIED", "DAMPED"):
        measures[name] = getattr(taught_ranker, name), lambda value, name=name: clicks(value, name)
    with threadpool_limits(1):
        for name in options.settings:
            own, measure = measures[name]
            figures = {value: round(measure(value), 4) for value in sorted({*GRIDS[name], own})}
            best = max(figures, key=lambda value: (figures[value], value == own))
            found[name] = {"shipped": own, "best": best, "figures": {str(k): v for k, v in figures.items()}}
            print(f"{name:<11} shipped {own}, best {best}: {found[name]['figures']}", flush=True)
    print(json.dumps(found))


def suspects(space: Space, labels: Labels, settings: dict[str, Any], repeats: int = 3) -> float:
    """Precision of the first suspects among flipped classes, as `review.class_doubts` ranks them."""
    rows, truth, count = teaching.classes_of(space, labels, CHOOSING)
    found = []
    for repeat in range(repeats):
        wrong, given = teaching.flipped(truth, count, 100 + repeat)
        marks = np.eye(count, dtype=bool)[given]
        goals = marks.astype(np.float32)
        p = probabilities_of(held_out_scores(space, rows, goals, teaching.SEED, settings["STRENGTH"]), marks)
        p = p / np.maximum(p.sum(axis=1, keepdims=True), 1e-12)
        near = neighbour_shares(directions(space)[rows], marks, settings["NEIGHBOURS"])
        place = np.arange(len(rows))
        doubt = -np.log(p[place, given] + 1e-9) - np.log(near[place, given] + settings["UNSEEN"] / count)
        found.append(precision(doubt, wrong))
    return float(np.mean(found))


def precision(doubt: Sequence[float] | np.ndarray, wrong: Iterable[bool] | np.ndarray) -> float:
    wrong = np.asarray(wrong)
    depth = min(100, int(wrong.sum()))
    return float(wrong[np.argsort(-np.asarray(doubt), kind="stable")[:depth]].mean())


if __name__ == "__main__":
    main()
