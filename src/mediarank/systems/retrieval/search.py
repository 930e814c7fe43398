"""The live system: search by example, say why, and learn from what is clicked.

`LiveRanker` holds a collection's features, a scaler and second-order weights that start where a fitted method ended.
`search` ranks everything in one pass, `explain` splits an item's score into features and similarities, `learn` takes
a `Feedback`. Nothing here touches a file: `teaching/feedback.py` makes feedback durable.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from mediarank.learners.online.second_order import AROW
from mediarank.learners.pairwise.phi_rankers import LINEAR
from mediarank.similarity.nearest import nearest
from mediarank.similarity.phi import SIMILARITIES, phi_over_types
from mediarank.similarity.scaling import PhiScaler
from mediarank.similarity.shortlist import Shortlist
from mediarank.types import ConfigError, DataError, FeatureMatrix, Floats

CANDIDATES: Final = 50
"""How many items a shortlist holds for each that is to be found."""


@dataclass(frozen=True)
class Feedback:
    """What a user said of a search: every relevant item belongs before every irrelevant one.

    vectors : the query's, one a feature type, where it is not an item of the collection
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
            raise DataError("Feedback is a comparison: name an item at least that is relevant and one that is not.")
        if self.query in {*self.relevant, *self.irrelevant}:
            raise DataError(f"{self.query} is the query itself; give feedback on what was found.")


@dataclass(frozen=True)
class Hit:
    item: str
    score: float


@dataclass
class LiveRanker:
    """
    features : names of the feature types; matrices : one each, all over the same items
    weights : of scaled φ, where learning starts; variance : how far feedback may move them; caution : AROW's r
    """

    features: tuple[str, ...]
    matrices: tuple[FeatureMatrix, ...]
    scaler: PhiScaler
    weights: Floats
    variance: float = 0.05
    caution: float = 1.0

    def __post_init__(self) -> None:
        first = self.matrices[0]
        for name, matrix in zip(self.features, self.matrices, strict=True):
            if not np.array_equal(matrix.ids, first.ids):
                raise DataError(f"{name} describes other items than {self.features[0]}; run dvc repro.")
        if len(self.weights) != len(SIMILARITIES) * len(self.features):
            raise DataError(f"{len(self.weights)} weights don't fit φ over {len(self.features)} feature types.")
        self._rows = [matrix.values for matrix in self.matrices]
        self._ranker = AROW(r=self.caution)
        self.forget()

    @classmethod
    def of_model(
        cls,
        matrices: Mapping[str, FeatureMatrix],
        arrays: Mapping[str, Any],
        facts: Mapping[str, Any],
        method: str = "arow",
    ) -> LiveRanker:
        """From what the system's `run` returned and one of its linear methods."""
        if method not in LINEAR or method not in arrays:
            known = ", ".join(sorted(LINEAR & set(arrays)))
            raise ConfigError(f"The model has no linear method {method!r} to search with; it has {known}.")
        features = tuple(facts["features"])
        scaler = PhiScaler(arrays["mean"], arrays["deviation"])
        return cls(features, tuple(matrices[name] for name in features), scaler, arrays[method])

    def forget(self) -> None:
        """Back to the weights before any feedback."""
        self._ranker.start_at(self.weights, self.variance)

    @property
    def ranking_weights(self) -> Floats:
        return self._ranker.ranking_weights

    def vectors(self, query: str) -> list[Floats]:
        """An item's own, one a feature type."""
        place = self._positions([query])[0]
        return [rows[place] for rows in self._rows]

    def search(
        self,
        vectors: Sequence[Floats],
        count: int = 20,
        leave_out: str | None = None,
        shortlist: Shortlist | None = None,
    ) -> list[Hit]:
        """The best items, best first; with a shortlist, the best among its candidates."""
        v, offset = self.scaler.unscaled(self.ranking_weights)
        among = None if shortlist is None else shortlist.candidates(vectors, CANDIDATES * (count + 1))
        places, scores = nearest(vectors, self._rows, v, count + 1, among)
        ids = self.matrices[0].ids[places].tolist()
        hits = [Hit(item, float(score) + offset) for item, score in zip(ids, scores, strict=True) if item != leave_out]
        return hits[:count]

    def recall(self, shortlist: Shortlist, count: int = 20, queries: int = 20, seed: int = 0) -> float:
        """The share of the first items that a search by shortlist finds, over items drawn as queries."""
        ids = self.matrices[0].ids
        drawn = np.random.default_rng(seed).choice(len(ids), min(queries, len(ids)), replace=False)
        shares = []
        for item in ids[np.sort(drawn)].tolist():
            vectors = self.vectors(item)
            exact, quick = ({hit.item for hit in self.search(vectors, count, None, s)} for s in (None, shortlist))
            shares.append(len(exact & quick) / len(exact))
        return float(np.mean(shares))

    def explain(self, vectors: Sequence[Floats], item: str) -> pd.DataFrame:
        """feature, similarity, value, weight, contribution: the parts of an item's score, the largest first.

        `value` is scaled φ: how many deviations more alike than two training items are on average.
        """
        phi = self.scaler.apply(self._phi(vectors, [item]))[0].astype(np.float64)
        weights = self.ranking_weights.astype(np.float64)
        names = [(feature, similarity) for feature in self.features for similarity in SIMILARITIES]
        table = pd.DataFrame(names, columns=["feature", "similarity"])
        table = table.assign(value=phi, weight=weights, contribution=phi * weights)
        order = np.argsort(-table["contribution"].abs().to_numpy(), kind="stable")
        return table.iloc[order].reset_index(drop=True)

    def check(self, feedback: Feedback) -> None:
        """Refuse feedback that names what is not in the collection."""
        own = () if feedback.vectors else (feedback.query,)
        self._positions([*own, *feedback.relevant, *feedback.irrelevant])

    def learn(self, feedback: Feedback) -> None:
        """Change the weights at once; the next search uses them."""
        self.check(feedback)
        vectors = list(feedback.vectors) or self.vectors(feedback.query)
        phi = self.scaler.apply(self._phi(vectors, [*feedback.relevant, *feedback.irrelevant]))
        good, bad = phi[: len(feedback.relevant)], phi[len(feedback.relevant) :]
        self._ranker.partial_fit((good[:, None] - bad[None]).reshape(-1, phi.shape[1]))

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
        start = hashlib.sha256(repr((self.features, self.variance, self.caution)).encode())
        for array in (self.weights, self.scaler.mean, self.scaler.deviation):
            start.update(np.ascontiguousarray(array).tobytes())
        return start.hexdigest()

    def _phi(self, vectors: Sequence[Floats], items: Sequence[str]) -> Floats:
        places = self._positions(items)
        return phi_over_types(vectors, [rows[places] for rows in self._rows])

    def _positions(self, items: Sequence[str]) -> np.ndarray[Any, Any]:
        unknown = [item for item in items if item not in self.matrices[0]]
        if unknown:
            near = difflib.get_close_matches(unknown[0], self.matrices[0].ids[:100_000].tolist(), n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise DataError(f"{', '.join(unknown[:3])}: not in the collection.{hint} `mediarank search` shows ids.")
        return self.matrices[0].positions(items)
