"""Make `Rankings`: one query at a time, so that no more than one row of scores is held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from mediarank.evaluation.rankings import Rankings
from mediarank.evaluation.ranks import Integers, Ranks, find_relevant, sort_keys, write_keys
from mediarank.types import DataError, Floats

BEST: Final = 1000
"""How many items are kept per query."""


def ranks_of(rankings: Rankings) -> Ranks:
    """Where the relevant items stand, as the metrics take it."""
    places = rankings.places.astype(np.int64)
    queries = tuple(rankings.ids.tolist())
    return Ranks(queries, places, np.ones(len(places)), rankings.offsets, rankings.candidates)


class Answers:
    """Collects the answers of one method, query by query.

    items : sorted; between equal scores the earlier one is first
    best : how many to keep per query
    """

    def __init__(self, items: Sequence[str], best: int = BEST) -> None:
        self._names = tuple(items)
        self._place = np.arange(len(self._names))
        self._grade = np.zeros(len(self._names))
        self._best = min(best, len(self._names))
        self._found: list[tuple[str, npt.NDArray[np.int32], Floats, npt.NDArray[np.int32], int]] = []

    def add(self, query: str, own: int, scores: Floats, relevant: Integers) -> None:
        """One query.

        own : its position among the items, which is not ranked; -1 if it is none of them
        scores : of all items, higher is better
        relevant : positions of what is relevant
        """
        if np.isnan(scores).any():
            raise DataError(f"Query {query!r} has scores that are not numbers; use -inf for an item that was pruned.")
        keys = np.empty((1, len(scores)), np.uint64)
        write_keys(np.ascontiguousarray(scores, np.float32)[None], self._place, np.array([own]), keys)
        sort_keys(keys, in_order=True)
        relevant = relevant[relevant != own]
        places, grades = np.empty(len(relevant), np.int64), np.empty(len(relevant))
        ends = np.array([0, len(relevant)])
        find_relevant(keys, relevant, np.ones(len(relevant)), ends, self._grade, places, grades)
        ranked = len(scores) - (own >= 0)
        order = np.full(self._best, -1, np.int32)
        count = min(self._best, ranked)
        order[:count] = keys[0, :count] & np.uint64(0xFFFFFFFF)
        kept = np.where(order >= 0, scores[order], -np.inf).astype(np.float32)
        self._found.append((query, order, kept, places.astype(np.int32), ranked))

    def finish(self) -> Rankings:
        queries, best, scores, places, ranked = zip(*self._found, strict=True)
        return Rankings(
            np.array(queries, dtype=str),
            self._names,
            np.stack(best),
            np.stack(scores),
            np.concatenate(places),
            np.cumsum([0, *map(len, places)]).astype(np.int64),
            np.array(ranked, np.int64),
        )
