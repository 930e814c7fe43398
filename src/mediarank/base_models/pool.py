"""All support vector machines of one feature type, and a quick way to ask them all at once.

Machines of a type share examples, above all the negatives, so each support vector is kept once and the dual
coefficients are a matrix with a column a machine. Scoring a block of items is then one matrix product for the
squared distances, one exponential a distinct γ, and one product with the coefficients. `only` cuts out the machines
of a concept, for ranking that evaluates a model on a few survivors.
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
from mediarank.similarity.kernels import intersection
from mediarank.similarity.tiles import run_all
from mediarank.types import DataError, FeatureMatrix, Floats

BLOCK: Final = 256
"""Items scored at a time: the distances to a few thousand support vectors then stay in the second-level cache."""


@dataclass(frozen=True)
class SVMPool:
    """M machines over S support vectors of dimension D.

    kernel : rbf, intersection, or linear, where `vectors` are the machines' own weights and `coefficients` is the
        identity
    models : concept and number of the bag of each machine
    mean, scale : (D,) how features are standardised, `(x − mean) · scale`
    vectors : (S, D) standardised support vectors, each once
    coefficients : (S, M) dual coefficients, 0 where a vector supports another machine only
    intercepts, gammas : (M,)
    low, high : (M,) the range of decisions over the base role, which becomes [−1, 1]
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

    def columns(self, concept: str) -> list[int]:
        """The machines of a concept, by number of the bag."""
        return [column for column, (name, _) in enumerate(self.models) if name == concept]

    @cached_property
    def support_counts(self) -> npt.NDArray[np.intp]:
        """Support vectors of each machine: its kernel evaluations an item."""
        if self.kernel == "linear":
            return np.ones(len(self), dtype=np.intp)
        return np.asarray(np.count_nonzero(self.coefficients, axis=0), dtype=np.intp)

    def only(self, columns: Sequence[int]) -> SVMPool:
        """A pool of these machines and what supports them."""
        coefficients = self.coefficients[:, columns]
        used = coefficients.any(axis=1)
        return SVMPool(
            self.kernel,
            tuple(self.models[column] for column in columns),
            self.mean,
            self.scale,
            self.vectors[used],
            np.ascontiguousarray(coefficients[used]),
            *(
                getattr(self, name)[list(columns)]
                for name in ("intercepts", "gammas", "low", "high", "slopes", "offsets")
            ),
        )

    def decisions(self, values: Floats) -> Floats:
        """(n, M) decision values of n rows of features, a block of rows at a time."""
        if values.ndim != 2 or values.shape[1] != len(self.mean):
            raise DataError(
                f"This pool was trained on {len(self.mean)} features an item, but values have the shape "
                f"{values.shape}; score with the same feature type and parameters."
            )
        out = np.empty((len(values), len(self)), dtype=np.float32)
        for start in range(0, len(values), BLOCK):
            out[start : start + BLOCK] = self._decide(values[start : start + BLOCK])
        return out

    def normalised(self, decisions: Floats) -> Floats:
        """Decisions on the scale [−1, 1] of the base role; what lies outside is clipped."""
        span = np.maximum(self.high - self.low, np.float32(1e-12))
        scores: Floats = np.clip((decisions - self.low) * (2 / span) - 1, -1, 1).astype(np.float32, copy=False)
        return scores

    def probabilities(self, decisions: Floats) -> Floats:
        """Calibrated probabilities that an item is relevant."""
        values: Floats = expit(decisions * self.slopes + self.offsets).astype(np.float32, copy=False)
        return values

    def score(self, matrix: FeatureMatrix, items: Sequence[str]) -> FeatureMatrix:
        """Normalised scores of `items`, on all cores; a column a machine, named `concept|bag`."""
        positions = matrix.positions(items)
        scores = np.empty((len(positions), len(self)), dtype=np.float32)

        def fill(start: int) -> None:
            block = slice(start, start + BLOCK)
            scores[block] = self.normalised(self._decide(matrix.values[positions[block]]))

        run_all(fill, list(range(0, len(positions), BLOCK)))
        return FeatureMatrix(np.asarray(items), tuple(f"{concept}|{bag}" for concept, bag in self.models), scores)

    def _decide(self, values: Floats) -> Floats:
        if self.kernel == "intersection":
            return np.asarray(intersection(values, self.vectors) @ self.coefficients + self.intercepts, np.float32)
        values = (values - self.mean) * self.scale
        if self.kernel == "linear":
            return values @ self.vectors.T + self.intercepts
        squares = np.einsum("nd,nd->n", values, values)
        # ‖v‖² + ‖x‖² − 2 v·x as one product, by two more columns on either side; a row a vector, so that those of a
        # γ can be taken out in whole rows. Rounding may leave −1e-6 for equal rows, which the exponential forgives.
        distances = self._augmented_vectors @ np.column_stack([values, squares, np.ones_like(squares)]).T
        out = np.empty((len(self), len(values)), dtype=np.float32)
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
        """Each distinct γ with its machines, the vectors that support them (None: all) and their coefficients."""
        groups = []
        for gamma in np.unique(self.gammas):
            columns = np.flatnonzero(self.gammas == gamma)
            rows = np.flatnonzero(self.coefficients[:, columns].any(axis=1))
            coefficients = np.ascontiguousarray(self.coefficients[np.ix_(rows, columns)].T)
            groups.append((gamma, columns, None if len(rows) == len(self.vectors) else rows, coefficients))
        return groups

    def to_arrays(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Arrays for npz and a description for JSON; `from_arrays` takes both back."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return arrays, {"kernel": self.kernel, "models": [list(model) for model in self.models]}

    @classmethod
    def empty(cls, dimensions: int) -> SVMPool:
        """No machine at all: what a collection without concepts has."""
        columns, none = np.zeros(dimensions, np.float32), np.zeros(0, np.float32)
        vectors, coefficients = np.zeros((0, dimensions), np.float32), np.zeros((0, 0), np.float32)
        return cls("rbf", (), columns, columns, vectors, coefficients, none, none, none, none, none, none)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], meta: Mapping[str, Any]) -> SVMPool:
        missing = [name for name in _ARRAYS if name not in arrays]
        if missing:
            raise DataError(f"A pool's archive lacks {', '.join(missing)}; delete it and train the pool again.")
        models = tuple((str(concept), int(bag)) for concept, bag in meta["models"])
        return cls(meta["kernel"], models, **{name: arrays[name] for name in _ARRAYS})


_ARRAYS: Final = (
    "mean", "scale", "vectors", "coefficients", "intercepts", "gammas", "low", "high", "slopes", "offsets",
)  # fmt: skip
