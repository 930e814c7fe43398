"""What a method answers to queries over a large collection: the best items of each query, and the places of all
relevant ones.

A table of all scores grows with queries times items; this grows with the queries, and with what is relevant to them.
`ranking_collector.py` makes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mediarank.types import DataError, Floats

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rankings:
    """Answers of one method.

    ids : the queries
    names : all items that were ranked, sorted
    best : (queries, kept) positions in `names`, best first; -1 where a query has fewer
    scores : (queries, kept) of these
    places : ranks, from 1, of the relevant items of all queries, query after query
    offsets : (queries + 1,) query q owns `places[offsets[q] : offsets[q + 1]]`
    candidates : (queries,) how many items were ranked; a query that is an item is not among its own answers
    """

    ids: npt.NDArray[np.str_]
    names: tuple[str, ...]
    best: npt.NDArray[np.int32]
    scores: Floats
    places: npt.NDArray[np.int32]
    offsets: Integers
    candidates: Integers

    def __len__(self) -> int:
        return len(self.ids)

    def first(self, query: str, count: int) -> list[tuple[str, bool]]:
        """The first items of a query, and whether each is relevant."""
        row = self._row(query)
        right = set(self.places[self.offsets[row] : self.offsets[row + 1]].tolist())
        return [(self.names[p], k in right) for k, p in enumerate(self.best[row, :count].tolist(), start=1) if p >= 0]

    def rows(self, queries: Iterable[str]) -> Floats:
        """(queries, items) scores; NaN for items that are not among the best."""
        wanted = [self._row(query) for query in queries]
        values = np.full((len(wanted), len(self.names)), np.nan, np.float32)
        for row, query in zip(values, wanted, strict=True):
            kept = self.best[query] >= 0
            row[self.best[query][kept]] = self.scores[query][kept]
        return values

    def require_finite(self) -> None:
        if not np.isfinite(self.scores[self.best >= 0]).all():
            raise DataError("Scores must be finite.")

    def _row(self, query: str) -> int:
        found = np.flatnonzero(self.ids == query)
        if not len(found):
            raise DataError(f"{query} is not among the {len(self)} queries that were ranked.")
        return int(found[0])
