"""The live system: search by example, say why, and learn from what is clicked.

`LiveRanker` starts from any fitted method of a model and adds second-order weights that feedback moves. `search`
ranks everything in one pass, `explain` splits a score into features and similarities, `learn` takes a `Feedback`.
Nothing here touches a file: `teaching/feedback.py` makes feedback durable.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from mediarank.learners.online.second_order import AROW
from mediarank.learners.pairwise.phi_rankers import Ranker, ranker_arrays
from mediarank.similarity.nearest import nearest, top
from mediarank.similarity.phi import SIMILARITIES, phi_over_types, weighted_phi
from mediarank.similarity.shortlist import Shortlist
from mediarank.systems.retrieval.model import Model
from mediarank.types import DataError, Floats

CANDIDATES: Final = 50
"""How many items a shortlist holds for each that is to be found."""


@dataclass(frozen=True)
class Feedback:
    """What a user said of a search: every relevant item belongs before every irrelevant one.

    vectors : the query's, one per feature type, where it is not an item of the collection
    """

    query: str
    relevant: tuple[str, ...]
    irrelevant: tuple[str, ...]
    vectors: tuple[Floats, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        both = set(self.relevant) & set(self.irrelevant)
        if both:
            raise DataError(f"{', '.join(sorted(both))} can't be relevant and irrelevant in one feedback; say one.")
        if not (self.relevant and self.irrelevant):
            raise DataError("Feedback is a comparison: name at least one item that is relevant and one that is not.")
        if self.query in {*self.relevant, *self.irrelevant}:
            raise DataError(f"{self.query} is the query itself; give feedback on what was found.")


@dataclass(frozen=True)
class Hit:
    item: str
    score: float


@dataclass
class LiveRanker:
    """A model that one method answers for, and what feedback has changed since.

    A linear method's weights are where learning starts. Of another method the score itself becomes one more
    dimension, whose weight stays 1, and feedback adds a linear correction to it.

    variance : how far feedback may move the weights
    caution : AROW's r
    """

    model: Model
    method: str | None = None
    variance: float = 0.05
    caution: float = 1.0

    def __post_init__(self) -> None:
        self.method = self.model.method(self.method)
        self._base: Ranker = self.model.rankers[self.method]
        own = getattr(self._base, "ranking_weights", None)
        self.linear = own is not None
        d = len(SIMILARITIES) * len(self.model.phi_types)
        self.start: Floats = own if own is not None else np.append(np.zeros(d, np.float32), np.float32(1))
        self._ranker = AROW(r=self.caution)
        self.forget()

    @property
    def features(self) -> tuple[str, ...]:
        return self.model.features

    @property
    def ids(self) -> tuple[str, ...]:
        return self.model.names

    def forget(self) -> None:
        """Back to the fitted method, before any feedback."""
        self._ranker.start_at(self.start, self.variance)
        if not self.linear:
            self._ranker.covariance_[-1] = self._ranker.covariance_[:, -1] = 0  # the method's own score keeps weight 1

    @property
    def ranking_weights(self) -> Floats:
        return self._ranker.ranking_weights

    def vectors(self, query: str) -> list[Floats]:
        """An item's own, one per feature type."""
        place = self._places([query])[0]
        return [rows[place] for rows in self.model.rows]

    def search(
        self,
        vectors: Sequence[Floats],
        count: int = 20,
        leave_out: str | None = None,
        shortlist: Shortlist | None = None,
    ) -> list[Hit]:
        """The best items, best first; with a shortlist, the best among its candidates."""
        among = None if shortlist is None else self._candidates(vectors, shortlist, CANDIDATES * (count + 1))
        if self.linear:
            v, offset = self.model.scaler.unscaled(self.ranking_weights)
            places, scores = nearest(self.model.phi_vectors(vectors), self.model.phi_rows, v, count + 1, among)
            scores = scores + offset
        else:
            everything = self.scores(vectors) if among is None else self._inputs(vectors, among) @ self.ranking_weights
            places = top(everything, count + 1)
            scores = everything[places]
            places = places if among is None else among[places]
        found = zip((self.ids[place] for place in places.tolist()), scores.tolist(), strict=True)
        return [Hit(item, float(score)) for item, score in found if item != leave_out][:count]

    def scores(self, vectors: Sequence[Floats]) -> Floats:
        """The score of every item, in the order of `ids`."""
        if not self.linear:
            return np.asarray(self._inputs(vectors, None) @ self.ranking_weights, dtype=np.float32)
        v, offset = self.model.scaler.unscaled(self.ranking_weights)
        return weighted_phi(self.model.phi_vectors(vectors), self.model.phi_rows, v, offset)

    def recall(self, shortlist: Shortlist, count: int = 20, queries: int = 20, seed: int = 0) -> float:
        """The share of the first items that a search by shortlist finds, over items drawn as queries."""
        drawn = np.random.default_rng(seed).choice(len(self.ids), min(queries, len(self.ids)), replace=False)
        shares = []
        for place in np.sort(drawn).tolist():
            vectors = self.vectors(self.ids[place])
            exact, quick = ({hit.item for hit in self.search(vectors, count, None, s)} for s in (None, shortlist))
            shares.append(len(exact & quick) / len(exact))
        return float(np.mean(shares))

    def explain(self, vectors: Sequence[Floats], item: str) -> pd.DataFrame:
        """feature, similarity, value, weight, contribution: the parts of an item's score, the largest first.

        `value` is scaled φ: how many deviations more alike than two training items are on average. Of a method that
        is not linear, its own score is one of the parts.
        """
        values = self._inputs(vectors, self._places([item]))[0].astype(np.float64)
        weights = self.ranking_weights.astype(np.float64)
        names = [(feature, similarity) for feature in self.model.phi_types for similarity in SIMILARITIES]
        names += [] if self.linear else [(str(self.method), "score")]
        table = pd.DataFrame(names, columns=["feature", "similarity"])
        table = table.assign(value=values, weight=weights, contribution=values * weights)
        order = np.argsort(-table["contribution"].abs().to_numpy(), kind="stable")
        return table.iloc[order].reset_index(drop=True)

    def check(self, feedback: Feedback) -> None:
        """Refuse feedback that names what is not in the collection."""
        own = () if feedback.vectors else (feedback.query,)
        self._places([*own, *feedback.relevant, *feedback.irrelevant])

    def learn(self, feedback: Feedback, caution: float | None = None) -> None:
        """Change the weights at once; the next search uses them.

        caution : AROW's r for this feedback, by default the ranker's own; the larger, the less it changes
        """
        self.check(feedback)
        self._ranker.r = self.caution if caution is None else caution
        vectors = list(feedback.vectors) or self.vectors(feedback.query)
        rows = self._inputs(vectors, self._places([*feedback.relevant, *feedback.irrelevant]))
        good, bad = rows[: len(feedback.relevant)], rows[len(feedback.relevant) :]
        self._ranker.partial_fit((good[:, None] - bad[None]).reshape(-1, rows.shape[1]))

    def state(self) -> dict[str, np.ndarray[Any, Any]]:
        """All that learning has changed."""
        return {
            "weights": self._ranker.weights_,
            "covariance": self._ranker.covariance_,
            "seen": np.array([self._ranker.seen_]),
        }

    def restore(self, state: Mapping[str, np.ndarray[Any, Any]]) -> None:
        self._ranker.weights_ = np.array(state["weights"], dtype=np.float64)
        self._ranker.covariance_ = np.array(state["covariance"], dtype=np.float64)
        self._ranker.seen_ = int(state["seen"].item())

    def fingerprint(self) -> str:
        """Of where learning starts: feedback learned from another start has to be learned again."""
        start = hashlib.sha256(repr((self.features, self.method, self.variance, self.caution)).encode())
        own = ranker_arrays(str(self.method), self._base)
        own |= self.model.learned_types.arrays() if self.model.learned_types else {}
        for array in (self.model.scaler.mean, self.model.scaler.deviation, *(own[name] for name in sorted(own))):
            start.update(np.ascontiguousarray(array).tobytes())
        return start.hexdigest()

    def _inputs(self, vectors: Sequence[Floats], places: np.ndarray[Any, Any] | None) -> Floats:
        """What the weights are multiplied with, one row per place: scaled φ, and the score of a non-linear method."""
        rows = [matrix if places is None else matrix[places] for matrix in self.model.phi_rows]
        phi = self.model.scaler.apply(phi_over_types(self.model.phi_vectors(vectors), rows))
        return phi if self.linear else np.column_stack([phi, self.model.predict(str(self.method), phi)])

    def _candidates(self, vectors: Sequence[Floats], shortlist: Shortlist, count: int) -> np.ndarray[Any, Any]:
        """Places of the shortlist's candidates, and of as many items whose class probabilities are most alike."""
        found = shortlist.candidates(vectors, count)
        if self.model.learned_types is None:
            return np.sort(found)
        alike = self.model.learned[1] @ self.model.phi_vectors(vectors)[len(self.features) + 1]
        return np.union1d(found, top(alike, min(count, len(alike))))

    def _places(self, items: Sequence[str]) -> np.ndarray[Any, Any]:
        return self.model.places(items)
