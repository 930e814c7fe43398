"""Every ranker over φ by name, and how its parameters are chosen: the same way for all.

A ranker learns by `fit_triplets` and scores by `predict`; one that is linear also tells its `ranking_weights`, another
the `arrays` it consists of. `RANKERS` gives, for a number of dimensions, the candidates of a method: one ranker a
parameter setting. `fit_best` fits them all and keeps the one with the highest mean average precision over validation
queries, the first among equals.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Protocol

import numpy as np

from mediarank.evaluation.metrics import mean_over_queries, measure
from mediarank.evaluation.ranks import Relevance, rank_relevant
from mediarank.learners.online.first_order import OGDR, OPAR1, OPAR2, OPR
from mediarank.learners.online.second_order import AROW, SCW
from mediarank.learners.pairwise.coordinate_ascent import CoordinateAscent
from mediarank.learners.pairwise.lambdamart import LambdaMART
from mediarank.learners.pairwise.ranknet import RankNet
from mediarank.learners.pairwise.triplet_ranksvm import RankSVM
from mediarank.learners.pairwise.triplets import Triplets
from mediarank.types import ConfigError, DataError, FeatureMatrix, Floats, Judgments


class Ranker(Protocol):
    def fit_triplets(self, data: Triplets) -> Any:
        """Learn from triplets, forgetting what was learned before."""

    def predict(self, phi: Floats) -> Floats:
        """Scores (n,) of items by their scaled φ (n, d), higher is better."""


@dataclass
class FixedWeights:
    """A ranker that learns nothing: one weight vector, called `name`."""

    name: str
    ranking_weights: Floats = field(repr=False)

    def fit_triplets(self, data: Triplets) -> FixedWeights:
        return self

    def predict(self, phi: Floats) -> Floats:
        return np.asarray(phi @ self.ranking_weights, dtype=np.float32)


def _single_dimensions(d: int) -> list[Ranker]:
    return [FixedWeights(str(k), axis) for k, axis in enumerate(np.eye(d, dtype=np.float32))]


RANKERS: Final[Mapping[str, Callable[[int], Sequence[Ranker]]]] = {
    "best_fea": _single_dimensions,
    "uni_con": lambda d: [FixedWeights("all", np.full(d, 1 / d, np.float32))],
    "ranknet": lambda d: [RankNet(hidden=h, rate=r) for h in (5, 20) for r in (0.001, 0.01)],
    "c_ascent": lambda d: [CoordinateAscent(tolerance=t) for t in (1e-2, 1e-3)],
    "ranksvm": lambda d: [RankSVM(C=c) for c in (1.0, 10.0, 100.0, 1e3, 1e4)],
    "lambdamart": lambda d: [LambdaMART(leaves=leaves, rate=0.05) for leaves in (7, 31)],
    "opr": lambda d: [OPR()],
    "opar1": lambda d: [OPAR1(C=c) for c in (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)],
    "opar2": lambda d: [OPAR2(C=c) for c in (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)],
    "ogdr": lambda d: [OGDR(eta=e) for e in (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)],
    "arow": lambda d: [AROW(a, r=r) for r in (1.0, 10.0, 100.0, 1e3, 1e4) for a in (False, True)],
    "scw": lambda d: [
        SCW(a, C=c, confidence=p) for c in (3e-4, 1e-3, 3e-3, 1e-2, 3e-2) for p in (0.55, 0.75) for a in (False, True)
    ],
}
"""Paper 003's two baselines, its four batch methods, its four online ones, and two of second order."""

LINEAR: Final = frozenset(RANKERS) - {"ranknet", "lambdamart"}


@dataclass(frozen=True)
class Validation:
    """Queries that choose. phi (queries, items, d) : scaled φ of every query and item, the query's own among them"""

    queries: tuple[str, ...]
    items: tuple[str, ...]
    phi: Floats
    relevance: Relevance

    @classmethod
    def of_classes(cls, classes: Mapping[str, str], queries: Sequence[str], phi: Floats) -> Validation:
        """Items of the query's own class are relevant. classes : of the items, in the order of φ's second axis"""
        judgments = Judgments.from_classes(classes, queries)
        if not any(grades for _, grades in judgments):
            raise DataError("None of the validation queries has a relevant item; parameters can't be chosen by them.")
        return cls(tuple(queries), tuple(classes), phi, Relevance.from_judgments(judgments))

    def mean_ap(self, ranker: Ranker) -> float:
        """Of the ranker's scores, over the queries that have a relevant item."""
        count, items, d = self.phi.shape
        scores = ranker.predict(self.phi.reshape(-1, d)).reshape(count, items)
        matrix = FeatureMatrix(np.array(self.queries), self.items, scores)
        return mean_over_queries(measure(rank_relevant(matrix, self.relevance), "ap"))[0]


@dataclass(frozen=True)
class Fitted:
    """A method after its parameters were chosen. validation_map : what they were chosen by; None if nothing was
    seconds : of processor time that fitting took with these parameters
    """

    ranker: Any
    parameters: Mapping[str, Any]
    validation_map: float
    seconds: float

    def arrays(self, method: str) -> dict[str, np.ndarray[Any, Any]]:
        """The model as named arrays: the weights of a linear one under the method's own name."""
        if method in LINEAR:
            return {method: self.ranker.ranking_weights}
        return {f"{method}_{name}": array for name, array in self.ranker.arrays().items()}


def fit_best(method: str, data: Triplets, validation: Validation) -> Fitted:
    """The method with the parameters that rank the validation queries best."""
    if method not in RANKERS:
        raise ConfigError(f"There is no ranking method {method!r}; there are {', '.join(RANKERS)}.")
    best: Fitted | None = None
    for ranker in RANKERS[method](data.phi.shape[1]):
        started = time.process_time()
        ranker.fit_triplets(data)
        seconds = time.process_time() - started
        reached = validation.mean_ap(ranker)
        if best is None or reached > best.validation_map:
            best = Fitted(ranker, settings(ranker), reached, seconds)
    assert best is not None  # noqa: S101  # every method has a candidate
    return best


def settings(ranker: Any) -> dict[str, Any]:
    """The parameters a ranker was made with, those that are plain numbers and words."""
    values = {f.name: getattr(ranker, f.name) for f in fields(ranker) if f.init}
    return {name: value for name, value in values.items() if isinstance(value, int | float | str)}
