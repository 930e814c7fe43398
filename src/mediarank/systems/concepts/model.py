"""A fitted `concepts` system: pools of machines, a plan a method and concept, and how items are ranked with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mediarank.base_models.concept import ConceptModels, Questions
from mediarank.base_models.pool import SVMPool
from mediarank.learners.boosting.choice import Examples
from mediarank.learners.boosting.costs import Costs
from mediarank.learners.boosting.plan import Plan, walk
from mediarank.types import DataError, FeatureMatrix, Floats, Judgments


@dataclass(frozen=True)
class ConceptsModel:
    """pools : by feature type; plans : method -> concept -> what to do; chosen : settings that were chosen"""

    pools: Mapping[str, SVMPool]
    plans: Mapping[str, Mapping[str, Plan]]
    chosen: Mapping[str, float]

    @property
    def concepts(self) -> tuple[str, ...]:
        return tuple(next(iter(self.plans.values())))

    def to_arrays(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """The plans as arrays for npz and facts for JSON; pools are kept by the stage that trains them."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        facts: dict[str, Any] = {"base_models": list(self.pools), "plans": {}, "chosen": dict(self.chosen)}
        for method, plans in self.plans.items():
            facts["plans"][method] = list(plans)
            for c, plan in enumerate(plans.values()):
                arrays |= {f"plan.{method}.{c}.{name}": value for name, value in plan.to_arrays().items()}
        return arrays, facts

    @classmethod
    def from_arrays(
        cls, pools: Mapping[str, SVMPool], arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, Any]
    ) -> ConceptsModel:
        plans = {
            method: {c: Plan.from_arrays(_below(arrays, f"plan.{method}.{n}.")) for n, c in enumerate(concepts)}
            for method, concepts in facts["plans"].items()
        }
        return cls({kind: pools[kind] for kind in facts["base_models"]}, plans, facts["chosen"])


def score_items(
    pools: Mapping[str, SVMPool], features: Mapping[str, FeatureMatrix], items: Sequence[str]
) -> dict[str, FeatureMatrix]:
    """By feature type, the scores of all machines for the items that have all types; a column a concept and bag.

    Written to disk and read back memory-mapped they serve `fit_rankers` and `rank` as well.
    """
    described = sorted(item for item in items if all(item in features[kind] for kind in pools))
    return {kind: pool.score(features[kind], described) for kind, pool in pools.items()}


def rank_examples(
    pools: Mapping[str, SVMPool],
    scores: Mapping[str, FeatureMatrix],
    judgments: Judgments,
    extraction: Mapping[str, float] | None = None,
) -> dict[str, Examples]:
    """By concept, what its rankers learn from; concepts whose items are all of one kind are left out."""
    kinds = sorted(pools)
    items = scores[kinds[0]].ids.tolist()
    shared = np.array([(extraction or {}).get(kind, 0.0) for kind in kinds])
    found = {}
    for concept in pools[kinds[0]].concepts:
        relevant = judgments.grades(concept, items) > 0
        if relevant.any() and not relevant.all():
            models = ConceptModels.of(pools, concept)
            group = np.array([kinds.index(kind) for kind in models.types])
            costs = Costs(models.scoring_seconds(), group, shared)
            found[concept] = Examples(concept_scores(pools, scores, concept), relevant, costs)
    if not found:
        raise DataError("No concept has both relevant and other items in the rank role; change the splits.")
    return found


def concept_scores(pools: Mapping[str, SVMPool], scores: Mapping[str, FeatureMatrix], concept: str) -> Floats:
    """(items, machines) of one concept, machines in the order of `ConceptModels`."""
    return np.hstack([scores[kind].values[:, pools[kind].columns(concept)] for kind in sorted(pools)])


def rank(model: ConceptsModel, features: Mapping[str, FeatureMatrix], items: Sequence[str]) -> dict[str, FeatureMatrix]:
    """Method -> concepts × items. A score is the number of distinct scores below: places, counted from the end.

    All machines score all items in a few large products, which for all concepts at once is cheaper than skipping;
    for one concept see `rank_one`. Both give the same order.
    """
    return rank_scored(model, score_items(model.pools, features, items))


def rank_scored(model: ConceptsModel, scores: Mapping[str, FeatureMatrix]) -> dict[str, FeatureMatrix]:
    """The same, where all machines have scored the items already."""
    ordered = tuple(next(iter(scores.values())).ids.tolist())
    values = {method: np.empty((len(model.concepts), len(ordered)), np.float32) for method in model.plans}
    for row, concept in enumerate(model.concepts):
        X = concept_scores(model.pools, scores, concept)
        for method, plans in model.plans.items():
            values[method][row] = np.unique(plans[concept].score(X), return_inverse=True)[1]
    ids = np.array(model.concepts, dtype=str)
    return {method: FeatureMatrix(ids, ordered, matrix) for method, matrix in values.items()}


def rank_one(
    model: ConceptsModel, method: str, concept: str, features: Mapping[str, FeatureMatrix], items: Sequence[str]
) -> tuple[npt.NDArray[np.float64], Questions]:
    """Scores of `items` for one concept, each machine evaluated on the survivors of its step only, and the count."""
    ask = Questions(ConceptModels.of(model.pools, concept), features, items)
    scores = np.zeros(len(items))
    for state in walk(model.plans[method][concept], ask, len(items)):
        scores = state.scores
    return scores, ask


def _below(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> dict[str, npt.NDArray[Any]]:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
