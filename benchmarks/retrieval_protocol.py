"""The experiment of paper 003, section 5, on any collection with classes.

Five folds; each in turn tests, the next one chooses, the other three teach. In a fold φ is scaled on training pairs,
nine feature types are picked and all parameters chosen by the same validation queries, every method learns from the
same 200,000 triplets, and 150 test queries are ranked against the whole collection. Every method that learns has six
candidates. Those of the three slow methods are compared on a third of the training and of the validation queries, and
the best one is fitted again on all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from retrieval_results import Row

from mediarank.evaluation.metrics import measure as measure_metric
from mediarank.evaluation.protocols import rank_methods
from mediarank.learners.online.first_order import OPAR2
from mediarank.learners.pairwise.phi_rankers import RANKERS, Chosen, FixedWeights, Validation, fit_all
from mediarank.learners.pairwise.triplets import Triplets, draw_pairs
from mediarank.similarity.phi import SIMILARITIES
from mediarank.similarity.scaling import PhiScaler, fit_scaler
from mediarank.systems.retrieval.collection import Collection
from mediarank.types import DataError, Floats, Judgments

FOLDS = 5
ONLINE = ("opr", "opar1", "opar2", "ogdr")
"""Methods of the paper whose last weights are measured too, as `<method>_last`; else the average of all ranks."""
SLOW = ("ranknet", "c_ascent", "lambdamart")
CHOSEN_ON = 1 / 3
"""Share of the training and of the validation queries on which the candidates of a slow method are compared."""
PICKING_TRIPLETS = 50_000
"""Triplets from which OPAR-II learns while types are picked."""


@dataclass(frozen=True)
class Protocol:
    """Section 5.1's numbers; types : feature types to pick, of those that are there"""

    methods: tuple[str, ...] = tuple(RANKERS)
    types: int = 9
    instances: int = 200_000
    negatives: int = 3
    validation_queries: int = 300
    test_queries: int = 150
    scaling_pairs: int = 20_000
    seed: int = 7


@dataclass(frozen=True)
class Prepared:
    """What all methods of a fold share.

    types : positions of the feature types; training : the items that teach
    """

    fold: int
    types: tuple[int, ...]
    training: tuple[str, ...]
    test: tuple[str, ...]
    collection: Collection
    scaler: PhiScaler
    triplets: Triplets
    validation: Validation

    def narrowed(self, types: Sequence[int]) -> Prepared:
        """The same with some of the feature types alone."""
        columns = columns_of(types)
        rows = tuple(self.collection.rows[k] for k in types)
        return replace(
            self,
            types=tuple(self.types[k] for k in types),
            collection=Collection(self.collection.items, self.collection.classes, rows),
            scaler=PhiScaler(self.scaler.mean[columns], self.scaler.deviation[columns]),
            triplets=replace(self.triplets, phi=np.ascontiguousarray(self.triplets.phi[:, columns])),
            validation=replace(self.validation, phi=np.ascontiguousarray(self.validation.phi[..., columns])),
        )


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


def queries_of(
    fold_of: Mapping[str, int], fold: int, protocol: Protocol, never_asked: frozenset[str] = frozenset()
) -> tuple[list[str], list[str]]:
    """The validation and the test queries of a fold; never_asked : items that may not be queries"""
    rng = np.random.default_rng([protocol.seed, fold])
    items = sorted(set(fold_of) - never_asked)
    choosing = [i for i in items if fold_of[i] == (fold + 1) % FOLDS]
    testing = [i for i in items if fold_of[i] == fold]
    if not (choosing and testing):
        raise DataError(f"Fold {fold} lacks items to choose or test with; {FOLDS} folds need more items.")
    asked = sorted(rng.permutation(choosing)[: protocol.validation_queries].tolist())
    return asked, sorted(rng.permutation(testing)[: protocol.test_queries].tolist())


def prepare(
    collection: Collection,
    fold_of: Mapping[str, int],
    fold: int,
    protocol: Protocol,
    never_asked: frozenset[str] = frozenset(),
    clutter: frozenset[str] = frozenset(),
) -> Prepared:
    """Everything of one fold but the learning, with all feature types.

    never_asked : items that may not be queries; clutter : items that nothing is learned from
    """
    asked, tested = queries_of(fold_of, fold, protocol, never_asked)
    training = [i for i in collection.items if fold_of[i] not in (fold, (fold + 1) % FOLDS) and i not in clutter]
    if not training:
        raise DataError(f"Fold {fold} lacks items to learn from; {FOLDS} folds need more items.")
    rng = np.random.default_rng([protocol.seed, fold, 2])
    learning = collection.restricted_to(training)
    scaler = fit_scaler(learning.rows, protocol.scaling_pairs, rng)
    known = collection.restricted_to([i for i in collection.items if fold_of[i] != fold])
    labels = [learning.classes[item] for item in learning.items]
    triplets = learning.triplets(draw_pairs(labels, protocol.instances, rng, protocol.negatives), scaler)
    everything = tuple(range(len(collection.rows)))
    validation = known.validation(asked, scaler)
    return Prepared(fold, everything, tuple(training), tuple(tested), collection, scaler, triplets, validation)


def run_fold(prepared: Prepared, methods: Sequence[str], variant: str) -> tuple[list[Row], dict[str, Chosen]]:
    """Fit every method, then rank the whole collection for the test queries; the rows, and what was chosen."""
    prepared.triplets.differences  # noqa: B018  # made once, outside the time of the first method that needs it
    fitted = {method: chosen_of(method, prepared) for method in methods}
    for method in ONLINE:
        if method in methods:
            last = [replace(ranker, averaged=False) for ranker in RANKERS[method](prepared.triplets.phi.shape[1])]
            fitted[f"{method}_last"] = fit_all({method: last}, prepared.triplets, prepared.validation)[method]
    scores = prepared.collection.scores(
        prepared.test, prepared.scaler, tuple(fitted), lambda method, phi: fitted[method].ranker.predict(phi)
    )
    ranked = rank_methods(scores, Judgments.from_classes(prepared.collection.classes, prepared.test))
    rows = [
        Row(variant, m, measure_metric(ranked[m], "ap").tolist(), c.validation_map, c.seconds, dict(c.parameters))
        for m, c in fitted.items()
    ]
    return rows, fitted


def chosen_of(method: str, prepared: Prepared) -> Chosen:
    """The method with the best of its candidates."""
    if method not in SLOW:
        return fit_all({method: None}, prepared.triplets, prepared.validation)[method]
    queries = len(prepared.triplets.offsets) - 1
    triplets = prepared.triplets.first_queries(max(2, round(CHOSEN_ON * queries)))
    validation = prepared.validation
    asked = np.random.default_rng(prepared.fold).permutation(len(validation.queries))
    asked = np.sort(asked[: max(2, round(CHOSEN_ON * len(asked)))])
    classes = {item: prepared.collection.classes[item] for item in validation.items}
    part = Validation.of_classes(classes, [validation.queries[k] for k in asked], validation.phi[asked])
    found = fit_all({method: None}, triplets, part)[method]
    return fit_all({method: [type(found.ranker)(**found.parameters)]}, prepared.triplets, validation)[method]


def pick_types(validation: Validation, triplets: Triplets, count: int) -> tuple[int, ...]:
    """Feature types that together rank the validation queries best, found one after another.

    What counts is the mean of two mAPs: of plain addition (Uni-Con), and of weights that OPAR-II learns.
    """
    width = len(SIMILARITIES)
    types = validation.phi.shape[2] // width
    parts = [np.ascontiguousarray(validation.phi[..., width * k : width * (k + 1)]) for k in range(types)]
    differences = triplets.differences[:PICKING_TRIPLETS]
    picked: list[int] = []
    while len(picked) < min(count, types):
        tried: dict[int, float] = {}
        for k in range(types):
            if k not in picked:
                own = [*picked, k]
                learned = OPAR2(C=0.01).fit(np.ascontiguousarray(differences[:, columns_of(own)])).ranking_weights
                scores = (
                    sum(parts[t] @ w for t, w in zip(own, weights.reshape(-1, width), strict=True))
                    for weights in (np.ones(len(learned), np.float32), learned)
                )
                tried[k] = sum(judged(validation, found) for found in scores)
        picked.append(max(tried, key=lambda k: tried[k]))
    return tuple(sorted(picked))


def judged(validation: Validation, scores: Floats) -> float:
    """mAP of the validation queries by scores (queries, items)."""
    return replace(validation, phi=scores[..., None]).judge(FixedWeights("", np.ones(1, np.float32)))[0]


def columns_of(types: Sequence[int]) -> list[int]:
    """The columns of φ that belong to these feature types."""
    width = len(SIMILARITIES)
    return [width * k + j for k in types for j in range(width)]
