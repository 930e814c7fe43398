"""A collection as φ sees it: the items that have every feature type, their classes, and φ between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from mediarank.evaluation.ranking_collector import Answers
from mediarank.evaluation.rankings import Rankings
from mediarank.learners.pairwise.phi_rankers import Validation
from mediarank.learners.pairwise.triplets import DrawnPairs, Triplets
from mediarank.similarity.phi import SIMILARITIES, phi_of_queries, phi_over_types
from mediarank.similarity.scaling import PhiScaler
from mediarank.systems.contract import Inputs
from mediarank.types import FeatureMatrix, Floats, NotApplicable

PHI_BYTES: Final = 1 << 25
"""φ that `Collection.scores` asks for at a time, unless one query has more; the last one is held until the next."""


@dataclass(frozen=True)
class Collection:
    """The items that can be searched.

    items : those that have all feature types, sorted
    classes : item -> class, for those that have one
    rows : one matrix per feature type, its rows in the order of `items`
    asked : the last matrices as they are when their items are queries, for learned types, where the two differ
    """

    items: tuple[str, ...]
    classes: Mapping[str, str]
    rows: tuple[Floats, ...]
    asked: tuple[Floats, ...] = ()

    @classmethod
    def of(cls, inputs: Inputs, features: Sequence[str]) -> Collection:
        matrices = [inputs.feature(name) for name in features]
        items = sorted(set.intersection(*(set(matrix.ids.tolist()) for matrix in matrices)))
        if not items:
            raise NotApplicable(f"retrieval needs items with all of its feature types ({', '.join(features)}).")
        classes = inputs.labels.class_of
        known = {item: classes[item] for item in items if item in classes}
        return cls(tuple(items), known, tuple(_rows(matrix, items) for matrix in matrices))

    @cached_property
    def position(self) -> dict[str, int]:
        return {item: k for k, item in enumerate(self.items)}

    @cached_property
    def labelled(self) -> list[str]:
        """The items that have a class."""
        return [item for item in self.items if item in self.classes]

    def positions(self, items: Sequence[str]) -> npt.NDArray[np.intp]:
        return np.fromiter((self.position[item] for item in items), dtype=np.intp, count=len(items))

    def restricted_to(self, items: Sequence[str]) -> Collection:
        if tuple(items) == self.items:
            return self
        order = self.positions(items)
        classes = {item: self.classes[item] for item in items if item in self.classes}
        rows, asked = (tuple(matrix[order] for matrix in matrices) for matrices in (self.rows, self.asked))
        return Collection(tuple(items), classes, rows, asked)

    def with_rows(self, more: Sequence[Floats], asked: Sequence[Floats]) -> Collection:
        """The same items with more types for φ to compare; asked : their rows when they are queries"""
        return Collection(self.items, self.classes, (*self.rows, *more), tuple(asked))

    @property
    def query_rows(self) -> tuple[Floats, ...]:
        """One matrix per type: the items as queries."""
        return (*self.rows[: len(self.rows) - len(self.asked)], *self.asked)

    def query(self, item: str) -> list[Floats]:
        """The item's vectors as a query, one per feature type."""
        return [rows[self.position[item]] for rows in self.query_rows]

    def scaled_phi(self, query: str, scaler: PhiScaler) -> Floats:
        """Scaled φ of the query and every item, (items, d)."""
        found: Floats = self.scaled_phi_of([query], scaler)[0]
        return found

    def scaled_phi_of(self, queries: Sequence[str], scaler: PhiScaler) -> Floats:
        """Scaled φ of the queries and every item, (queries, items, d)."""
        places = self.positions(queries)
        phi = phi_of_queries([rows[places] for rows in self.query_rows], self.rows)
        return scaler.apply(phi, out=phi)

    def triplets(self, drawn: DrawnPairs, scaler: PhiScaler) -> Triplets:
        """φ of the drawn pairs, whose positions are of this collection's items."""
        d = len(SIMILARITIES) * len(self.rows)
        values = np.empty((len(drawn.query), d), dtype=np.float32)
        bounds = np.flatnonzero(np.diff(drawn.visit, prepend=-1, append=drawn.visit[-1] + 1))
        for start, stop in pairwise(bounds.tolist()):
            query = drawn.query[start]
            pairs = drawn.item[start:stop]
            phi = phi_over_types([rows[query] for rows in self.query_rows], [rows[pairs] for rows in self.rows])
            scaler.apply(phi, out=values[start:stop])
        return Triplets(values, drawn.visit, drawn.relevant, drawn.better, drawn.worse)

    def validation(self, queries: Sequence[str], scaler: PhiScaler) -> Validation:
        """φ of the queries, which are among the items, and every item. All items must have a class."""
        return Validation.of_classes(self.classes, queries, self.scaled_phi_of(queries, scaler))

    def scores(
        self,
        queries: Sequence[str],
        scaler: PhiScaler,
        methods: Sequence[str],
        predict: Callable[[str, Floats], Floats],
    ) -> dict[str, Rankings]:
        """method -> its answers to the queries; items of a query's own class are relevant.

        predict : a method's scores of scaled φ
        """
        number = {name: k for k, name in enumerate(sorted(set(self.classes.values())))}
        classes = np.array([number[self.classes[item]] if item in self.classes else -1 for item in self.items])
        answers = {method: Answers(self.items) for method in methods}
        at_a_time = max(1, PHI_BYTES // (4 * len(scaler.mean) * len(self.items)))
        for start in range(0, len(queries), at_a_time):
            some = queries[start : start + at_a_time]
            for query, phi in zip(some, self.scaled_phi_of(some, scaler), strict=True):
                own = self.position[query]
                relevant = np.flatnonzero(classes == classes[own])
                for method in methods:
                    answers[method].add(query, own, predict(method, phi), relevant)
        return {method: found.finish() for method, found in answers.items()}


def _rows(matrix: FeatureMatrix, items: list[str]) -> Floats:
    """The rows of `items`: those of a whole matrix stay where they are, on disk or in memory."""
    return np.asarray(matrix.values) if matrix.ids.tolist() == items else matrix.rows(items)


def phi_names(features: Sequence[str]) -> list[str]:
    """The dimensions of φ, in their order."""
    return [f"{feature}/{similarity}" for feature in features for similarity in SIMILARITIES]
