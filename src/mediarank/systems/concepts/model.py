"""A fitted `concepts` system: pools of SVMs, one plan per method and concept, and how items are ranked with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mediarank.base_models.concept import ConceptModels, Questions, score_concept
from mediarank.base_models.pool import SVMPool
from mediarank.learners.boosting.plan import Plan, pack_plans, unpack_plan, walk
from mediarank.systems.model import Answer, Arrays, Described, Needs, Parts, RankingModel
from mediarank.types import DataError, Doubles, FeatureMatrix, Floats

SHARE: Final = 0.25
"""Up to this share of the concepts is scored concept by concept; for more, scoring with all SVMs is faster."""


class Model(RankingModel):
    """A fitted `concepts` system.

    pools : by feature type
    plans : method -> concept -> its plan
    chosen : settings chosen by cross-validation
    """

    def __init__(
        self,
        pools: Mapping[str, SVMPool],
        plans: Mapping[str, Mapping[str, Plan]],
        validation: Mapping[str, float],
        served: str,
        chosen: Mapping[str, float],
    ) -> None:
        self.pools, self.plans, self.chosen = pools, plans, chosen
        self.methods = tuple(plans)
        self.validation, self.served = validation, served
        self.names = tuple(next(iter(plans.values())))
        self.needs = Needs(tuple(pools), base_models=tuple(pools))

    def rank(
        self, described: Described, items: Sequence[str], names: Sequence[str] | None = None, method: str | None = None
    ) -> Doubles:
        """Scores (items, concepts), higher fits better; in float64, because cascades put scores close together."""
        asked = self.names if names is None else tuple(names)
        plans = self.plans[self.method(method)]
        out = np.empty((len(items), len(asked)))
        if len(asked) <= max(1, SHARE * len(self.names)):
            for column, concept in enumerate(asked):
                out[:, column] = self.ask(described, items, concept, method).scores
            return out
        scores = score_items(self.pools, described, items)
        for column, concept in enumerate(asked):
            out[:, column] = self._plan(plans, concept).score(concept_scores(self.pools, scores, concept))
        return out

    def ask(self, described: Described, items: Sequence[str], name: str, method: str | None = None) -> Answer:
        """Scores for one concept; opens and evaluates the SVMs of this concept only.

        Where the method prunes, each SVM is evaluated on the remaining items only; otherwise the SVMs that the
        plan uses are evaluated together.
        """
        plan = self._plan(self.plans[self.method(method)], name)
        if not plan.prunes:
            wanted = plan.distinct_models
            scores = score_concept(self.pools, name, described, items, wanted)
            return Answer(plan.score(scores), len(items) * len(wanted), scores.size)
        models = ConceptModels.of(self.pools, name)
        evaluate, found, evaluations = Questions(models, described, items), np.zeros(len(items)), 0
        for state in walk(plan, evaluate, len(items)):
            found, evaluations = state.scores, state.evaluations
        return Answer(found, evaluations, len(items) * len(models))

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """The plans; pools are kept by the stage that trains them."""
        arrays: Arrays = {}
        for method, plans in self.plans.items():
            packed = pack_plans([plans[concept] for concept in self.names])
            arrays |= {f"plan.{method}.{part}": values for part, values in packed.items()}
        facts = {
            "methods": list(self.methods),
            "validation": dict(self.validation),
            "served": self.served,
            "concepts": list(self.names),
            "base_models": list(self.pools),
            "chosen": dict(self.chosen),
        }
        return arrays, facts

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], facts: Mapping[str, Any], parts: Parts) -> Model:
        pools = {kind: parts.pools[kind] for kind in facts["base_models"]}
        plans = {method: StoredPlans(method, facts["concepts"], arrays) for method in facts["methods"]}
        return cls(pools, plans, facts["validation"], facts["served"], facts["chosen"])

    @classmethod
    def needs_of(cls, facts: Mapping[str, Any]) -> Needs:
        kinds = tuple(facts["base_models"])
        return Needs(kinds, base_models=kinds)

    def _plan(self, plans: Mapping[str, Plan], concept: str) -> Plan:
        if concept not in self.names:
            raise DataError(f"There is no model of the concept {concept!r}; there are: {', '.join(self.names[:20])}.")
        return plans[concept]


class StoredPlans(Mapping[str, Plan]):
    """The plans of one method by concept, read when first asked for."""

    def __init__(self, method: str, concepts: Sequence[str], arrays: Mapping[str, Any]) -> None:
        self._prefix, self._arrays = f"plan.{method}.", arrays
        self._number = {concept: number for number, concept in enumerate(concepts)}

    @cached_property
    def _packed(self) -> dict[str, npt.NDArray[Any]]:
        names = [name for name in self._arrays if name.startswith(self._prefix)]
        return {name.removeprefix(self._prefix): self._arrays[name] for name in names}

    def __getitem__(self, concept: str) -> Plan:
        return unpack_plan(self._packed, self._number[concept])

    def __iter__(self) -> Iterator[str]:
        return iter(self._number)

    def __len__(self) -> int:
        return len(self._number)


def score_items(
    pools: Mapping[str, SVMPool], features: Mapping[str, FeatureMatrix], items: Sequence[str]
) -> dict[str, FeatureMatrix]:
    """By feature type, the scores of all SVMs for the items, which must have all types; one column per SVM."""
    return {kind: pool.score(features[kind], items) for kind, pool in pools.items()}


def concept_scores(pools: Mapping[str, SVMPool], scores: Mapping[str, FeatureMatrix], concept: str) -> Floats:
    """(items, SVMs) of one concept, SVMs in the order of `ConceptModels`."""
    return np.hstack([scores[kind].values[:, pools[kind].columns(concept)] for kind in sorted(pools)])


def rank_scored(model: Model, scores: Mapping[str, FeatureMatrix]) -> dict[str, FeatureMatrix]:
    """Method -> items × concepts, from scores of all SVMs.

    The values put items in the order of `Model.rank`: each is the number of distinct scores below the item's. Scores
    of a cascade lie so close together that single precision, in which they are stored, would make ties.
    """
    ids = next(iter(scores.values())).ids
    values = {method: np.empty((len(ids), len(model.names)), np.float32) for method in model.methods}
    for column, concept in enumerate(model.names):
        X = concept_scores(model.pools, scores, concept)
        for method, plans in model.plans.items():
            values[method][:, column] = np.unique(plans[concept].score(X), return_inverse=True)[1]
    return {method: FeatureMatrix(ids, model.names, matrix) for method, matrix in values.items()}
