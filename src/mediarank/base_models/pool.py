"""All SVMs of one feature type, and a quick way to score items with all of them at once.

SVMs of one type share examples, above all the negatives, so each support vector is kept once and the dual
coefficients are a matrix with one column per SVM. Scoring a block of items is then one matrix product for the
squared distances, one exponential per distinct γ, and one product with the coefficients. `of` cuts out the SVMs of
one concept. `StoredPool` is a pool on disk: it reads the coefficients of a concept when they are first needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from mediarank.base_models.svm import Kernel
from mediarank.fanout import on_threads
from mediarank.similarity.chi2 import chi2_distances
from mediarank.similarity.kernels import intersection
from mediarank.types import DataError, FeatureMatrix, Floats

BLOCK: Final = 256
"""Items scored at a time: the distances to a few thousand support vectors then stay in the second-level cache."""


@dataclass(frozen=True)
class SVMPool:
    """M SVMs over S support vectors of dimension D.

    kernel : rbf, exponential_chi2, intersection, or linear, where `vectors` are the SVMs' weights and `coefficients`
        is the identity
    models : concept and number of the bag of each SVM
    mean, scale : (D,) how features are standardised, `(x − mean) · scale`
    vectors : (S, D) standardised support vectors, each once
    coefficients : (S, M) dual coefficients, 0 where a vector does not support the SVM
    intercepts, gammas : (M,)
    low, high : (M,) the range of decisions over the training items, which becomes [−1, 1]
    slopes, offsets : (M,) Platt's sigmoid
    """

    kernel: Kernel
    models: tuple[tuple[str, int], ...]
    mean: Floats
    scale: Floats
    vectors: Floats
    coefficients: Floats
    intercepts: Floats
    gammas: Floats
    low: Floats
    high: Floats
    slopes: Floats
    offsets: Floats

    def __len__(self) -> int:
        return len(self.models)

    @property
    def concepts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(concept for concept, _ in self.models))

    @property
    def names(self) -> tuple[str, ...]:
        """`concept|bag` of each SVM."""
        return tuple(f"{concept}|{bag}" for concept, bag in self.models)

    def columns(self, concept: str) -> list[int]:
        """The SVMs of a concept, by number of the bag."""
        return [column for column, (name, _) in enumerate(self.models) if name == concept]

    def of(self, concept: str) -> SVMPool:
        """A pool of the SVMs of one concept; empty if it has none."""
        return self.only(self.columns(concept))

    @cached_property
    def support_counts(self) -> npt.NDArray[np.intp]:
        """Support vectors of each SVM: its kernel evaluations per item."""
        if self.kernel == "linear":
            return np.ones(len(self), dtype=np.intp)
        return np.asarray(np.count_nonzero(self.coefficients, axis=0), dtype=np.intp)

    def only(self, columns: Sequence[int]) -> SVMPool:
        """A pool of these SVMs and their support vectors."""
        coefficients = self.coefficients[:, columns]
        used = np.flatnonzero(coefficients.any(axis=1))
        return self._part(columns, self.vectors[used], coefficients[used])

    def _part(self, columns: Sequence[int], vectors: Floats, coefficients: Floats) -> SVMPool:
        return SVMPool(
            self.kernel,
            tuple(self.models[column] for column in columns),
            self.mean,
            self.scale,
            np.ascontiguousarray(vectors),
            np.ascontiguousarray(coefficients),
            *(getattr(self, name)[list(columns)] for name in _PER_MODEL),
        )

    def decisions(self, values: Floats) -> Floats:
        """(n, M) decision values of n rows of features, computed in blocks of rows."""
        if values.ndim != 2 or values.shape[1] != len(self.mean):
            raise DataError(
                f"This pool was trained on {len(self.mean)} features per item, but the values have the shape "
                f"{values.shape}; score with the same feature type and parameters."
            )
        out = np.empty((len(values), len(self)), dtype=np.float32)
        for start in range(0, len(values), BLOCK):
            out[start : start + BLOCK] = self._decide(values[start : start + BLOCK])
        return out

    def normalised(self, decisions: Floats) -> Floats:
        """Decisions on the scale [−1, 1] of the training items; what lies outside is clipped."""
        span = np.maximum(self.high - self.low, np.float32(1e-12))
        scores: Floats = np.clip((decisions - self.low) * (2 / span) - 1, -1, 1).astype(np.float32, copy=False)
        return scores

    def probabilities(self, decisions: Floats) -> Floats:
        """Calibrated probabilities that an item is relevant."""
        values: Floats = expit(decisions * self.slopes + self.offsets).astype(np.float32, copy=False)
        return values

    def score(self, matrix: FeatureMatrix, items: Sequence[str]) -> FeatureMatrix:
        """Normalised scores of `items`, one column per SVM."""
        scores = self.score_rows(matrix, matrix.positions(items))
        return FeatureMatrix(np.asarray(items, dtype=str), self.names, scores)

    def score_rows(self, matrix: FeatureMatrix, positions: npt.NDArray[np.intp]) -> Floats:
        """(positions, M) normalised scores of rows of the matrix, on all cores."""
        scores = np.empty((len(positions), len(self)), dtype=np.float32)

        def fill(start: int) -> None:
            block = slice(start, start + BLOCK)
            scores[block] = self.normalised(self._decide(matrix.values[positions[block]]))

        on_threads(fill, list(range(0, len(positions), BLOCK)))
        return scores

    def _decide(self, values: Floats) -> Floats:
        if self.kernel == "intersection":
            return np.asarray(intersection(values, self.vectors) @ self.coefficients + self.intercepts, np.float32)
        if self.kernel == "exponential_chi2":
            return self._decayed(chi2_distances(self.vectors, np.ascontiguousarray(values, dtype=np.float32)))
        values = (values - self.mean) * self.scale
        if self.kernel == "linear":
            return values @ self.vectors.T + self.intercepts
        squares = np.einsum("nd,nd->n", values, values)
        # ‖v‖² + ‖x‖² − 2 v·x as one product, by two more columns on either side; one row per vector, so that those of
        # one γ are whole rows. Rounding may leave −1e-6 for equal rows, which does not matter to the exponential.
        return self._decayed(self._augmented_vectors @ np.column_stack([values, squares, np.ones_like(squares)]).T)

    def _decayed(self, distances: Floats) -> Floats:
        """(n, M) decisions from (S, n) distances, by a kernel that decays with them."""
        out = np.empty((len(self), distances.shape[1]), dtype=np.float32)
        for gamma, columns, rows, coefficients in self._by_gamma:
            closeness = (distances if rows is None else distances[rows]) * -gamma
            out[columns] = coefficients @ np.exp(closeness, out=closeness)
        return out.T + self.intercepts

    @cached_property
    def _augmented_vectors(self) -> Floats:
        squares = np.einsum("sd,sd->s", self.vectors, self.vectors)
        return np.column_stack([-2 * self.vectors, np.ones_like(squares), squares])

    @cached_property
    def _by_gamma(self) -> list[tuple[np.float32, npt.NDArray[np.intp], npt.NDArray[np.intp] | None, Floats]]:
        """Each distinct γ with its SVMs, their support vectors (None: all) and their coefficients."""
        groups = []
        for gamma in np.unique(self.gammas):
            columns = np.flatnonzero(self.gammas == gamma)
            rows = np.flatnonzero(self.coefficients[:, columns].any(axis=1))
            coefficients = np.ascontiguousarray(self.coefficients[np.ix_(rows, columns)].T)
            groups.append((gamma, columns, None if len(rows) == len(self.vectors) else rows, coefficients))
        return groups

    def to_arrays(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Arrays for npz and a description for JSON; `from_arrays` takes both back.

        Each concept, by its number, has the rows of its support vectors and its coefficients as separate arrays; small
        arrays are stacked, because each array costs opening the archive.
        """
        arrays: dict[str, npt.NDArray[Any]] = {
            "vectors": self.vectors,
            "per_dimension": np.stack([getattr(self, name) for name in _PER_DIMENSION]),
            "per_model": np.stack([getattr(self, name) for name in _PER_MODEL]),
        }
        for number, concept in enumerate(self.concepts):
            coefficients = self.coefficients[:, self.columns(concept)]
            rows = np.flatnonzero(coefficients.any(axis=1))
            arrays |= {f"rows.{number}": rows.astype(np.int32), f"coefficients.{number}": coefficients[rows]}
        return arrays, {"kernel": self.kernel, "models": [list(model) for model in self.models]}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], meta: Mapping[str, Any]) -> SVMPool:
        """The pool again. The arrays of a concept are read when first needed."""
        return StoredPool(arrays, meta)

    @classmethod
    def empty(cls, dimensions: int) -> SVMPool:
        """A pool without SVMs, for a collection without concepts."""
        columns, none = np.zeros(dimensions, np.float32), np.zeros(0, np.float32)
        vectors, coefficients = np.zeros((0, dimensions), np.float32), np.zeros((0, 0), np.float32)
        return cls("rbf", (), columns, columns, vectors, coefficients, none, none, none, none, none, none)


_PER_MODEL: Final = ("intercepts", "gammas", "low", "high", "slopes", "offsets")
_PER_DIMENSION: Final = ("mean", "scale")


class StoredPool(SVMPool):
    """A pool as `to_arrays` wrote it. `of` reads the arrays of one concept; everything else reads all of them.

    arrays : a mapping that may read each array when it is asked for
    """

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]], meta: Mapping[str, Any]) -> None:
        models = tuple((str(concept), int(bag)) for concept, bag in meta["models"])
        concepts = range(len(dict.fromkeys(concept for concept, _ in models)))
        needed = [
            "vectors",
            "per_dimension",
            "per_model",
            *(f"{part}.{number}" for number in concepts for part in ("rows", "coefficients")),
        ]
        missing = sorted(set(needed) - set(arrays))
        if missing:
            raise DataError(f"A pool's archive lacks {', '.join(missing[:3])}; delete it and train the pool again.")
        small = dict(zip(_PER_DIMENSION, arrays["per_dimension"], strict=True))
        small |= dict(zip(_PER_MODEL, arrays["per_model"], strict=True))
        for name, value in {"kernel": meta["kernel"], "models": models, "_arrays": arrays, **small}.items():
            object.__setattr__(self, name, value)

    @cached_property
    def vectors(self) -> Floats:
        return np.asarray(self._stored("vectors"))

    @cached_property
    def coefficients(self) -> Floats:
        full = np.zeros((len(self.vectors), len(self)), dtype=np.float32)
        for number, concept in enumerate(self.concepts):
            rows, columns = self._stored(f"rows.{number}"), np.array(self.columns(concept))
            full[rows[:, None], columns] = self._stored(f"coefficients.{number}")
        return full

    def of(self, concept: str) -> SVMPool:
        if concept not in self.concepts:
            return super().of(concept)
        number = self.concepts.index(concept)
        rows, coefficients = (self._stored(f"{part}.{number}") for part in ("rows", "coefficients"))
        return self._part(self.columns(concept), self.vectors[rows], coefficients)

    def _stored(self, name: str) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = self.__dict__["_arrays"][name]
        return found
