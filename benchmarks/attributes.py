"""Relative attributes: how fast kernels and rankers are, and how many pairs of a collection they put in order.

    python benchmarks/attributes.py                # speed, on data that it draws itself
    python benchmarks/attributes.py --data FOLDER  # and accuracy, next to the paper's table where it has one

The folder may be OSR, PubFig or UT-Zap50K. First the source's own split with every method, then random splits (30
training images a class) for the spread. C is chosen by 10-fold cross-validation over training images for every
method. The local learners answer a sample of the test pairs, since each answer costs a model. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from attributes_data import SETS, Described, describe
from sklearn.metrics.pairwise import chi2_kernel
from sklearn.svm import SVC

from mediarank.evaluation.pairs import listed_pair_accuracy
from mediarank.learners.image_folds import deal_folds
from mediarank.learners.linear_attributes import RelativeAttributes
from mediarank.learners.local_pair import LocalPair
from mediarank.learners.pairs import OrderedPairs
from mediarank.learners.rankmkl import RankMKL
from mediarank.learners.ranksvm import KernelRankSVM
from mediarank.learners.relative_tree import RelativeForest, RelativeTree
from mediarank.learners.supervision import Supervision, supervise
from mediarank.similarity.fitted_kernel import fit_kernel
from mediarank.similarity.kernels import exponential_chi2
from mediarank.similarity.unit_range import UnitRange
from mediarank.systems.attributes import AttributesConfig, fit, run
from mediarank.systems.attributes_report import pairs_in_order
from mediarank.systems.contract import Inputs
from mediarank.types import FeatureMatrix, Roles

CONFIG = AttributesConfig(cost=(0.003, 0.01, 0.03), svm_cost=(0.03, 0.1, 0.3), max_pairs=50_000, seed=0)
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
ASKED = 10_000
"""Test pairs that local learners are asked about, an attribute: a standard error of 0.3 points."""
Vector = np.ndarray[Any, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder in the layout of OSR, PubFig or UT-Zap50K")
    parser.add_argument("--splits", type=int, default=10, help="random splits, for the spread")
    parser.add_argument(
        "--cache", type=Path, default=Path(".mediarank/cache/benchmarks"), help="where features are kept"
    )
    arguments = parser.parse_args()
    result = speed()
    if arguments.data:
        result |= claims(describe(arguments.data, arguments.cache), arguments.splits)
    print(json.dumps(result))


def speed() -> dict[str, float]:
    """Ratios to scikit-learn and seconds, best of several, on drawn data of the sizes of OSR."""
    rng = np.random.default_rng(0)
    X = rng.random((2688, 512), dtype=np.float32)
    ours = best_of(3, lambda: exponential_chi2(X, gamma=0.02), warm=lambda: exponential_chi2(X[:9], gamma=0.02))
    chi2_ratio = best_of(1, lambda: chi2_kernel(X, gamma=0.02)) / ours
    grams, pairs = drawn_kernels(rng)
    mkl = RankMKL(C=0.01, loss="l2")
    train_s = best_of(3, lambda: mkl.fit(grams, pairs))
    few = OrderedPairs(pairs.stronger[::10], pairs.weaker[::10], pairs.items)
    svm = KernelRankSVM(C=0.1)
    svc_ratio = svc_seconds(grams[0], few, C=0.1) / best_of(3, lambda: svm.fit(grams[0], few))
    scores = rng.normal(size=2448)
    asked = OrderedPairs.from_strengths(rng.integers(0, 4, 2448), limit=1_800_000)
    pairs_s = best_of(3, lambda: listed_pair_accuracy(scores, asked.stronger, asked.weaker))
    values = {"chi2_ratio": chi2_ratio, "train_s": train_s, "svc_ratio": svc_ratio, "pairs_s": pairs_s}
    print(f"χ² Gram of 2688 × 512: {chi2_ratio:.0f} times scikit-learn's")
    print(f"one attribute, 240 images, {len(pairs):,} pairs, 5 kernels: {train_s:.2f} s, {len(mkl.history_)} steps")
    print(f"RankSVM on {len(few):,} pairs: {svc_ratio:.0f} times SVC on precomputed ± pairs")
    print(f"{len(asked):,} pairs from scores: {1000 * pairs_s:.0f} ms")
    return {name: round(value, 4) for name, value in values.items()}


def drawn_kernels(rng: np.random.Generator) -> tuple[Vector, OrderedPairs]:
    """240 items of 8 classes in 4 levels, described by 5 noisy histograms."""
    kind = np.repeat(np.arange(8), 30)
    grams = []
    for width in (512, 256, 384, 300, 200):
        centres = rng.gamma(1.0, size=(8, width))
        rows = (centres[kind] + rng.gamma(1.0, 2.0, size=(240, width))).astype(np.float32)
        grams.append(fit_kernel("exponential_chi2", rows)[0][1])
    return np.stack(grams).astype(np.float64), OrderedPairs.from_strengths(kind // 2)


def svc_seconds(K: Vector, pairs: OrderedPairs, C: float) -> float:
    """SVC's time to fit on the pairs and their mirror images; making its Gram matrix is not counted."""
    A = np.zeros((len(pairs), pairs.items))
    A[np.arange(len(pairs)), pairs.stronger], A[np.arange(len(pairs)), pairs.weaker] = 1, -1
    both = np.concatenate([A, -A])
    Q, signs = both @ K @ both.T, np.repeat([1, -1], len(pairs))
    return best_of(1, lambda: SVC(kernel="precomputed", C=C / 2).fit(Q, signs))


def claims(data: Described, splits: int) -> dict[str, Any]:
    """Accuracy of every method on the source's split, its spread over random ones, and what approximation costs."""
    first = data.prescribed() or next(data.random(1, seed=1))
    accuracy = {
        **kernel_methods(data, first, {"five": "", "paper_kernels": "_paper_kernels", "more": "_more"}),
        **other_learners(data, first),
    }
    print(table_of(accuracy, f"{data.source}: % of test pairs in order, the source's own split"))
    drawn = [kernel_methods(data, roles, {"five": "", "more": "_more"}) for roles in data.random(splits, seed=0)]
    methods = list(drawn[0]) if drawn else []
    spread = {method: [np.mean([s[method][a] for s in drawn]) for a in accuracy[method]] for method in methods}
    deviation = {method: np.std([np.mean(list(s[method].values())) for s in drawn]) for method in spread}
    for method, values in spread.items():
        print(f"{splits} random splits, {method}: mean {np.mean(values):.2f} ± {deviation[method]:.2f}")
    times = testing_times(data, first)
    print("testing time in seconds (figure 3b)\n" + times.to_string(index=False))
    return {
        "attributes": list(next(iter(accuracy.values()))),
        "accuracy": {method: [round(v, 2) for v in values.values()] for method, values in accuracy.items()},
        "mean": {method: round(float(np.mean(list(values.values()))), 2) for method, values in accuracy.items()},
        "random_splits_mean": {method: [round(float(v), 2) for v in values] for method, values in spread.items()},
        "random_splits_deviation_of_mean": {method: round(float(v), 2) for method, v in deviation.items()},
        "nystroem": approximation(data),
        "figure_3b": times.to_dict(orient="list"),
    }


def kernel_methods(data: Described, roles: Roles, sets: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """method -> attribute -> % in order, of RankMKL on each set and, on the paper's five, of its baselines."""
    found: dict[str, dict[str, float]] = {}
    for name, suffix in sets.items():
        config = replace(CONFIG, kernels=SETS[name], baselines=name == "five")
        outcome = run(Inputs(data.features, data.labels, roles), config)
        for method, scores in outcome.scores.items():
            found[method.removeprefix("only_") + suffix] = percentages(data, scores)
    return found


def percentages(data: Described, scores: FeatureMatrix) -> dict[str, float]:
    known = supervise(data.labels, scores.names)
    values = dict(zip(scores.ids.tolist(), scores.values.astype(np.float64), strict=True))
    return {a: 100 * pairs_in_order(known[a], values[a]) for a in in_table_order(values)}


def in_table_order(attributes: Mapping[str, Any] | Sequence[str]) -> list[str]:
    return [a for a in OSR if a in attributes] + [a for a in attributes if a not in OSR]


def other_learners(data: Described, roles: Roles) -> dict[str, dict[str, float]]:
    """The baselines that learn from features rather than kernels: GIST and colour, scaled and laid end to end."""
    items, asked = roles.items("base"), roles.items("test")
    X, Z = gist_and_colour(data, items, asked)
    classes = data.labels.class_of
    folds = deal_folds([classes.get(item) for item in items], 5, seed=0)
    found: dict[str, dict[str, float]] = {name: {} for name in LEARNERS}
    known, questions = supervise(data.labels, items), supervise(data.labels, asked)
    for attribute in in_table_order([a for a, s in known.items() if len(s.ordered(CONFIG.max_pairs))]):
        pairs, equal = known[attribute].ordered(CONFIG.max_pairs), known[attribute].equal()
        for name, (make, grid) in LEARNERS.items():
            model = fitted(make(chosen(make, grid, X, known[attribute], folds)), X, pairs, equal)
            if isinstance(model, LocalPair):
                found[name][attribute] = 100 * share_answered(model, Z, questions[attribute].ordered(ASKED))
            else:
                found[name][attribute] = 100 * pairs_in_order(questions[attribute], model.predict(Z))
    return found


LEARNERS: Mapping[str, tuple[Callable[[float], Any], tuple[float, ...]]] = {
    "linear": (lambda C: RelativeAttributes(C=C, tol=1e-2), (1e-5, 1e-4, 1e-3)),
    "relative_tree": (lambda C: RelativeTree(C=C), (1e-5, 1e-4, 1e-3)),
    "relative_forest": (lambda C: RelativeForest(C=C, trees=20), (1e-4,)),
    "local_pair": (lambda C: LocalPair(C=C), (1e-4, 1e-3, 1e-2)),
    "fg_local_pair": (lambda C: LocalPair(C=C, metric="itml"), (1e-3,)),
}
"""How each is made with a C, and the values of C to choose from."""


def fitted(model: Any, X: Vector, pairs: OrderedPairs, equal: Vector) -> Any:
    return model.fit(X, pairs) if isinstance(model, RelativeTree | RelativeForest) else model.fit(X, pairs, equal)


def share_answered(model: LocalPair, Z: Vector, pairs: OrderedPairs) -> float:
    return float((model.margins(Z, pairs.stronger, pairs.weaker) > 0).mean())


def gist_and_colour(data: Described, items: Sequence[str], asked: Sequence[str]) -> tuple[Vector, Vector]:
    known, unknown = ([data.features[name].rows(ids) for name in ("gist_grey", "colour")] for ids in (items, asked))
    scaler = UnitRange.fit(known)
    return scaler.transform(known).astype(np.float64), scaler.transform(unknown).astype(np.float64)


def chosen(make: Callable[[float], Any], grid: Sequence[float], X: Vector, known: Supervision, folds: Vector) -> float:
    """The C that orders pairs of held-out images best, over 5 folds."""
    if len(grid) == 1:
        return grid[0]
    pairs, equal = known.ordered(CONFIG.max_pairs), known.equal()
    right = np.zeros(len(grid))
    for fold in np.unique(folds):
        learned, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        inside, asked = pairs.within(learned), pairs.within(held)
        if not len(inside) or not len(asked):
            continue
        tied = OrderedPairs(equal[:, 0], equal[:, 1], len(folds)).within(learned)
        same = np.stack([tied.stronger, tied.weaker], axis=1)
        for place, C in enumerate(grid):
            model = fitted(make(C), X[learned], inside, same)
            if isinstance(model, LocalPair):
                share = share_answered(model, X[held], asked)
            else:
                share = listed_pair_accuracy(model.predict(X[held]), asked.stronger, asked.weaker)
            right[place] += len(asked) * share
    return grid[int(right.argmax())]


def testing_times(data: Described, roles: Roles) -> pd.DataFrame:
    """Figure 3b: seconds to answer so many test pairs, from features to answers, by RankMKL and the local learners."""
    items, asked = roles.items("base"), roles.items("test")
    attribute = in_table_order([a for a, s in supervise(data.labels, items).items() if len(s.ordered())])[0]
    quick = replace(CONFIG, kernels=SETS["five"], cost=(0.01,), folds=2)
    model = fit(data.features, data.labels, items, quick)
    column = model.attributes.index(attribute)
    known, unknown = supervise(data.labels, items)[attribute], supervise(data.labels, asked)[attribute].ordered()
    X, Z = gist_and_colour(data, items, asked)
    local = {
        name: LocalPair(metric=metric).fit(X, known.ordered(CONFIG.max_pairs), known.equal())
        for name, metric in (("local_pair", "euclidean"), ("fg_local_pair", "itml"))
    }
    rows = []
    for count in (100, 1_000, 10_000, 100_000, 1_000_000):
        first, second = unknown.stronger[:count], unknown.weaker[:count]
        if len(first) < count:
            break

        def compare(first: Vector = first, second: Vector = second) -> Any:
            scores = model.scores(data.features, asked).values[:, column]
            return scores[first] > scores[second]

        rows.append(("rankmkl", count, best_of(2, compare)))
        if count <= 1_000:
            rows += [(name, count, best_of(1, lambda m=m: m.margins(Z, first, second))) for name, m in local.items()]  # noqa: B023
    return pd.DataFrame(rows, columns=["method", "pairs", "seconds"])


def approximation(data: Described) -> dict[str, float]:
    """What landmarks instead of all training items cost: mean accuracy with half of the collection to learn from."""
    items = data.items
    half = np.random.default_rng(0).permutation(len(items)) < len(items) // 2
    roles = data.roles(half.tolist())
    quick = replace(CONFIG, kernels=SETS["five"], cost=(0.01,), folds=2, max_pairs=25_000, baselines=False)
    found = {}
    for name, config in (
        ("exact", quick),
        ("landmarks_400", replace(quick, exact_up_to=1, landmarks=400)),
        ("landmarks_100", replace(quick, exact_up_to=1, landmarks=100)),
    ):
        started = time.perf_counter()
        scores = run(Inputs(data.features, data.labels, roles), config).scores["rankmkl"]
        found[name] = round(float(np.mean(list(percentages(data, scores).values()))), 2)
        print(f"{int(half.sum())} training images, {name}: {found[name]} % in {time.perf_counter() - started:.0f} s")
    return found


def table_of(accuracy: Mapping[str, Mapping[str, float]], title: str) -> str:
    table = pd.DataFrame({method: dict(values) for method, values in accuracy.items()}).T
    if list(table.columns) == list(OSR):
        published = pd.DataFrame(PUBLISHED, index=OSR).T.rename(index=lambda name: f"published {name}")
        table = pd.concat([table, published])
    table["mean"] = table.mean(axis=1)
    return f"{title}\n{table.round(2).to_string()}"


def best_of(times: int, work: Callable[[], Any], warm: Callable[[], Any] | None = None) -> float:
    """Seconds of the fastest run; compiled code is loaded before the first, by `warm` or by one run more."""
    if warm is not None:
        warm()
    elif times > 1:
        work()
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


if __name__ == "__main__":
    main()
