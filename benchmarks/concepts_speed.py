"""Speed of the concepts system on made-up data: scoring, boosting rounds, intersection kernels, training.

Every time is the best of several runs on one thread, and every ratio is measured within this run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import SVC

from mediarank.base_models.svm import FittedSVM, SVMConfig, fit_svm
from mediarank.base_models.training import gather, normalised_by, prepare, train_pool
from mediarank.learners.boosting.imbalanced_rankboost import ImbalancedRankBoost
from mediarank.learners.boosting.rankboost import RankBoost
from mediarank.similarity.kernels import intersection
from mediarank.types import FeatureMatrix, Judgments

CONCEPTS = 20


def speed(repeats: int) -> dict[str, Any]:
    """The caller sees to it that one thread is used."""
    return {**scoring(repeats), **boosting(repeats), **kernels(repeats), **training(repeats)}


def scoring(repeats: int, items: int = 1000) -> dict[str, Any]:
    """A pool of 40 SVMs (20 concepts, 2 bags of 800) against a loop over the same SVMs of scikit-learn."""
    matrix, judgments = made_up(5000, share=0.1)
    config = SVMConfig(penalties=(2.0,), widths=(0.5, 2.0))
    preparation = prepare("made_up", matrix, judgments, matrix.ids.tolist(), config)
    svms, peers = [], []
    for number, bag in enumerate(preparation.bags):
        gamma = bag.gammas[number % 2]
        svm = SVC(C=2.0, gamma=gamma).fit(bag.values.astype(np.float64), bag.labels)
        coefficients, intercept = np.asarray(svm.dual_coef_[0]), float(svm.intercept_[0])
        decisions = svm.decision_function(bag.values.astype(np.float64))
        svms.append(FittedSVM(svm.support_.astype(np.intp), coefficients, intercept, 2.0, gamma, decisions, 0.5))
        peers.append(svm)
    pool = gather(preparation, svms, config)
    new = made_up(items, share=0.1, seed=1)[0].values
    prepared = ((new - pool.mean) * pool.scale).astype(np.float64)
    loop = best(lambda: [svm.decision_function(prepared) for svm in peers], max(2, repeats // 5))
    batched = best(lambda: pool.decisions(new), repeats)
    expected = np.column_stack([svm.decision_function(prepared) for svm in peers])
    difference = float(np.abs(pool.decisions(new) - expected).max())
    single = pool.only([0])
    alone = best(lambda: peers[0].decision_function(prepared), repeats) / best(lambda: single.decisions(new), repeats)
    print(f"pool scoring, {items} items, {len(pool)} SVMs on bags of {len(preparation.bags[0].rows)}: ", end="")
    print(f"{batched * 1e3:.1f} ms; scikit-learn's decision_function {loop * 1e3:.0f} ms: {loop / batched:.1f}x")
    print(f"  largest difference {difference:.1e}; a single SVM {alone:.1f}x")
    return {"pool_scoring_ratio": loop / batched, "pool_scoring_difference": difference, "single_ratio": alone}


def boosting(repeats: int, examples: int = 10_469, models: int = 200, rounds: int = 10) -> dict[str, Any]:
    """A round of each learner: what ten more rounds add to a fit, in the paper's mode and with thresholds for free."""
    rng = np.random.default_rng(0)
    relevant = rng.random(examples) < 0.02
    noise = rng.normal(scale=0.3, size=(examples, models))
    scores = np.clip(noise + np.where(relevant, 0.25, -0.1)[:, None], -1, 1).astype(np.float32)
    learners: dict[str, Callable[[int], Any]] = {
        "RankBoost": lambda n: RankBoost(n, tolerance=0.0),
        "Imbalanced RankBoost": lambda n: ImbalancedRankBoost(n, tolerance=0.0),
        "Imbalanced RankBoost, exact step": lambda n: ImbalancedRankBoost(n, step="exact", tolerance=0.0),
        "Imbalanced RankBoost, λ = 0": lambda n: ImbalancedRankBoost(n, regularization=0.0, tolerance=0.0),
    }
    times = {}
    for name, make in learners.items():
        make(2).fit(scores, relevant)
        longer = best(lambda make=make: make(rounds + 1).fit(scores, relevant), repeats)  # type: ignore[misc]
        times[name] = (longer - best(lambda make=make: make(1).fit(scores, relevant), repeats)) / rounds  # type: ignore[misc]
        print(f"a round of {name}, {models} models, {examples} examples: {times[name] * 1e3:.2f} ms")
    ratio = times["Imbalanced RankBoost"] / times["RankBoost"]
    return {"round_ms": times["Imbalanced RankBoost"] * 1e3, "round_ratio": ratio}


def kernels(repeats: int) -> dict[str, Any]:
    """The intersection kernel against numpy's broadcasting."""
    rng = np.random.default_rng(0)
    X, Z = rng.random((400, 256), dtype=np.float32), rng.random((500, 256), dtype=np.float32)
    ours = best(lambda: intersection(X, Z), repeats)
    broadcast = best(lambda: np.minimum(X[:, None], Z[None]).sum(axis=2), max(2, repeats // 5))
    print(f"intersection kernel 400 x 500 x 256: {ours * 1e3:.1f} ms, {broadcast / ours:.1f}x numpy's broadcasting")
    return {"intersection_ratio": broadcast / ours}


def training(repeats: int) -> dict[str, Any]:
    """Where the time of training goes, with bags of 800, and of 200 as concepts have that 1 item in 50 shows."""
    return {"svm_share": svm_share(repeats, 0.08), "svm_share_small_bags": svm_share(repeats, 0.02)}


def svm_share(repeats: int, share: float, items: int = 10_000, types: int = 100) -> float:
    """The share of SVM fits in training 20 concepts with 200 models each: measured on one type, and on all rankers."""
    matrix, judgments = made_up(items, share=share)
    base, rank = matrix.ids[: items // 2].tolist(), matrix.ids[items // 2 : items * 7 // 10].tolist()
    config = SVMConfig()
    fits = best(lambda: [fit_svm(bag, config) for bag in prepare("a", matrix, judgments, base, config).bags], 1)
    pool = train_pool("a", matrix, judgments, base, config).pool
    rest = best(lambda: prepare("a", matrix, judgments, base, config), 1)
    values = matrix.rows(base)
    rest += best(lambda: normalised_by(pool, values), repeats) + best(lambda: pool.score(matrix, rank), repeats)
    rng = np.random.default_rng(0)
    relevant = judgments.grades(judgments.queries[0], rank) > 0
    scores = np.clip(np.where(relevant, 0.2, -0.2)[:, None] + rng.normal(scale=0.4, size=(len(rank), 2 * types)), -1, 1)
    ranker = best(lambda: [RankBoost().fit(scores, relevant), ImbalancedRankBoost().fit(scores, relevant)], 2)
    found = types * fits / (types * (fits + rest) + CONCEPTS * ranker)
    print(
        f"training at {items} items, {CONCEPTS} concepts shown by {share:.0%} each, {2 * types} models: "
        f"{found:.1%} of the time is SVM fits"
    )
    print(f"  a type: fits {fits:.1f} s, the rest {rest:.2f} s; both rankers of a concept {ranker:.2f} s")
    return found


def made_up(items: int, *, share: float, dimension: int = 128, seed: int = 0) -> tuple[FeatureMatrix, Judgments]:
    """Twenty concepts, each a direction in feature space with noise."""
    rng = np.random.default_rng([seed, items])
    ids = [f"{n:06d}" for n in range(items)]
    values = rng.normal(size=(items, dimension)).astype(np.float32)
    directions = np.random.default_rng(9).normal(size=(CONCEPTS, dimension))
    noisy = values @ directions.T / dimension**0.5 + rng.normal(scale=0.5, size=(items, CONCEPTS))
    shown = noisy >= np.quantile(noisy, 1 - share, axis=0)
    pairs = [(f"c{c:02d}", ids[n]) for n, c in zip(*np.nonzero(shown), strict=True)]
    return FeatureMatrix(np.array(ids), tuple(map(str, range(dimension))), values), Judgments.from_pairs(pairs, ids)


def best(function: Callable[[], Any], repeats: int) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)
