"""The experiment of paper 003, section 5, on any collection with classes.

Five folds; each in turn tests, the next one chooses, the other three teach. In a fold φ is scaled on training pairs,
nine feature types are picked and all parameters chosen by the same validation queries, every method learns from the
same 200,000 triplets, and 150 test queries are ranked against the whole collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mediarank.evaluation.metrics import mean_over_queries
from mediarank.evaluation.metrics import measure as measure_metric
from mediarank.evaluation.protocols import rank_methods
from mediarank.learners.pairwise.phi_rankers import RANKERS, Chosen, FixedWeights, Validation, fit_best
from mediarank.learners.pairwise.triplets import Triplets, draw_pairs
from mediarank.similarity.phi import SIMILARITIES
from mediarank.similarity.scaling import PhiScaler, fit_scaler
from mediarank.systems.retrieval.collection import Collection
from mediarank.types import DataError, Doubles, Judgments

FOLDS = 5
ONLINE = ("opr", "opar1", "opar2", "ogdr")
"""Methods of the paper whose last weights are measured too, as `<method>_last`; else the average of all ranks."""


@dataclass(frozen=True)
class Protocol:
    """Section 5.1's numbers; types : feature types to pick, of those that are there; folds : that are run, of five"""

    methods: tuple[str, ...] = tuple(RANKERS)
    types: int = 9
    folds: int = FOLDS
    instances: int = 200_000
    negatives: int = 3
    validation_queries: int = 300
    test_queries: int = 150
    scaling_pairs: int = 20_000
    seed: int = 7


@dataclass(frozen=True)
class Prepared:
    """What all methods of a fold share. picked : positions of the feature types; training : the items that teach"""

    fold: int
    picked: tuple[int, ...]
    training: tuple[str, ...]
    test: tuple[str, ...]
    collection: Collection
    scaler: PhiScaler
    triplets: Triplets
    validation: Validation


@dataclass(frozen=True)
class FoldResult:
    """fitted : method -> the chosen ranker; average_precision : method -> of every test query"""

    prepared: Prepared
    fitted: Mapping[str, Chosen]
    average_precision: Mapping[str, Doubles]

    def mean(self, method: str) -> float:
        return mean_over_queries(self.average_precision[method])[0]


def deal_folds(items: Sequence[str], classes: Mapping[str, str], seed: int) -> dict[str, int]:
    """item -> fold, at random within each class, so that every fold sees every class with five items or more."""
    rng = np.random.default_rng(seed)
    members: dict[str, list[str]] = {}
    for item in items:
        members.setdefault(classes[item], []).append(item)
    fold_of: dict[str, int] = {}
    dealt = 0
    for name in sorted(members):
        for k, item in enumerate(rng.permutation(members[name]).tolist()):
            fold_of[item] = (dealt + k) % FOLDS
        dealt += len(members[name])
    return fold_of


def prepare(
    collection: Collection,
    fold_of: Mapping[str, int],
    fold: int,
    protocol: Protocol,
    never_asked: frozenset[str] = frozenset(),
    clutter: frozenset[str] = frozenset(),
    hand_made: int | None = None,
) -> Prepared:
    """Everything of one fold but the learning.

    never_asked : items that may not be queries; clutter : items that nothing is learned from
    hand_made : pick among so many of the first types, by default among all
    """
    collection = Collection(collection.items, collection.classes, collection.rows[:hand_made])
    rng = np.random.default_rng([protocol.seed, fold])
    choosing = [i for i in collection.items if fold_of[i] == (fold + 1) % FOLDS and i not in never_asked]
    testing = [i for i in collection.items if fold_of[i] == fold and i not in never_asked]
    training = [i for i in collection.items if fold_of[i] not in (fold, (fold + 1) % FOLDS) and i not in clutter]
    if not (choosing and testing and training):
        raise DataError(f"Fold {fold} lacks items to learn, choose or test with; {FOLDS} folds need more items.")
    asked = sorted(rng.permutation(choosing)[: protocol.validation_queries].tolist())
    tested = sorted(rng.permutation(testing)[: protocol.test_queries].tolist())
    learning = collection.restricted_to(training)
    scaler = fit_scaler(learning.rows, protocol.scaling_pairs, rng)
    known = collection.restricted_to([i for i in collection.items if fold_of[i] != fold])
    validation = known.validation(asked, scaler)
    picked = pick_types(validation, protocol.types)
    columns = _columns(picked)
    narrow = PhiScaler(scaler.mean[columns], scaler.deviation[columns])
    few = Collection(collection.items, collection.classes, tuple(collection.rows[k] for k in picked))
    learning = few.restricted_to(training)
    labels = [learning.classes[item] for item in learning.items]
    triplets = learning.triplets(draw_pairs(labels, protocol.instances, rng, protocol.negatives), narrow)
    chosen = Validation(
        validation.queries, validation.items, np.ascontiguousarray(validation.phi[..., columns]), validation.relevance
    )
    return Prepared(fold, picked, tuple(training), tuple(tested), few, narrow, triplets, chosen)


def run_fold(prepared: Prepared, methods: Sequence[str]) -> FoldResult:
    """Fit every method, then rank the whole collection for the test queries."""
    prepared.triplets.differences  # noqa: B018  # made once, outside the time of the first method that needs it
    fitted = {method: fit_best(method, prepared.triplets, prepared.validation) for method in methods}
    for method in ONLINE:
        if method in methods:
            last = [replace(ranker, averaged=False) for ranker in RANKERS[method](prepared.triplets.phi.shape[1])]
            fitted[f"{method}_last"] = fit_best(method, prepared.triplets, prepared.validation, last)
    rankers = {method: found.ranker for method, found in fitted.items()}
    scores = prepared.collection.scores(
        prepared.test, prepared.scaler, tuple(rankers), lambda method, phi: rankers[method].predict(phi)
    )
    ranked = rank_methods(scores, Judgments.from_classes(prepared.collection.classes, prepared.test))
    return FoldResult(prepared, fitted, {m: measure_metric(ranks, "ap") for m, ranks in ranked.items()})


def cross_validate(
    collection: Collection,
    fold_of: Mapping[str, int],
    protocol: Protocol,
    never_asked: frozenset[str] = frozenset(),
    clutter: frozenset[str] = frozenset(),
    hand_made: int | None = None,
) -> Iterator[FoldResult]:
    """One result per fold, as it becomes ready."""
    for fold in range(protocol.folds):
        prepared = prepare(collection, fold_of, fold, protocol, never_asked, clutter, hand_made)
        yield run_fold(prepared, protocol.methods)


def pick_types(validation: Validation, count: int) -> tuple[int, ...]:
    """Feature types that together rank the validation queries best by plain addition, found one after another."""
    types = validation.phi.shape[2] // len(SIMILARITIES)
    picked: list[int] = []
    while len(picked) < min(count, types):
        tried: dict[int, float] = {}
        for k in range(types):
            if k not in picked:
                weights = np.zeros(validation.phi.shape[2], np.float32)
                weights[_columns([*picked, k])] = 1
                tried[k] = validation.judge(FixedWeights(str(k), weights))[0]
        picked.append(max(tried, key=lambda k: tried[k]))
    return tuple(sorted(picked))


def _columns(types: Sequence[int]) -> list[int]:
    width = len(SIMILARITIES)
    return [width * k + j for k in types for j in range(width)]


def summary(results: Sequence[FoldResult]) -> dict[str, dict[str, Any]]:
    """method -> mean and standard deviation over folds of mAP, and mean training time: table 2."""
    table = {}
    for method in results[0].fitted:
        maps = [result.mean(method) for result in results]
        seconds = [result.fitted[method].seconds for result in results]
        table[method] = {
            "map": float(np.mean(maps)),
            "spread": float(np.std(maps)),
            "train_s": float(np.mean(seconds)),
            "valid_map": float(np.mean([result.fitted[method].validation_map for result in results])),
        }
    return table
