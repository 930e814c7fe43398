"""The model of `attributes` as it is kept and served: kernels with their anchors, and what each anchor counts.

However it was learned (on Gram matrices or on landmarks' columns), an attribute's score is a weighted sum of kernel
values with anchors. Each item is scored once for all attributes; comparing two is then a subtraction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mediarank.similarity.fitted_kernel import FittedKernel
from mediarank.types import DataError, FeatureMatrix, Floats

_BLOCK = 4096
"""Items scored at a time."""


@dataclass(frozen=True, eq=False)
class AttributesModel:
    """What scoring needs: anchors of each kernel, and for each kernel a coefficient an anchor and attribute.

    weights (attributes, kernels) : how much each kernel counts for what, for people to look at
    facts : how each attribute was learned
    """

    attributes: tuple[str, ...]
    features: tuple[str, ...]
    kernels: tuple[FittedKernel, ...]
    coefficients: tuple[Floats, ...]
    weights: npt.NDArray[np.float64]
    facts: Mapping[str, Any]

    def scores(self, features: Mapping[str, FeatureMatrix], ids: Sequence[str]) -> FeatureMatrix:
        """One row an item, one column an attribute; higher shows more."""
        values = np.zeros((len(ids), len(self.attributes)), dtype=np.float32)
        for start in range(0, len(ids), _BLOCK):
            for name, kernel, coefficients in zip(self.features, self.kernels, self.coefficients, strict=True):
                rows = feature(features, name).rows(ids[start : start + _BLOCK])
                values[start : start + _BLOCK] += kernel.between(rows) @ coefficients
        return FeatureMatrix(np.array(ids, dtype=str), self.attributes, values)

    def margin(self, features: Mapping[str, FeatureMatrix], attribute: str, first: str, second: str) -> float:
        """By how much `first` shows the attribute more than `second`; 1 is the margin that training asks for."""
        column = self.column(attribute)
        a, b = (self.scores(features, [item]).values[0, column] for item in (first, second))
        return float(a) - float(b)

    def column(self, attribute: str) -> int:
        """Where the attribute's scores are."""
        if attribute not in self.attributes:
            raise DataError(f"There is no attribute {attribute!r}; there are {', '.join(self.attributes)}.")
        return self.attributes.index(attribute)

    def to_arrays(self) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
        """The model as arrays (for npz) and facts (for JSON)."""
        arrays: dict[str, np.ndarray[Any, Any]] = {"weights": self.weights}
        for place, (kernel, coefficients) in enumerate(zip(self.kernels, self.coefficients, strict=True)):
            arrays |= {f"anchors_{place}": kernel.anchors, f"coefficients_{place}": coefficients}
        described = [
            {"feature": name, "kernel": kernel.kernel, "gamma": kernel.gamma, "scale": kernel.scale}
            for name, kernel in zip(self.features, self.kernels, strict=True)
        ]
        return arrays, {**self.facts, "attributes": list(self.attributes), "kernels": described}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray[Any, Any]], facts: Mapping[str, Any]) -> AttributesModel:
        kernels = tuple(
            FittedKernel(described["kernel"], described["gamma"], described["scale"], arrays[f"anchors_{place}"])
            for place, described in enumerate(facts["kernels"])
        )
        return cls(
            tuple(facts["attributes"]),
            tuple(described["feature"] for described in facts["kernels"]),
            kernels,
            tuple(arrays[f"coefficients_{place}"] for place in range(len(kernels))),
            arrays["weights"],
            {name: value for name, value in facts.items() if name not in ("attributes", "kernels")},
        )


def feature(features: Mapping[str, FeatureMatrix], name: str) -> FeatureMatrix:
    if name not in features:
        raise DataError(f"The feature type {name!r} is not there; list it under features in params.yaml.")
    return features[name]
