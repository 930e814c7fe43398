"""Ranks of items: the one place that orders items and breaks ties.

Every ranking metric is a function of the ranks of the relevant items. `ranking` orders one list; `Ranks` holds what
the metrics need, of one query (`Ranks.of_query`) or of many (`rank_relevant`, from a score matrix and judgments
compiled once by `Relevance`). The kernels at the end turn a score and the place of its id into one 64-bit key and sort
the keys by their digits, in a time that is proportional to their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.types import DataError, Doubles, FeatureMatrix, Judgments

Integers = npt.NDArray[np.int64]

BLOCK_CELLS: Final = 1 << 20
"""Scores copied into memory at a time, so that a memory-mapped matrix may be larger than memory."""
FEW: Final = 512
"""Up to about here numpy sorts faster; it compares."""
_DIGIT: Final = 11
"""Bits of a digit: its 2,048 counts fit into the fastest cache."""


def ranking(ids: npt.ArrayLike, scores: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """Positions of the items from first to last: by score, highest first, then by id, smallest first.

    >>> ranking(["b", "a", "c"], [0.5, 0.5, 0.9]).tolist()
    [2, 1, 0]
    """
    names, numbers = np.asarray(ids), _vector(scores, "scores")
    if names.shape != numbers.shape:
        raise DataError(f"{names.size} ids can't name {numbers.size} scores; give one score per id.")
    return np.lexsort((names, -numbers))


@dataclass(frozen=True)
class Ranks:
    """Where the relevant items of each query stand, query after query, first to last within one.

    queries : their names
    ranks : (relevant of all queries,) ranks from 1
    grades : (relevant of all queries,) how relevant each is, above 0
    offsets : (queries + 1,) query q owns `ranks[offsets[q] : offsets[q + 1]]`
    candidates : (queries,) how many items were ranked
    """

    queries: tuple[str, ...]
    ranks: Integers
    grades: Doubles
    offsets: Integers
    candidates: Integers

    def __len__(self) -> int:
        return len(self.queries)

    @cached_property
    def total(self) -> Integers:
        """Relevant items of each query, TP of the definition of average precision."""
        return np.diff(self.offsets)

    @cached_property
    def query(self) -> Integers:
        """The query of each rank."""
        return np.repeat(np.arange(len(self)), self.total)

    @cached_property
    def position(self) -> Integers:
        """1 for the first relevant item of its query, 2 for the second …"""
        return np.arange(len(self.ranks)) - self.offsets[self.query] + 1

    @cached_property
    def ideal_grades(self) -> Doubles:
        """The grades of each query from highest to lowest: the order that can't be beaten."""
        return self.grades[np.lexsort((-self.grades, self.query))]

    def sums(self, values: npt.NDArray[Any]) -> Doubles:
        """Sum of `values` (one per rank) over each query; 0 where nothing is relevant."""
        return np.bincount(self.query, weights=values.astype(np.float64), minlength=len(self)).astype(np.float64)

    @classmethod
    def of_query(cls, y_true: npt.ArrayLike, y_score: npt.ArrayLike) -> Ranks:
        """One query. Items must come in the order of their ids: between equal scores the earlier one is first."""
        grades, scores = _vector(y_true, "y_true"), _vector(y_score, "y_score")
        if grades.shape != scores.shape:
            raise DataError(f"y_true has {grades.size} items and y_score {scores.size}; give one score per item.")
        if not (np.isfinite(grades) & (grades >= 0)).all():
            raise DataError("y_true must hold finite grades from 0 up (0 or 1 where relevance has no grades).")
        ranked = grades[ranking(np.arange(len(scores)), scores)]
        places = np.flatnonzero(ranked)
        return cls(("",), places + 1, ranked[places], np.array([0, len(places)]), np.array([len(scores)]))


@dataclass(frozen=True)
class Relevance:
    """Judgments compiled for many score matrices: ids become positions in the sorted list of candidates.

    An item that is its own query is neither ranked nor relevant: a query that finds itself proves nothing.
    """

    queries: tuple[str, ...]
    candidates: tuple[str, ...]
    items: Integers
    grades: Doubles
    offsets: Integers

    @classmethod
    def from_judgments(cls, judgments: Judgments) -> Relevance:
        candidates = tuple(sorted(judgments.candidates))
        position = {item: place for place, item in enumerate(candidates)}
        items: list[int] = []
        grades: list[float] = []
        offsets = [0]
        for query, given in judgments:
            found = sorted((position[item], grade) for item, grade in given.items() if item != query)
            items += [place for place, _ in found]
            grades += [grade for _, grade in found]
            offsets.append(len(items))
        return cls(
            judgments.queries,
            candidates,
            np.array(items, dtype=np.int64),
            np.array(grades, dtype=np.float64),
            np.array(offsets, dtype=np.int64),
        )


def rank_relevant(scores: FeatureMatrix, relevance: Relevance) -> Ranks:
    """Ranks of every query's relevant items under a score matrix (rows: queries, columns: items).

    Queries and candidates are found by id; columns that were not judged are left out of the ranking.
    """
    rows = scores.positions(relevance.queries)
    column_of = {name: column for column, name in enumerate(scores.names)}
    place = _places(relevance.candidates, column_of)
    own = np.array([column_of.get(query, -1) for query in relevance.queries], dtype=np.int64)

    ranks = np.empty(len(relevance.items), dtype=np.int64)
    grades = np.empty(len(relevance.items), dtype=np.float64)
    in_order = bool((np.diff(place[place >= 0]) > 0).all())
    step = max(1, BLOCK_CELLS // max(1, len(place)))
    for start in range(0, len(rows), step):
        block = np.ascontiguousarray(scores.values[rows[start : start + step]])
        if np.isnan(block).any():
            query = relevance.queries[start + int(np.isnan(block).any(axis=1).argmax())]
            raise DataError(f"Query {query!r} has scores that are not numbers; use -inf for an item that was pruned.")
        keys = np.empty(block.shape, dtype=np.uint64)
        write_keys(block, place, own[start : start + step], keys)
        sort_keys(keys, in_order)
        offsets = relevance.offsets[start : start + len(block) + 1]
        find_relevant(keys, relevance.items, relevance.grades, offsets, np.zeros(len(place)), ranks, grades)
    candidates = len(relevance.candidates) - ((own >= 0) & (place[own] >= 0))
    return Ranks(relevance.queries, ranks, grades, relevance.offsets, candidates.astype(np.int64))


def sort_keys(keys: npt.NDArray[np.uint64], in_order: bool) -> None:
    """Sort each row of keys, in place.

    in_order : whether the lower halves of the ranked ascend along each row, as those of columns sorted by id do
    """
    if keys.shape[1] < FEW:
        keys.sort(axis=1)
    else:
        _sort_by_digits(keys, 32 if in_order else 0)


def _places(candidates: Sequence[str], column_of: Mapping[str, int]) -> Integers:
    """Each column's position in the sorted candidates; -1 for a column that is not ranked."""
    missing = [c for c in candidates if c not in column_of]
    if missing:
        raise DataError(
            f"{len(missing)} of {len(candidates)} judged items have no score, such as {', '.join(missing[:3])}; "
            "score every candidate, or judge only what is ranked."
        )
    place = np.full(len(column_of), -1, dtype=np.int64)
    place[[column_of[c] for c in candidates]] = np.arange(len(candidates))
    return place


def _vector(values: npt.ArrayLike, what: str) -> Doubles:
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1:
        raise DataError(f"{what} must be one list of numbers, not an array of shape {vector.shape}.")
    if np.isnan(vector).any():
        raise DataError(f"{what} holds NaN; use -inf for the score of an item that was pruned.")
    return vector


@njit(cache=True, nogil=True)
def write_keys(scores: npt.NDArray[np.float32], place: Integers, own: Integers, keys: npt.NDArray[np.uint64]) -> None:
    """Give each cell a key whose ascending order is the ranking: score in the upper half, place in the lower.

    scores : (queries, columns), not NaN
    place : (columns,) position in the order of ids, -1 if the column is not ranked
    own : (queries,) the query's own column, or -1
    """
    sign, unranked = np.uint32(0x80000000), np.uint64(0xFFFFFFFFFFFFFFFF)
    bits = scores.view(np.uint32)
    for query in range(scores.shape[0]):
        for column in range(scores.shape[1]):
            if place[column] < 0 or column == own[query]:
                keys[query, column] = unranked
                continue
            # The bits of positive floats ascend with their value and those of negative floats descend.
            score = bits[query, column]
            if score == sign:  # -0.0 is 0.0
                score = np.uint32(0)
            if score < sign:
                score = sign - np.uint32(1) - score
            keys[query, column] = (np.uint64(score) << np.uint64(32)) | np.uint64(place[column])


@njit(cache=True, nogil=True)
def _sort_by_digits(keys: npt.NDArray[np.uint64], first: int) -> None:
    """Sort each row by its bits from `first` up, digit by digit from the lowest; equal keys stay in their order."""
    length, values = keys.shape[1], 1 << _DIGIT
    mask = np.uint64(values - 1)
    spare, next_of = np.empty(length, np.uint64), np.empty(values, np.int64)
    for row in range(keys.shape[0]):
        source, target, moved = keys[row], spare, False
        for bit in range(first, 64, _DIGIT):
            shift = np.uint64(bit)
            for digit in range(values):
                next_of[digit] = 0
            for k in range(length):
                next_of[np.int64((source[k] >> shift) & mask)] += 1
            if next_of[np.int64((source[0] >> shift) & mask)] == length:
                continue  # all have this digit
            start = 0
            for digit in range(values):
                next_of[digit], start = start, start + next_of[digit]
            for k in range(length):
                own = np.int64((source[k] >> shift) & mask)
                target[next_of[own]] = source[k]
                next_of[own] += 1
            source, target, moved = target, source, not moved
        if moved:
            for k in range(length):
                keys[row, k] = spare[k]


@njit(cache=True, nogil=True)
def find_relevant(
    keys: npt.NDArray[np.uint64],
    items: Integers,
    item_grades: Doubles,
    offsets: Integers,
    grade_at: Doubles,
    ranks: Integers,
    grades: Doubles,
) -> None:
    """Walk down each sorted row and write the rank and the grade of every relevant item.

    items, item_grades : places and grades of the relevant items of all queries
    offsets : (queries + 1,) where each query's begin
    grade_at : (places,) zeros, to work on
    """
    for query in range(keys.shape[0]):
        start, stop = offsets[query], offsets[query + 1]
        for place in range(start, stop):  # numba takes seconds to compile the assignment of slices
            grade_at[items[place]] = item_grades[place]
        found, rank = start, 0
        while found < stop:
            grade = grade_at[np.int64(keys[query, rank] & np.uint64(0xFFFFFFFF))]
            rank += 1
            if grade > 0:
                ranks[found] = rank
                grades[found] = grade
                found += 1
        for place in range(start, stop):
            grade_at[items[place]] = 0.0
