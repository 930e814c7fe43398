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
        posterior = settings["kind"] == "posterior"
        wanted = len(settings["classes"]) if posterior else len(columns)
        scores = np.zeros((len(items), wanted))
        for k in settings["kernels"]:
            coefficients = self._array(f"{method}.coefficients_{k}").astype(np.float64)
            coefficients = coefficients if posterior else coefficients[:, columns]
            if coefficients.any():
                values = self._values(described, items, k, computed)
                scores += linear(values.astype(np.float64), coefficients.T)
        if not posterior:
            return scores
        strengths = self._array(f"{method}.strengths")[:, columns]
        return expected_strengths(scores + self._array(f"{method}.shares"), strengths, settings["temperature"])

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
