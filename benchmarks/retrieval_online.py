"""The simulation of a live system (paper 003, section 5.5).

Queries arrive one after another. Each method ranks the collection with what it has learned so far, the first 50 items
are labelled, the method learns from them, and the next query comes. All start as Uni-Con. RankSVM can't learn on, so
it is trained again from a reservoir: a uniform sample of all triplets so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
import pandas as pd

from mediarank.evaluation.metrics import ndcg
from mediarank.learners.online.first_order import OGDR, OPAR1, OPAR2, OPR
from mediarank.learners.online.second_order import AROW, SCW
from mediarank.learners.pairwise.triplet_ranksvm import RankSVM
from mediarank.learners.pairwise.triplets import Triplets
from mediarank.similarity.nearest import top
from mediarank.similarity.scaling import PhiScaler
from mediarank.systems.retrieval.collection import Collection
from mediarank.types import DataError, Floats

SHOWN: Final = 50
MOST_TRIPLETS: Final = 200
"""Learned from in a round; of more, so many are drawn."""


class LiveLearner(Protocol):
    def partial_fit(self, differences: Floats) -> Any:
        """Learn from more triplets."""

    @property
    def ranking_weights(self) -> Floats:
        """The weights to rank with now."""


@dataclass
class Unmoved:
    """Uni-Con: whatever is clicked, all of φ counts the same."""

    ranking_weights: Floats

    def partial_fit(self, differences: Floats) -> Unmoved:
        return self


@dataclass
class Retrained:
    """RankSVM trained anew every so many rounds, from a reservoir of the triplets so far (Vitter 1985)."""

    ranking_weights: Floats
    C: float = 10.0
    every: int = 20
    capacity: int = 20_000
    seed: int = 0
    kept: list[Floats] = field(default_factory=list, repr=False)
    seen: int = 0
    rounds: int = 0

    def partial_fit(self, differences: Floats) -> Retrained:
        rng = np.random.default_rng([self.seed, self.seen])
        for row in differences:
            self.seen += 1
            if len(self.kept) < self.capacity:
                self.kept.append(row)
            elif (place := int(rng.integers(self.seen))) < self.capacity:
                self.kept[place] = row
        self.rounds += 1
        if self.rounds % self.every == 0:
            self.ranking_weights = RankSVM(C=self.C).fit_triplets(_from_origin(np.stack(self.kept))).ranking_weights
        return self


def _from_origin(differences: Floats) -> Triplets:
    """Triplets whose worse item has φ = 0, so that their differences are these."""
    count, d = differences.shape
    phi = np.zeros((2 * count, d), np.float32)
    phi[0::2] = differences
    places = np.arange(count)
    return Triplets(phi, np.repeat(places, 2), np.tile([True, False], count), 2 * places, 2 * places + 1)


def live_learners(d: int, parameters: Mapping[str, Mapping[str, Any]]) -> dict[str, LiveLearner]:
    """Those of the simulation, each at Uni-Con's weights; parameters : method -> settings, such as chosen ones."""
    uniform = np.full(d, 1.0 / d, np.float32)
    makers: dict[str, Callable[..., Any]] = {
        "opr": OPR, "opar1": OPAR1, "opar2": OPAR2, "ogdr": OGDR, "arow": AROW, "scw": SCW
    }  # fmt: skip
    learners: dict[str, LiveLearner] = {"uni_con": Unmoved(uniform)}
    learners |= {name: make(**parameters.get(name, {})).start_at(uniform) for name, make in makers.items()}
    learners["ranksvm"] = Retrained(uniform, C=parameters.get("ranksvm", {}).get("C", 10.0))
    return learners


def simulate(
    collection: Collection,
    scaler: PhiScaler,
    queries: Sequence[str],
    learners: Mapping[str, LiveLearner],
    shown: int = SHOWN,
    seed: int = 0,
) -> pd.DataFrame:
    """method, round, query, ndcg (of the first `shown`), cumulative (its mean so far), seconds (of learning, so far).

    A query without another item of its class has no nDCG and teaches nothing.
    """
    unknown = [query for query in queries if query not in collection.position]
    if unknown:
        raise DataError(f"{len(unknown)} queries are not in the collection, such as {', '.join(unknown[:3])}.")
    names = np.array([collection.classes[item] for item in collection.items])
    rng = np.random.default_rng(seed)
    seconds = dict.fromkeys(learners, 0.0)
    rows = []
    for number, query in enumerate(queries):
        phi = collection.scaled_phi(query, scaler)
        own = collection.position[query]
        relevant = names == names[own]
        relevant[own] = False
        draws = int(rng.integers(2**32))  # the same luck for all methods
        for method, learner in learners.items():
            scores = phi @ learner.ranking_weights
            scores[own] = -np.inf
            best = top(scores, min(shown, len(scores) - 1))
            value = ndcg(np.delete(relevant, own), np.delete(scores, own), k=shown)
            started = time.process_time()
            differences = _differences(phi[best], relevant[best], np.random.default_rng(draws))
            if len(differences):
                learner.partial_fit(differences)
            seconds[method] += time.process_time() - started
            rows.append((method, number, query, value, seconds[method]))
    table = pd.DataFrame(rows, columns=["method", "round", "query", "ndcg", "seconds"])
    running = table.groupby("method", sort=False)["ndcg"]
    table.insert(4, "cumulative", running.transform(lambda values: values.expanding().mean()))
    return table


def _differences(phi: Floats, relevant: np.ndarray[Any, Any], rng: np.random.Generator) -> Floats:
    """Δφ of relevant against irrelevant items among those shown."""
    good, bad = np.flatnonzero(relevant), np.flatnonzero(~relevant)
    pairs = np.stack(np.meshgrid(good, bad, indexing="ij"), axis=-1).reshape(-1, 2)
    pairs = pairs[rng.permutation(len(pairs))[:MOST_TRIPLETS]]
    return phi[pairs[:, 0]] - phi[pairs[:, 1]]
