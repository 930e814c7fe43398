"""A fitted `events` system: base classifiers, fusion weights by method and event, and ranking clips with them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from mediarank.base_models.clip_rows import ClipRows
from mediarank.base_models.clip_svm import ClipClassifier
from mediarank.base_models.object_bank import object_bank
from mediarank.base_models.pool import SVMPool
from mediarank.learners.fusion.fusion_methods import fusion
from mediarank.systems.arrays import Below
from mediarank.systems.model import Answer, Arrays, Described, Needs, Parts, RankingModel
from mediarank.types import DataError, Doubles, FeatureMatrix, shared_items

FROZEN, REFITTED = "frozen", "refitted"
FRAME: Final = re.compile(r"#\d+$")
Classifiers = Mapping[str, Mapping[str, ClipClassifier]]


class Model(RankingModel):
    """The methods are the fusions, then each frozen classifier alone.

    classifiers : set -> name -> classifier; the frozen ones are trained on `base`, the refitted ones on `rank` as well
    uses : fusion -> the set that it fuses
    weights : fusion -> (events, classifiers + 1), the bias last
    looks_at : classifier -> the feature type that it uses
    base_models : feature types whose concept models look for objects
    pools : feature type -> its concept models; opened when a method looks for objects
    """

    def __init__(
        self,
        events: Sequence[str],
        classifiers: Classifiers,
        uses: Mapping[str, str],
        weights: Mapping[str, Doubles],
        looks_at: Mapping[str, str],
        base_models: Sequence[str],
        pools: Mapping[str, SVMPool],
        validation: Mapping[str, float],
        served: str,
    ) -> None:
        self.names, self.classifiers, self.uses, self.weights = tuple(events), classifiers, uses, weights
        self.alone = tuple(classifiers[FROZEN])
        self.methods = (*uses, *self.alone)
        self.looks_at = {name: kind for name, kind in looks_at.items() if name in self.alone}
        self.base_models = tuple(base_models) if "objects" in self.alone else ()
        self.pools, self.validation, self.served = pools, validation, served
        self.needs = _needs(self.looks_at, self.base_models)

    def able(self, described: Described) -> list[str]:
        """Clips: items with motion, or, if no classifier looks at motion, all items with frames or sound."""
        if "motion" in self.looks_at:
            return shared_items(described, [self.looks_at["motion"]])
        ids = {name for kind in self.needs.features for name in described[kind].ids.tolist()}
        return sorted({FRAME.sub("", name) for name in ids})

    def rank(
        self, described: Described, items: Sequence[str], names: Sequence[str] | None = None, method: str | None = None
    ) -> Doubles:
        """Scores (clips, events), higher is likelier. A clip without sound has no row in the sound's matrix."""
        used = self.used(self.method(method))
        matrices = {name: described[self.looks_at[name]] for name in used if name in self.looks_at}
        if "objects" in used:
            matrices["objects"] = self._objects(described, items)
        return self.fused(matrices, items, names, method)

    def ask(self, described: Described, items: Sequence[str], name: str, method: str | None = None) -> Answer:
        """Scores for one event by its SVMs; evaluations count clips × base classifiers."""
        scores = self.rank(described, items, [name], method)[:, 0]
        return Answer(scores, len(items) * len(self.used(self.method(method))), len(items) * len(self.alone))

    def used(self, method: str) -> tuple[str, ...]:
        """The base classifiers that a method uses."""
        return self.alone if method in self.uses else (method,)

    def fused(
        self,
        matrices: Mapping[str, FeatureMatrix],
        clips: Sequence[str],
        names: Sequence[str] | None = None,
        method: str | None = None,
    ) -> Doubles:
        """The same from the features of each classifier."""
        chosen = self.method(method)
        unknown = [name for name in names or () if name not in self.names]
        if unknown:
            raise DataError(f"There is no model of the event {unknown[0]!r}; there are: {', '.join(self.names[:20])}.")
        which = self.classifiers[self.uses.get(chosen, FROZEN)]
        scores = np.stack(
            [which[name].probabilities(matrices[name], clips, names) for name in self.used(chosen)], axis=2
        )
        if chosen not in self.uses:
            return np.ascontiguousarray(scores[:, :, 0])
        rows = [self.names.index(name) for name in (self.names if names is None else names)]
        kind, weights = fusion(chosen), self.weights[chosen]
        columns = [kind.make().with_weights(weights[e]).predict(scores[:, k]) for k, e in enumerate(rows)]
        return np.stack(columns, axis=1) if columns else np.zeros((len(clips), 0))

    def _objects(self, described: Described, clips: Sequence[str]) -> FeatureMatrix:
        responses = {}
        for kind in self.base_models:
            if kind not in self.pools:
                raise DataError(f"The concept models of {kind!r}, which look for objects, are missing; run dvc repro.")
            matrix = described[kind]
            frames = matrix.ids[np.sort(ClipRows.of(matrix, clips).rows)].tolist()
            responses[kind] = self.pools[kind].score(matrix, frames)
        return object_bank(responses, clips)

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        arrays: Arrays = {f"weights.{method}": weights for method, weights in self.weights.items()}
        facts: dict[str, Any] = {
            "methods": list(self.methods),
            "validation": dict(self.validation),
            "served": self.served,
            "events": list(self.names),
            "uses": dict(self.uses),
            "order": list(self.alone),  # the order of the columns of weights
            "looks_at": dict(self.looks_at),
            "base_models": list(self.base_models),
            "classifiers": {},
        }
        for which, found in self.classifiers.items():
            facts["classifiers"][which] = {}
            for name, classifier in found.items():
                values, facts["classifiers"][which][name] = classifier.to_arrays()
                arrays |= {f"{which}.{name}.{part}": value for part, value in values.items()}
        return arrays, facts

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], facts: Mapping[str, Any], parts: Parts) -> Model:
        classifiers = {
            which: {
                name: ClipClassifier.from_arrays(Below(arrays, f"{which}.{name}."), found[name])
                for name in facts["order"]
            }
            for which, found in facts["classifiers"].items()
        }
        uses = {method: facts["uses"][method] for method in facts["methods"] if method in facts["uses"]}
        weights = {method: np.asarray(arrays[f"weights.{method}"]) for method in uses}
        return cls(
            facts["events"],
            classifiers,
            uses,
            weights,
            facts["looks_at"],
            facts["base_models"],
            parts.pools,
            facts["validation"],
            facts["served"],
        )

    @classmethod
    def needs_of(cls, facts: Mapping[str, Any]) -> Needs:
        return _needs(facts["looks_at"], facts["base_models"])


def _needs(looks_at: Mapping[str, str], base_models: Sequence[str]) -> Needs:
    kinds = dict.fromkeys((*(looks_at[name] for name in sorted(looks_at)), *base_models))
    return Needs(tuple(kinds), base_models=tuple(base_models))
