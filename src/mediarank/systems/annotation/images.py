"""Training images as the methods of `annotation` see them.

`Labelled` holds their keywords, the distances among them by every feature type and the ranks by these distances, each
computed once. `Part` is what a fold of the cross-validation may learn from: it takes rows and columns of the same
arrays. Ranks are among all training images, including those of the fold: of a held-out image only its distances are
known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mediarank.learners.neighbours.keywords import Keywords
from mediarank.learners.neighbours.neighbour_rankers import BoostedOrder, NeighbourRanker, WeightedSum
from mediarank.learners.neighbours.preferences import Preferences, draw_preferences
from mediarank.learners.neighbours.semantic_space import SemanticSpace
from mediarank.similarity.distance_stack import spreads, stack_distances
from mediarank.similarity.rank_levels import Levels, levels_of, rank_thresholds
from mediarank.types import Floats, NotApplicable

Positions = npt.NDArray[np.intp]
BLOCK: Final = 256


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labelled images, and the distances of those that are learned from as queries.

    asked (queries,) : positions of the queries among the images
    stack (types, queries, images) : distances
    spread (types,) : deviation of the distances
    fold_of (images,) : of the cross-validation
    """

    keywords: Keywords
    asked: Positions
    stack: Floats
    spread: Floats
    fold_of: Positions

    @classmethod
    def of(
        cls, rows: Iterable[Floats], measures: Sequence[str], keywords: Keywords, fold_of: Positions, asked: Positions
    ) -> Labelled:
        """From vectors.

        rows : for each feature type (images, d) vectors, taken one after another
        measures : the distance of each feature type
        """
        found = (
            stack_distances([part if len(asked) == len(part) else part[asked]], [part], [measure])[0]
            for part, measure in zip(rows, measures, strict=True)
        )
        return cls.of_distances(found, len(measures), keywords, fold_of, asked)

    @classmethod
    def of_distances(
        cls, found: Iterable[Floats], types: int, keywords: Keywords, fold_of: Positions, asked: Positions
    ) -> Labelled:
        """From distances. found : for each feature type (queries, images), taken one after another"""
        stack = np.empty((types, len(asked), len(keywords)), dtype=np.float32)
        for k, distances in enumerate(found):
            stack[k] = distances
        return cls(keywords, asked, stack, spreads(stack), fold_of)

    @cached_property
    def levels(self) -> Levels:
        """(types, queries, images) levels of the ranks by distance, which boosting and TagProp need."""
        thresholds = rank_thresholds(len(self.keywords))
        found = np.empty(self.stack.shape, dtype=np.uint8)
        for k, values in enumerate(self.stack):
            distances = values.copy()
            distances[np.arange(len(self.asked)), self.asked] = np.inf  # an image is no neighbour of itself
            found[k] = levels_of(distances, thresholds)
        return found

    def similarity(self, ranker: NeighbourRanker, rows: Positions, known: bool = False) -> Floats:
        """Similarity of some queries, by their place among `asked`, to all images; −inf to themselves.

        known : the ranker has learned from these queries
        """
        if known and isinstance(ranker, SemanticSpace):
            found = ranker.of_known(self.asked[rows])
            found[np.arange(len(rows)), self.asked[rows]] = -np.inf
            return found
        found = np.empty((len(rows), len(self.keywords)), dtype=np.float32)
        for start in range(0, len(rows), BLOCK):
            block = slice(start, start + BLOCK)  # copy some rows at a time; all of them would take gigabytes
            if isinstance(ranker, BoostedOrder):
                found[block] = ranker.of_levels(self.levels[:, rows[block]])
            else:
                found[block] = ranker.similarity(self.stack[:, rows[block]])
        found[np.arange(len(rows)), self.asked[rows]] = -np.inf
        return found


@dataclass(frozen=True, eq=False)
class Part:
    """The images that may be learned from: all of them, or those outside a fold.

    rows : queries among them, as places in `asked`
    held : the other queries
    images : positions
    fitted : rankers that others are built on
    """

    labelled: Labelled
    rows: Positions
    held: Positions
    images: Positions
    keywords: Keywords
    fitted: dict[str, WeightedSum] = field(default_factory=dict)
    _drawn: dict[tuple[Any, ...], Preferences] = field(default_factory=dict)

    @classmethod
    def outside(cls, labelled: Labelled, fold: int | None) -> Part:
        inside = labelled.fold_of != fold
        images = np.flatnonzero(inside)
        rows, held = (np.flatnonzero(chosen[labelled.asked]) for chosen in (inside, ~inside))
        return cls(labelled, rows, held, images, labelled.keywords.restricted_to(images))

    def similarity(self, ranker: NeighbourRanker, held_out: bool = False) -> Floats:
        """(queries, images of the part); the queries are those of the part, or the held-out ones."""
        rows = self.held if held_out else self.rows
        return np.ascontiguousarray(self.labelled.similarity(ranker, rows, not held_out)[:, self.images])

    @property
    def true(self) -> Floats:
        """Keyword rows of the held-out queries."""
        return self.labelled.keywords.rows[self.labelled.asked[self.held]]

    def asked(self) -> Positions:
        """Positions of the part's queries among its images."""
        return np.searchsorted(self.images, self.labelled.asked[self.rows])

    def preferences(self, pairs: int, depth: int, epsilon: float, seed: int, by_weight: bool = False) -> Preferences:
        """Drawn among the part's images, once; `query` is a place in `asked`, the others are positions of images."""
        key = (pairs, depth, epsilon, seed, by_weight)
        if key not in self._drawn:
            self._drawn[key] = self._draw(pairs, depth, epsilon, by_weight, np.random.default_rng([seed, 1]))
        return self._drawn[key]

    def _draw(self, pairs: int, depth: int, epsilon: float, by_weight: bool, rng: np.random.Generator) -> Preferences:
        place = np.full(len(self.labelled.keywords), -1)
        place[self.labelled.asked] = np.arange(len(self.labelled.asked))
        queries = np.flatnonzero(place[self.images] >= 0)
        drawn = draw_preferences(self.keywords.rows, pairs, depth, rng, queries, epsilon, by_weight)
        if not len(drawn):
            raise NotApplicable(f"annotation learns from images that share keywords; no two of {len(self.images)} do.")
        return Preferences(
            place[self.images[drawn.query]], self.images[drawn.better], self.images[drawn.worse], drawn.weight
        )
