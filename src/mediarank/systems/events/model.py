"""A fitted `events` system: base classifiers, weights by method and event, and ranking clips with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mediarank.base_models.clip_svm import ClipClassifier
from mediarank.learners.fusion.fusion_methods import fusion
from mediarank.types import Doubles, FeatureMatrix

FROZEN, REFITTED = "frozen", "refitted"
SETS: Final = (FROZEN, REFITTED)


@dataclass(frozen=True)
class EventsModel:
    """
    classifiers : set -> name -> classifier; the frozen ones know the role `base`, the refitted ones `rank` as well
    uses : method -> the set that it fuses
    weights : method -> (events, classifiers + 1), the bias last
    """

    events: tuple[str, ...]
    classifiers: Mapping[str, Mapping[str, ClipClassifier]]
    uses: Mapping[str, str]
    weights: Mapping[str, Doubles]

    def probabilities(self, which: str, matrices: Mapping[str, FeatureMatrix], clips: Sequence[str]) -> Doubles:
        """(clips, events, classifiers) of a set of classifiers; matrices : classifier -> the feature it looks at"""
        found = self.classifiers[which]
        return np.stack([classifier.probabilities(matrices[name], clips) for name, classifier in found.items()], axis=2)

    def rank(self, matrices: Mapping[str, FeatureMatrix], clips: Sequence[str]) -> dict[str, FeatureMatrix]:
        """method -> events × clips: every frozen classifier alone, then every fusion."""
        scores = {which: self.probabilities(which, matrices, clips) for which in self.classifiers}
        singles = {name: scores[FROZEN][:, :, column].T for column, name in enumerate(self.classifiers.get(FROZEN, ()))}
        fused = {
            method: np.stack(
                [
                    fusion(method).make().with_weights(weights[e]).predict(scores[self.uses[method]][:, e])
                    for e in range(len(self.events))
                ]
            )
            for method, weights in self.weights.items()
        }
        ids = np.array(self.events, dtype=str)
        return {
            method: FeatureMatrix(ids, tuple(clips), np.ascontiguousarray(values, np.float32))
            for method, values in (singles | fused).items()
        }

    def to_arrays(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Arrays for npz and facts for JSON."""
        arrays: dict[str, npt.NDArray[Any]] = {f"weights.{m}": weights for m, weights in self.weights.items()}
        order = list(next(iter(self.classifiers.values())))  # of the columns of weights; JSON keeps none
        facts: dict[str, Any] = {
            "events": list(self.events),
            "uses": dict(self.uses),
            "order": order,
            "classifiers": {},
        }
        for which, found in self.classifiers.items():
            facts["classifiers"][which] = {}
            for name, classifier in found.items():
                values, facts["classifiers"][which][name] = classifier.to_arrays()
                arrays |= {f"{which}.{name}.{part}": value for part, value in values.items()}
        return arrays, facts

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, Any]) -> EventsModel:
        classifiers = {
            which: {
                name: ClipClassifier.from_arrays(_below(arrays, f"{which}.{name}."), found[name])
                for name in facts["order"]
            }
            for which, found in facts["classifiers"].items()
        }
        weights = {method: arrays[f"weights.{method}"] for method in facts["uses"]}
        return cls(tuple(facts["events"]), classifiers, facts["uses"], weights)


def _below(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> dict[str, npt.NDArray[Any]]:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
