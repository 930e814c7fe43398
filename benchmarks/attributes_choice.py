"""Which feature types and kernels the attributes benchmark uses: chosen by cross-validation on training images alone.

    python benchmarks/attributes_choice.py --data FOLDER

Images that the source's own split calls test are not opened. What is compared is the share of held-out pairs that a
RankSVM on the mean of the kernels puts in order, in % and over all attributes, by 10 folds over images with
near-duplicates together. Its parts: `alone`, every setting of the paper's five types with every kernel; `together`, the
set `five` of `attributes_data.py` (which holds what `alone` found) as it is and mirrored, and then extended by further
types, one by one, as long as each brings a tenth of a point. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attributes_data import CANDIDATES, FIVE, PLAIN, SETS, TYPES, Described, describe

from mediarank.learners.kernels.kernel_stack import GramStack
from mediarank.learners.kernels.rankmkl import RankMKL
from mediarank.learners.pairwise.image_folds import deal_folds
from mediarank.learners.pairwise.pair_validation import held_out_shares
from mediarank.learners.pairwise.supervision import supervise
from mediarank.similarity.fitted_kernel import fit_kernel
from mediarank.types import Floats

KERNELS = ("linear", "intersection", "rbf", "exponential_chi2")
COSTS = (0.03, 0.1, 0.3)
WORTH_ADDING = 0.1
Kernel = tuple[str, str]
"""A feature type and the name of a kernel."""


class Trial:
    """Judges sets of kernels on the training images."""

    def __init__(self, data: Described) -> None:
        self.data = data
        known = supervise(data.labels, data.items)
        self.pairs = [found.ordered(25_000) for found in known.values() if len(found.ordered(1))]
        classes, groups = data.labels.class_of, [data.group_of[item] for item in data.items]
        self.folds = deal_folds([classes.get(item) for item in data.items], 10, 0, groups)
        self.grams: dict[Kernel, Floats] = {}

    def share(self, kernels: Sequence[Kernel], costs: Sequence[float] = COSTS) -> float:
        """Mean over attributes, each with the C that serves it best."""
        joint = GramStack([np.mean([self._gram(*one) for one in kernels], axis=0)])
        learner, settings = RankMKL(regularizer="fixed", loss="l2", inner_tol=1e-2), [{"C": C} for C in costs]
        shares = held_out_shares(joint, self.pairs, self.folds, learner, settings).max(axis=1)
        return round(100 * float(np.mean(shares)), 2)

    def _gram(self, name: str, kernel: str) -> Floats:
        if (name, kernel) not in self.grams:
            self.grams[name, kernel] = fit_kernel(kernel, self.data.features[name].values)[0][1]
        return self.grams[name, kernel]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder in the layout of OSR or PubFig")
    parser.add_argument("--parts", nargs="+", choices=("alone", "together"), default=("alone", "together"))
    parser.add_argument("--cache", type=Path, default=Path(".mediarank/cache/benchmarks"))
    arguments = parser.parse_args()
    if not arguments.data:
        print("without --data there is nothing to choose from\n{}")
        return
    data = describe(arguments.data, arguments.cache, list(TYPES), training_only=True)
    if data.prescribed() is None:
        raise SystemExit(f"{data.source} prescribes no split, so there are no test images to stay away from.")
    print(f"{len(data.items)} training images of {data.source}")
    trial = Trial(data)
    result: dict[str, Any] = {}
    if "alone" in arguments.parts:
        result["five"] = [best_of_slot(slot, trial) for slot in FIVE]
    if "together" in arguments.parts:
        result |= together(trial)
    print(json.dumps(result))


def best_of_slot(slot: str, trial: Trial) -> Kernel:
    """The setting and the kernel that do best alone."""
    alone: dict[Kernel, float] = {}
    for name in CANDIDATES[slot]:
        alone |= {(name, kernel): trial.share([(name, kernel)]) for kernel in KERNELS}
        print(f"{name:<16}" + "".join(f"{alone[name, kernel]:>8} {kernel}" for kernel in KERNELS), flush=True)
    return max(alone, key=lambda one: alone[one])


def together(trial: Trial) -> dict[str, Any]:
    """How the five do together, mirrored too, and which further types, with exponential χ², are worth adding."""
    usual = COSTS[1:2]  # C changes little here, and one value of it takes a third of the time
    five = [(choice.feature, choice.kernel) for choice in SETS["five"]]
    kernels = [(f"{name}_mirrored", kernel) for name, kernel in five]
    held_out = {"five": trial.share(five, usual), "mirrored": trial.share(kernels, usual)}
    print(f"together {held_out['five']}, mirrored {held_out['mirrored']}", flush=True)
    share = held_out["mirrored"]
    while True:
        left = [(f"{name}_mirrored", "exponential_chi2") for name in PLAIN]
        tried = {one: trial.share([*kernels, one], usual) for one in left if one not in kernels}
        best = max(tried, key=lambda one: tried[one])
        print(f"with {best[0]}: {tried[best]}", flush=True)
        if tried[best] < share + WORTH_ADDING:
            return {"held_out": {**held_out, "more": share}, "more": kernels}
        kernels, share = [*kernels, best], tried[best]


if __name__ == "__main__":
    main()
