"""The types of φ that are learned from classes, for items and for queries.

`class_probabilities`: of every known class (see `class_scores.py`). An item's row has one more number that makes its
length 1, and a query's row has 0 there: their cosine is, but for a factor per query, the probability that both are of
one class. So an item of which little is known is far from everything.
`class_probability_roots`: their square roots; the cosine is Bhattacharyya's coefficient, which also finds items that
resemble the same known classes.
`whitened`: vectors in which the differences within classes are shrunk (see `similarity/whitening.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from mediarank.similarity.whitening import Whitening, fit_whitening
from mediarank.systems.retrieval.class_scores import ClassScores, fit_class_scores
from mediarank.systems.retrieval.collection import Collection
from mediarank.types import Floats

LEARNED_TYPES: Final = ("class_probabilities", "class_probability_roots", "whitened")
Arrays = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True, eq=False)
class LearnedTypes:
    """scores : how class probabilities follow from vectors; whitening : None where no type is whitened"""

    scores: ClassScores
    whitening: Whitening | None

    @property
    def names(self) -> tuple[str, ...]:
        return LEARNED_TYPES if self.whitening else LEARNED_TYPES[:2]

    def of_query(self, vectors: Mapping[str, Floats]) -> list[Floats]:
        """One vector per learned type. vectors : the query's, by feature type"""
        rows = {name: vector[None] for name, vector in vectors.items()}
        probabilities = self.scores.probabilities([rows[name] for name in self.scores.features])
        found = as_queries(probabilities, self.whitening.apply(rows) if self.whitening else None)
        return [matrix[0] for matrix in found]

    def arrays(self) -> Arrays:
        if self.whitening is None:
            return self.scores.arrays()
        return {**self.scores.arrays(), "whitening_mean": self.whitening.mean, "whitening_map": self.whitening.map}

    def facts(self) -> dict[str, Any]:
        whitened = {"whitened": list(self.whitening.features)} if self.whitening else {}
        return {**self.scores.facts(), **whitened}

    @classmethod
    def restored(cls, arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> LearnedTypes:
        """Those whose `arrays` and `facts` these were."""
        whitening = None
        if "whitened" in facts:
            whitening = Whitening(tuple(facts["whitened"]), arrays["whitening_mean"], arrays["whitening_map"])
        return cls(ClassScores.restored(arrays, facts), whitening)


def fit_learned_types(
    collection: Collection,
    features: Sequence[str],
    scored: Sequence[str],
    whitened: Sequence[str],
    learning: Sequence[str],
    pool: Sequence[str],
    choosing: Sequence[str],
    like: ClassScores | None = None,
) -> tuple[LearnedTypes, Collection]:
    """What was learned, and the collection with its rows.

    features : the types of the collection's rows; scored, whitened : those to learn from
    learning : items whose classes are learned; pool, choosing : candidates and queries that choose
    like : take the settings that these scores have chosen
    """
    fixed = ([like.penalty], [like.temperature]) if like else ()
    scores, probabilities = fit_class_scores(collection, features, scored, learning, pool, choosing, *fixed)
    rows = dict(zip(features, collection.rows, strict=True))
    whitening = None
    if whitened:
        places = [collection.position[item] for item in learning]
        own = [np.asarray(rows[name][places], np.float32) for name in whitened]
        whitening = fit_whitening(whitened, own, [collection.classes[item] for item in learning])
    moved = whitening.apply(rows) if whitening else None
    more = collection.with_rows(as_items(probabilities, moved), as_queries(probabilities, moved))
    return LearnedTypes(scores, whitening), more


def as_items(probabilities: Floats, whitened: Floats | None) -> tuple[Floats, ...]:
    """The learned rows of items, one matrix per type."""
    rest = np.sqrt(np.maximum(1 - np.einsum("ij,ij->i", probabilities, probabilities), 0))
    return _types(probabilities, rest.astype(np.float32), whitened)


def as_queries(probabilities: Floats, whitened: Floats | None) -> tuple[Floats, ...]:
    """The learned rows of the same items when they are asked with."""
    return _types(probabilities, np.zeros(len(probabilities), np.float32), whitened)


def _types(probabilities: Floats, rest: Floats, whitened: Floats | None) -> tuple[Floats, ...]:
    own = (np.column_stack([probabilities, rest]), np.sqrt(probabilities))
    return own if whitened is None else (*own, whitened)
