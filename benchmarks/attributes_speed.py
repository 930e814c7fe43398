"""The attributes benchmark's times: kernels and training against scikit-learn, testing pairs, and what landmarks save.

`speed` needs no data; `testing_times` (figure 3b of the paper) and `approximation` (Nyström's loss and gain) take a
described collection.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from attributes_data import SETS, Described
from attributes_rivals import GIVEN, MAX_PAIRS, joined
from rivals_kernel_ranksvm import KernelRankSVM
from rivals_local_pair import LocalPair
from sklearn.metrics.pairwise import chi2_kernel
from sklearn.svm import SVC

from mediarank.evaluation.pairs import listed_pair_accuracy
from mediarank.learners.kernels.rankmkl import RankMKL
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs
from mediarank.learners.pairwise.supervision import supervise
from mediarank.similarity.fitted_kernel import fit_kernel
from mediarank.similarity.kernels import exponential_chi2
from mediarank.systems.attributes.config import Config
from mediarank.systems.attributes.fit import fit, fit_model
from mediarank.systems.attributes.report import pairs_in_order
from mediarank.systems.contract import Inputs
from mediarank.types import Roles

Vector = np.ndarray[Any, Any]
QUICK = Config(kernels=SETS["five"], methods=("rankmkl",), cost=(0.01,), folds=2, seed=0)
"""One C, since time and loss are asked for here and not the best accuracy."""


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
    print(f"χ² Gram of 2688 × 512: {1000 * ours:.0f} ms, {chi2_ratio:.0f} times as fast as scikit-learn's")
    print(f"one attribute, 240 images, {len(pairs):,} pairs, 5 kernels: {train_s:.2f} s, {len(mkl.history_)} steps")
    print(f"RankSVM on {len(few):,} pairs: {svc_ratio:.0f} times as fast as SVC on precomputed ± pairs")
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


def testing_times(data: Described, roles: Roles, attribute: str, local_up_to: int) -> pd.DataFrame:
    """Figure 3b: seconds to answer test pairs, from features to answers, by RankMKL and the local learners.

    local_up_to : the most pairs that the local learners are asked, since each answer needs its own model
    """
    items, asked = roles.items("base"), roles.items("test")
    model = fit_model(Inputs(data.features, data.labels, roles), items, QUICK)
    known, unknown = supervise(data.labels, items)[attribute], supervise(data.labels, asked)[attribute].ordered()
    X, Z = joined(data, GIVEN[""][0], items, asked)
    local = {
        name: LocalPair(metric=metric, C=1e-3).fit(X, known.ordered(MAX_PAIRS), known.equal())
        for name, metric in (("local_pair", "euclidean"), ("fg_local_pair", "itml"))
    }
    shuffled = np.random.default_rng(0).permutation(len(unknown))
    rows = []
    for count in (100, 1_000, 10_000, 100_000, 1_000_000):
        if count > len(unknown):
            break
        first, second = unknown.stronger[shuffled[:count]], unknown.weaker[shuffled[:count]]

        def compare(first: Vector = first, second: Vector = second) -> Any:
            scores = model.rank(data.features, asked, [attribute])[:, 0]
            return scores[first] > scores[second]

        rows.append(("rankmkl", count, best_of(2, compare)))
        if count <= local_up_to:
            rows += [(name, count, best_of(1, lambda m=m: m.margins(Z, first, second))) for name, m in local.items()]  # noqa: B023
    return pd.DataFrame(rows, columns=["method", "pairs", "seconds"])


def approximation(data: Described, attributes: Sequence[str]) -> dict[str, dict[str, float]]:
    """What landmarks instead of all training items cost and save, with half of the collection to learn from."""
    half = np.random.default_rng(0).permutation(len(data.items)) < len(data.items) // 2
    inputs = Inputs(data.features, data.labels, data.roles(half.tolist()))
    found = {}
    for name, config in (
        ("exact", QUICK),
        ("landmarks_400", replace(QUICK, exact_up_to=1, landmarks=400)),
        ("landmarks_200", replace(QUICK, exact_up_to=1, landmarks=200)),
        ("landmarks_100", replace(QUICK, exact_up_to=1, landmarks=100)),
    ):
        started = time.perf_counter()
        scores = fit(inputs, config).scores["rankmkl"]
        seconds = time.perf_counter() - started
        known = supervise(data.labels, scores.ids.tolist())
        columns = dict(zip(scores.names, scores.values.T.astype(np.float64), strict=True))
        shares = [pairs_in_order(known[a], columns[a]) for a in attributes]
        found[name] = {"mean": round(100 * float(np.mean(shares)), 2), "seconds": round(seconds, 1)}
        print(f"{int(half.sum())} training images, {name}: {found[name]}")
    return found


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
