"""Every ranker over φ by name, and how its parameters are chosen, which is the same for all.

A ranker learns by `fit_triplets` and scores by `predict`; a linear one also has `ranking_weights`, another one the
`arrays` that it consists of. `RANKERS` gives the candidates of a method for a number of dimensions: one ranker per
parameter setting. `fit_all` fits those of several methods and keeps for each the one with the highest mean average
precision over validation queries, the first among equals. `ranker_arrays` and `restored` keep a ranker in a file and
bring it back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import islice
from typing import Any, Final, Protocol

import numpy as np

from mediarank.evaluation.metrics import chance_precision, measure
from mediarank.evaluation.ranks import Ranks, Relevance, rank_relevant
from mediarank.fanout import share_out
from mediarank.learners.online.first_order import OGDR, OPAR1, OPAR2, OPR
from mediarank.learners.online.second_order import AROW, SCW
from mediarank.learners.pairwise.coordinate_ascent import CoordinateAscent
from mediarank.learners.pairwise.lambdamart import LambdaMART
from mediarank.learners.pairwise.ranknet import RankNet
from mediarank.learners.pairwise.triplet_ranksvm import RankSVM
from mediarank.learners.pairwise.triplets import Triplets
from mediarank.types import ConfigError, DataError, Doubles, FeatureMatrix, Floats, Judgments


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


def fixed_uniform(dimensions: int, columns: Sequence[int] | None = None) -> FixedWeights:
    """The uniform combination of similarities, which needs no labels. columns : those that count, by default all"""
    if columns is None:
        return FixedWeights("all", np.full(dimensions, 1 / dimensions, np.float32))
    weights = np.zeros(dimensions, np.float32)
    weights[list(columns)] = 1 / len(columns)
    return FixedWeights("some", weights)


def _single_dimensions(d: int) -> list[Ranker]:
    return [FixedWeights(str(k), axis) for k, axis in enumerate(np.eye(d, dtype=np.float32))]


RANKERS: Final[Mapping[str, Callable[[int], Sequence[Ranker]]]] = {
    "best_fea": _single_dimensions,
    "uni_con": lambda d: [fixed_uniform(d)],
    "ranknet": lambda d: [RankNet(hidden=h, rate=r) for h in (5, 20, 50) for r in (0.001, 0.01)],
    "c_ascent": lambda d: [CoordinateAscent(seed=restart) for restart in range(6)],
    "ranksvm": lambda d: [RankSVM(C=c) for c in (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)],
    "lambdamart": lambda d: [LambdaMART(leaves=leaves, rate=rate) for leaves in (4, 7, 31) for rate in (0.05, 0.1)],
    "opr": lambda d: [OPR()],
    "opar1": lambda d: [OPAR1(C=c) for c in (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)],
    "opar2": lambda d: [OPAR2(C=c) for c in (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)],
    "ogdr": lambda d: [OGDR(eta=e) for e in (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)],
    "arow": lambda d: [AROW(r=r) for r in (1e-1, 1.0, 10.0, 100.0, 1e3, 1e4)],
    "scw": lambda d: [SCW(C=c, confidence=p) for c in (3e-4, 3e-3, 3e-2) for p in (0.55, 0.75)],
}
"""Paper 003's two baselines, its four batch methods, its four online ones, and two of second order.

Every method that learns chooses from six candidates, except OPR, which has no parameter; the candidates of coordinate
ascent are restarts.
"""

CURVED: Final = frozenset({"ranknet", "lambdamart"})
"""Methods that are not linear in φ; every other one is a weight vector."""


@dataclass(frozen=True)
class Validation:
    """Queries that parameters are chosen by.

    phi : (queries, items, d) scaled φ of every query and item, including the query itself
    """

    queries: tuple[str, ...]
    items: tuple[str, ...]
    phi: Floats
    relevance: Relevance

    @classmethod
    def of_classes(cls, classes: Mapping[str, str], queries: Sequence[str], phi: Floats) -> Validation:
        """Items of the query's own class are relevant.

        classes : of the items, in the order of φ's second axis
        """
        judgments = Judgments.from_classes(classes, queries)
        if not any(grades for _, grades in judgments):
            raise DataError("None of the validation queries has a relevant item; parameters can't be chosen by them.")
        return cls(tuple(queries), tuple(classes), phi, Relevance.from_judgments(judgments))

    def judge(self, ranker: Ranker) -> tuple[float, bool]:
        """Mean average precision over the queries with a relevant item, and whether it is better than chance.

        It is if the mean difference to a random order exceeds 1.645 of its standard errors: one-sided, at 5 %.
        """
        ranks = self._ranks(ranker)
        asked = ranks.total > 0
        found = measure(ranks, "ap")[asked]
        difference = found - chance_precision(ranks.total[asked], ranks.candidates[asked])
        return float(found.mean()), bool(difference.mean() > 1.645 * difference.std() / np.sqrt(len(difference)))

    def precisions(self, ranker: Ranker) -> Doubles:
        """Average precision of every query with a relevant item."""
        ranks = self._ranks(ranker)
        return measure(ranks, "ap")[ranks.total > 0]

    def _ranks(self, ranker: Ranker) -> Ranks:
        count, items, d = self.phi.shape
        scores = ranker.predict(self.phi.reshape(-1, d)).reshape(count, items)
        return rank_relevant(FeatureMatrix(np.array(self.queries), self.items, scores), self.relevance)


@dataclass(frozen=True)
class Chosen:
    """A method after its parameters were chosen.

    validation_map : the mean average precision that they were chosen by
    better_than_chance : whether it is above that of a random order, see `Validation.judge`
    seconds : processor time that fitting took with these parameters
    """

    ranker: Any
    parameters: Mapping[str, Any]
    validation_map: float
    better_than_chance: bool
    seconds: float


def fit_all(
    methods: Mapping[str, Sequence[Ranker] | None], data: Triplets, validation: Validation
) -> dict[str, Chosen]:
    """Every method with the parameters that rank the validation queries best.

    On this machine one candidate is fitted after another, so that `Chosen.seconds` is its time alone.

    methods : name -> rankers to choose from, or None for those that `RANKERS` names
    """
    candidates = {name: _candidates(name, data) if own is None else own for name, own in methods.items()}
    every = [ranker for own in candidates.values() for ranker in own]
    tried = iter(share_out(partial(_judged, data, validation), every, threads=1))
    return {
        name: max(islice(tried, len(own)), key=lambda found: found.validation_map) for name, own in candidates.items()
    }


def _candidates(method: str, data: Triplets) -> Sequence[Ranker]:
    if method not in RANKERS:
        raise ConfigError(f"There is no ranking method {method!r}; choose one of: {', '.join(RANKERS)}.")
    return RANKERS[method](data.phi.shape[1])


def _judged(data: Triplets, validation: Validation, ranker: Ranker) -> Chosen:
    """One candidate, fitted and measured."""
    started = time.process_time()
    ranker.fit_triplets(data)
    seconds = time.process_time() - started
    reached, better_than_chance = validation.judge(ranker)
    return Chosen(ranker, settings(ranker), reached, better_than_chance, seconds)


def ranker_arrays(method: str, ranker: Any) -> dict[str, np.ndarray[Any, Any]]:
    """A fitted ranker as named arrays: the weights of a linear one under the method's own name."""
    if method not in CURVED:
        return {method: ranker.ranking_weights}
    return {f"{method}_{name}": array for name, array in ranker.arrays().items()}


def restored(method: str, arrays: Mapping[str, Any]) -> Ranker:
    """The ranker whose `ranker_arrays` these were."""
    if method == "ranknet":
        return RankNet.restored(arrays["ranknet_inner"], arrays["ranknet_bias"], arrays["ranknet_outer"])
    if method == "lambdamart":
        return LambdaMART.restored(arrays["lambdamart_forest"])
    return FixedWeights(method, arrays[method])


def settings(ranker: Any) -> dict[str, Any]:
    """The parameters a ranker was made with, those that are plain numbers and words."""
    values = {f.name: getattr(ranker, f.name) for f in fields(ranker) if f.init}
    return {name: value for name, value in values.items() if isinstance(value, int | float | str)}
