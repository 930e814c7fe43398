"""The fitted system `attributes`: how much of each attribute an item shows, by every method.

However it was learned (on Gram matrices or on landmarks' columns), a score is a weighted sum of kernel values with
anchors, a linear function of the features, an expected strength made of such sums, or the mean standing of anchors. An
item is scored once; comparing two is then a subtraction, and 1 is the margin that RankMKL asks of a pair. The model is
its arrays and facts; an array is read when a method needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from mediarank.learners.kernels.expected_strength import expected_strengths
from mediarank.learners.kernels.local_scores import local_scores
from mediarank.similarity.fitted_kernel import FittedKernel
from mediarank.similarity.kernels import linear
from mediarank.systems.model import Arrays, Described, Needs, Parts, RankingModel
from mediarank.types import DataError, Doubles, FeatureMatrix, Floats

Positions = np.ndarray[Any, np.dtype[np.intp]]
BLOCK: Final = 2048
"""Items scored at a time."""


class Model(RankingModel):
    """facts : `names`, `features`, `kernels` (feature, kernel, gamma, scale), `settings` (method -> its kind, the
    kernels that it sums and other numbers), and how each attribute was learned
    arrays : "anchors_k" of kernel k, and those of a method (see `methods.py`) as "<method>.<array>"
    """

    def __init__(self, arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        self.arrays, self.facts = arrays, facts
        self.methods = tuple(facts["methods"])
        self.validation = dict(facts["validation"])
        self.served = facts["served"]
        self.names = tuple(facts["names"])
        self.needs = self.needs_of(facts)
        self._read: dict[str, np.ndarray[Any, Any]] = {}

    def rank(
        self, described: Described, items: Sequence[str], names: Sequence[str] | None = None, method: str | None = None
    ) -> Doubles:
        """Scores (items, attributes); higher shows more. Kernels without a weight for these attributes are skipped."""
        chosen, columns = self.method(method), self._columns(names)
        scores = np.zeros((len(items), len(columns)))
        for start in range(0, len(items), BLOCK):
            block = items[start : start + BLOCK]
            scores[start : start + BLOCK] = self._scores(described, block, columns, chosen, {})
        return scores

    def _scores(
        self, described: Described, items: Sequence[str], columns: list[int], method: str, computed: dict[int, Floats]
    ) -> Doubles:
        """Scores of items. computed : the kernel values of these items that are already known"""
        settings = self.facts["settings"][method]
        if settings["kind"] == "average":
            units = self._array(f"{method}.units")[:, columns]
            parts = [self._scores(described, items, columns, part, computed) for part in settings["of"]]
            return np.asarray(sum(part / unit for part, unit in zip(parts, units, strict=True)))
        if settings["kind"] == "linear":
            scores = np.tile(self._array(f"{method}.offset")[columns], (len(items), 1))
            for name in self.facts["features"]:
                direction = self._array(f"{method}.direction_{name}")[:, columns]
                scores += linear(_rows(described, name, items), direction.T)
            return scores
        if settings["kind"] == "local":
            mean = np.mean([self._values(described, items, k, computed) for k in settings["kernels"]], axis=0)
            standing, temperatures = self._array(f"{method}.standing"), self._array(f"{method}.temperatures")
            found = [local_scores(mean.astype(np.float64), standing[:, c], temperatures[c]) for c in columns]
            return np.stack(found, axis=1)
        if settings["kind"] == "kernels":
            return self._sums(described, items, method, columns, computed)
        if settings["kind"] == "posterior":
            scores = self._sums(described, items, method, None, computed) + self._array(f"{method}.shares")
            return expected_strengths(scores, self._array(f"{method}.strengths")[:, columns], settings["temperature"])
        starts, shares = self._array(f"{method}.starts"), self._array(f"{method}.shares")
        standings = self._array(f"{method}.standings")[:, None]
        own = [np.arange(starts[c], starts[c + 1]) for c in columns]
        scores = self._sums(described, items, method, np.concatenate(own), computed)
        parts = np.split(scores, np.cumsum([len(part) for part in own])[:-1], axis=1)
        found = [
            expected_strengths(rows + shares[part], standings[part], settings["temperature"])[:, 0]
            for rows, part in zip(parts, own, strict=True)
        ]
        return np.stack(found, axis=1)

    def _sums(
        self,
        described: Described,
        items: Sequence[str],
        method: str,
        columns: Sequence[int] | Positions | None,
        computed: dict[int, Floats],
    ) -> Doubles:
        """Weighted sums of kernel values: a column per attribute, class or level; some columns, or all."""
        total: Doubles | None = None
        for k in self.facts["settings"][method]["kernels"]:
            coefficients = self._array(f"{method}.coefficients_{k}").astype(np.float64)
            coefficients = coefficients if columns is None else coefficients[:, columns]
            total = np.zeros((len(items), coefficients.shape[1])) if total is None else total
            if coefficients.any():
                values = self._values(described, items, k, computed)
                total += linear(values.astype(np.float64), coefficients.T)
        return np.zeros((len(items), 0)) if total is None else total

    def _values(self, described: Described, items: Sequence[str], k: int, computed: dict[int, Floats]) -> Floats:
        """Values of kernel k between items and its anchors."""
        if k not in computed:
            rows = _rows(described, self.facts["kernels"][k]["feature"], items)
            computed[k] = self._kernel(k).between(rows)
        return computed[k]

    def _kernel(self, k: int) -> FittedKernel:
        found = self.facts["kernels"][k]
        return FittedKernel(found["kernel"], found["gamma"], found["scale"], self._array(f"anchors_{k}"))

    def _columns(self, names: Sequence[str] | None) -> list[int]:
        if names is None:
            return list(range(len(self.names)))
        unknown = [name for name in names if name not in self.names]
        if unknown:
            raise DataError(f"There is no attribute {', '.join(unknown)}; choose from {', '.join(self.names)}.")
        return [self.names.index(name) for name in names]

    def _array(self, name: str) -> np.ndarray[Any, Any]:
        if name not in self._read:
            self._read[name] = self.arrays[name]
        return self._read[name]

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        return {name: self._array(name) for name in self.arrays}, dict(self.facts)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], facts: Mapping[str, Any], parts: Parts) -> Model:
        return cls(arrays, facts)

    @classmethod
    def needs_of(cls, facts: Mapping[str, Any]) -> Needs:
        return Needs(tuple(facts["features"]))


def _rows(described: Mapping[str, FeatureMatrix], name: str, items: Sequence[str]) -> Floats:
    if name not in described:
        raise DataError(f"The items are not described by {name!r}; list it under features in params.yaml.")
    return described[name].rows(items)
