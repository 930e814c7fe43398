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
from mediarank.systems.events.config import CONSENSUS, KERNEL_FUSION
from mediarank.systems.events.consensus import Consensus
from mediarank.systems.events.kernel_fusion import KernelFusion
from mediarank.systems.model import Answer, Arrays, Described, Needs, Parts, RankingModel
from mediarank.types import DataError, Doubles, FeatureMatrix, shared_items

FROZEN, REFITTED = "frozen", "refitted"
FRAME: Final = re.compile(r"#\d+$")
Classifiers = Mapping[str, Mapping[str, ClipClassifier]]


class Model(RankingModel):
    """The methods are fusions of scores, the fusion of kernels, the consensus, then each frozen classifier alone.

    classifiers : set -> name -> classifier; the frozen ones are trained on `base`, the refitted ones on `rank` as well
    uses : fusion -> the set that it fuses
    weights : fusion -> (events, classifiers + 1), the bias last
    looks_at : classifier -> the feature type that it uses
    base_models : feature types whose concept models look for objects
    pools : feature type -> its concept models; opened when a method looks for objects
    kernels, consensus : the fusion of kernels and the weighted mean of two fusions, if they were fitted
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
        kernels: KernelFusion | None = None,
        consensus: Consensus | None = None,
    ) -> None:
        self.kernels, self.consensus = kernels, consensus
        self.names, self.classifiers, self.uses, self.weights = tuple(events), classifiers, uses, weights
        self.alone = tuple(classifiers[FROZEN])
        ours = {KERNEL_FUSION: kernels, CONSENSUS: consensus}
        self.methods = (*uses, *(method for method, found in ours.items() if found), *self.alone)
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
        """Scores for one event by its SVMs; evaluations count clips × base classifiers × events that are compared."""
        scores = self.rank(described, items, [name], method)[:, 0]
        return Answer(scores, len(items) * self._evaluations(self.method(method)), len(items) * len(self.alone))

    def _evaluations(self, method: str) -> int:
        """Base classifiers evaluated on a clip for one event."""
        if method == CONSENSUS and self.consensus:
            return sum(self._evaluations(one) for one in self.consensus.of)
        compared = len(self.names) if method == KERNEL_FUSION and self.kernels and self.kernels.share else 1
        return len(self.used(method)) * compared

    def used(self, method: str) -> tuple[str, ...]:
        """The base classifiers that a method uses."""
        return (method,) if method in self.alone else self.alone

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
        if chosen in self.alone:
            return self.classifiers[FROZEN][chosen].probabilities(matrices[chosen], clips, names)
        if chosen == KERNEL_FUSION and self.kernels:
            return self.kernels.log_odds(matrices, clips, names)
        asked = self.names if names is None else names
        if chosen == CONSENSUS and self.consensus:
            scores = [self.fused(matrices, clips, names, one) for one in self.consensus.of]
            return self.consensus.mean(scores, [self.names.index(event) for event in asked])
        which = self.classifiers[self.uses[chosen]]
        judged = np.stack([which[name].probabilities(matrices[name], clips, names) for name in self.alone], axis=2)
        kind, weights = fusion(chosen), self.weights[chosen]
        columns = [
            kind.make().with_weights(weights[self.names.index(event)]).predict(judged[:, k])
            for k, event in enumerate(asked)
        ]
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
        if self.kernels:
            values, facts["kernels"] = self.kernels.to_arrays()
            arrays |= {f"kernels.{part}": value for part, value in values.items()}
        if self.consensus:
            values, facts["consensus"] = self.consensus.to_arrays()
            arrays |= {f"consensus.{part}": value for part, value in values.items()}
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
            KernelFusion.from_arrays(Below(arrays, "kernels."), facts["kernels"]) if "kernels" in facts else None,
            Consensus.from_arrays(Below(arrays, "consensus."), facts["consensus"]) if "consensus" in facts else None,
        )

    @classmethod
    def needs_of(cls, facts: Mapping[str, Any]) -> Needs:
        return _needs(facts["looks_at"], facts["base_models"])


def _needs(looks_at: Mapping[str, str], base_models: Sequence[str]) -> Needs:
    kinds = dict.fromkeys((*(looks_at[name] for name in sorted(looks_at)), *base_models))
    return Needs(tuple(kinds), base_models=tuple(base_models))
