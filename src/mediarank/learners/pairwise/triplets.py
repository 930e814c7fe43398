"""Training data for search by example: which (query, item) pairs to look at, and which of two belongs first.

`draw_pairs` chooses them from classes alone, as paper 003 does (section 5.1): for each query all its relevant items,
and a sample of the others. `Triplets` adds φ: one row per pair, and triplets as row numbers, so that pointwise,
pairwise and listwise learners see the same data and no pair is ever copied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mediarank.types import DataError, Floats

Positions = npt.NDArray[np.intp]


@dataclass(frozen=True)
class DrawnPairs:
    """query, item (n,) : positions of the items compared, the pairs of one visit to a query together
    visit (n,) : 0, 0, …, 1, 1, …: which visit a pair belongs to
    relevant (n,) : the item is of the query's class
    better, worse (t,) : triplets, as numbers of pairs, in random order
    """

    query: Positions
    item: Positions
    visit: Positions
    relevant: npt.NDArray[np.bool_]
    better: Positions
    worse: Positions

    def at(self, positions: Positions) -> DrawnPairs:
        """The same pairs of items that are at these positions of a larger collection."""
        return replace(self, query=positions[self.query], item=positions[self.item])


def draw_pairs(classes: npt.ArrayLike, instances: int, rng: np.random.Generator, negatives: int = 3) -> DrawnPairs:
    """About `instances` triplets: queries in random order, all relevant items of each, `negatives` others for each.

    classes : (n,) the class of every training item. Once all queries have had their turn they come again and meet
    other negatives. Items that are alone in their class, or in the only class, can't be queries.
    """
    labels = np.unique(np.asarray(classes), return_inverse=True)[1]
    sizes = np.bincount(labels)
    able = np.flatnonzero((sizes[labels] > 1) & (sizes[labels] < len(labels)))
    if not len(able):
        raise DataError(
            "Triplets need two items of one class and one of another; give the training items more classes."
        )
    parts: list[tuple[Positions, Positions, Positions]] = []
    wanted = instances
    while wanted > 0:
        for query in rng.permutation(able):
            same = labels == labels[query]
            positives = np.setdiff1d(np.flatnonzero(same), query)
            positives = rng.permutation(positives)[: -(-wanted // negatives)]
            others = np.flatnonzero(~same)
            enough = len(others) >= negatives * len(positives)
            drawn = rng.choice(others, negatives * len(positives), replace=not enough)
            parts.append((np.full(len(positives) + len(drawn), query), positives, drawn))
            wanted -= len(drawn)
            if wanted <= 0:
                break
    return _joined(parts, negatives, rng)


def _joined(
    parts: list[tuple[Positions, Positions, Positions]], negatives: int, rng: np.random.Generator
) -> DrawnPairs:
    lengths = np.array([len(query) for query, _, _ in parts])
    starts = np.cumsum(lengths) - lengths
    relevant = np.concatenate([np.arange(len(q)) < len(p) for q, p, _ in parts])
    better = np.concatenate(
        [s + np.repeat(np.arange(len(p)), negatives) for s, (_, p, _) in zip(starts, parts, strict=True)]
    )
    worse = np.concatenate([s + len(p) + np.arange(len(n)) for s, (_, p, n) in zip(starts, parts, strict=True)])
    order = rng.permutation(len(better))
    return DrawnPairs(
        np.concatenate([q for q, _, _ in parts]),
        np.concatenate([np.concatenate([p, n]) for _, p, n in parts]),
        np.repeat(np.arange(len(parts)), lengths),
        relevant,
        better[order],
        worse[order],
    )


@dataclass(frozen=True)
class Triplets:
    """phi (n, d) : scaled φ of each pair; query (n,) : a number that rises, the same for pairs of one query
    relevant (n,) : whether the pair's item is; better, worse (t,) : rows of φ, the first belongs before the second
    """

    phi: Floats
    query: Positions
    relevant: npt.NDArray[np.bool_]
    better: Positions
    worse: Positions

    def __post_init__(self) -> None:
        rows = len(self.phi)
        if self.phi.ndim != 2 or len(self.query) != rows or len(self.relevant) != rows:
            raise DataError(f"{rows} rows of φ need as many queries and judgments.")
        if (np.diff(self.query) < 0).any():
            raise DataError("The pairs of a query must stand together: its numbers may not fall.")
        if len(self.better) != len(self.worse):
            raise DataError(f"{len(self.better)} better rows need as many worse ones, not {len(self.worse)}.")
        if len(self.better) and not (self.query[self.better] == self.query[self.worse]).all():
            raise DataError("A triplet compares two items for one query, but some have rows of two queries.")

    def __len__(self) -> int:
        return len(self.better)

    @cached_property
    def differences(self) -> Floats:
        """Δφ of every triplet, (t, d)."""
        return self.phi[self.better] - self.phi[self.worse]

    @cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        """(queries + 1,) where the rows of each query begin."""
        return np.concatenate([[0], np.flatnonzero(np.diff(self.query)) + 1, [len(self.query)]]).astype(np.int64)

    def first_queries(self, count: int, skip: int = 0) -> Triplets:
        """Only so many queries, for learners that can't take all.

        skip : start behind so many queries, and at the first again where the end is reached
        """
        visits = len(self.offsets) - 1
        if count >= visits:
            return self
        start = skip % visits
        start = start if start + count <= visits else visits - count
        first, last = int(self.offsets[start]), int(self.offsets[start + count])
        kept = (self.better >= first) & (self.better < last)
        own = slice(first, last)
        better, worse = self.better[kept] - first, self.worse[kept] - first
        return Triplets(self.phi[own], self.query[own], self.relevant[own], better, worse)
