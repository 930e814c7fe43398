"""`concepts`: which items show *boat*? (paper 000)

A pool of support vector machines a feature type is trained on balanced bags of the `base` role; for each concept
every method learns from the `rank` role how to combine the machines; the other roles are ranked. A fitted method is a
plan (see `learners/plan.py`), so ranking skips the machines that a pruned item does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Final, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from mediarank.base_models.concept import ConceptModels, Questions
from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import SVMConfig
from mediarank.base_models.training import fit_pool
from mediarank.fanout import fan_out
from mediarank.learners.cascade import BoostedCascade, ForwardCascade, StackedCascade
from mediarank.learners.choice import Examples, Ranker, choose, early_precision
from mediarank.learners.costs import Costs
from mediarank.learners.imbalanced_rankboost import ImbalancedRankBoost, Regulariser
from mediarank.learners.plan import Plan, walk
from mediarank.learners.rankboost import RankBoost, ScoreRange, Step
from mediarank.learners.stacking import BestSingle, LogisticStacking, MeanFusion, RidgeStacking
from mediarank.types import DataError, FeatureMatrix, Floats, Judgments, Roles

Share = Annotated[float, Field(gt=0, le=1)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Method = Literal[
    "mean_fusion", "best_single", "ridge_stacking", "logistic_stacking", "rankboost", "imbalanced_rankboost",
    "boosted_cascade", "stacked_cascade", "forward_cascade",
]  # fmt: skip


@dataclass(frozen=True)
class ConceptsConfig:
    """How concepts are learned.

    features : feature types to train on; none means all that there are
    methods : what to fit; all rank the same machines
    rounds, score_range, step, regulariser, regularization : of (imbalanced) RankBoost
    stages, keep, floor : of the cascades
    strengths : of the ridge in forward_cascade
    cost_weights : how much a machine's cost counts when forward_cascade chooses one; of several strengths and
        weights the best are found by cross-validation on the `rank` and `valid` roles
    """

    features: tuple[str, ...] = ()
    methods: tuple[Method, ...] = (
        "mean_fusion",
        "best_single",
        "logistic_stacking",
        "rankboost",
        "imbalanced_rankboost",
        "forward_cascade",
    )
    svm: SVMConfig = field(default_factory=SVMConfig)
    rounds: Count = 200
    score_range: ScoreRange = "symmetric"
    step: Step = "bound"
    regulariser: Regulariser = "squared"
    regularization: NotNegative = 0.05
    stages: Count = 40
    keep: Share = 0.5
    floor: Share = 0.1
    strengths: tuple[float, ...] = (0.003, 0.01, 0.03)
    cost_weights: tuple[float, ...] = (0.0, 1.0)
    seed: int = 7
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if not self.methods or not self.strengths or min(self.strengths) <= 0:
            raise ValueError("give at least one method, and at least one strength, all above 0")
        if not self.cost_weights or min(self.cost_weights) < 0:
            raise ValueError("give at least one cost weight, all from 0 up")


METHODS: Final[Mapping[str, Callable[[ConceptsConfig, Examples], Ranker]]] = {
    "mean_fusion": lambda config, e: MeanFusion().fit(e.scores, e.relevant),
    "best_single": lambda config, e: BestSingle().fit(e.scores, e.relevant),
    "ridge_stacking": lambda config, e: RidgeStacking().fit(e.scores, e.relevant),
    "logistic_stacking": lambda config, e: LogisticStacking().fit(e.scores, e.relevant),
    "rankboost": lambda config, e: RankBoost(config.rounds, config.score_range, config.step).fit(e.scores, e.relevant),
    "imbalanced_rankboost": lambda config, e: ImbalancedRankBoost(
        config.rounds,
        config.score_range,
        config.step,
        config.regulariser,
        config.regularization,
    ).fit(e.scores, e.relevant),
    "boosted_cascade": lambda config, e: BoostedCascade(4 * config.stages, config.keep, config.floor).fit(
        e.scores, e.relevant
    ),
    "stacked_cascade": lambda config, e: StackedCascade(config.stages, config.keep, config.floor).fit(
        e.scores, e.relevant
    ),
    "forward_cascade": lambda config, e: ForwardCascade(
        config.stages, config.keep, config.floor, config.strengths[0], config.cost_weights[0]
    ).fit(e.scores, e.relevant, e.costs),
}
"""Each method as a function of the configuration and a concept's examples; all give a plan."""


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
        """Arrays for npz and facts for JSON; names of types, methods and concepts are in the facts only."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        facts: dict[str, Any] = {"pools": [], "plans": {}, "chosen": dict(self.chosen)}
        for number, (kind, pool) in enumerate(self.pools.items()):
            values, meta = pool.to_arrays()
            arrays |= {f"pool{number}.{name}": value for name, value in values.items()}
            facts["pools"].append({"type": kind, **meta})
        for m, (method, plans) in enumerate(self.plans.items()):
            facts["plans"][method] = list(plans)
            for c, plan in enumerate(plans.values()):
                arrays |= {f"plan{m}.{c}.{name}": value for name, value in plan.to_arrays().items()}
        return arrays, facts

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, Any]) -> ConceptsModel:
        pools = {
            meta["type"]: SVMPool.from_arrays(_below(arrays, f"pool{number}."), meta)
            for number, meta in enumerate(facts["pools"])
        }
        plans = {
            method: {concept: Plan.from_arrays(_below(arrays, f"plan{m}.{c}.")) for c, concept in enumerate(concepts)}
            for m, (method, concepts) in enumerate(facts["plans"].items())
        }
        return cls(pools, plans, facts["chosen"])


def fit(
    features: Mapping[str, FeatureMatrix],
    judgments: Judgments,
    roles: Roles,
    config: ConceptsConfig,
    extraction: Mapping[str, float] | None = None,
) -> ConceptsModel:
    """Pools on the `base` role, then rankers on `rank` and `valid`. See `fit_rankers` for `extraction`."""
    pools = fit_pools(features, judgments, roles, config)
    scores = score_items(pools, features, roles.items("rank", "valid"))
    return fit_rankers(pools, scores, judgments, config, extraction)


def fit_pools(
    features: Mapping[str, FeatureMatrix], judgments: Judgments, roles: Roles, config: ConceptsConfig
) -> dict[str, SVMPool]:
    """A pool a feature type, trained on the items of the `base` role that have all types."""
    kinds = sorted(config.features or features)
    missing = [kind for kind in kinds if kind not in features]
    if missing or not kinds:
        raise DataError(f"concepts needs feature types: {', '.join(missing) or 'at least one'} under features.")
    base = [item for item in roles.items("base") if all(item in features[kind] for kind in kinds)]
    return {kind: fit_pool(kind, features[kind], judgments, base, config.svm) for kind in kinds}


def score_items(
    pools: Mapping[str, SVMPool], features: Mapping[str, FeatureMatrix], items: Sequence[str]
) -> dict[str, FeatureMatrix]:
    """By feature type, the scores of all machines for the items that have all types; a column a concept and bag.

    Written to disk and read back memory-mapped they serve `fit_rankers` and `rank` as well.
    """
    described = sorted(item for item in items if all(item in features[kind] for kind in pools))
    return {kind: pool.score(features[kind], described) for kind, pool in pools.items()}


def fit_rankers(
    pools: Mapping[str, SVMPool],
    scores: Mapping[str, FeatureMatrix],
    judgments: Judgments,
    config: ConceptsConfig,
    extraction: Mapping[str, float] | None = None,
) -> ConceptsModel:
    """Every method's plan for every concept that has items of both kinds among those scored.

    scores : of the items of roles `rank` and `valid`
    extraction : seconds that each feature type takes an item, for methods that weigh costs; by default features are
        there already
    """
    examples = rank_examples(pools, scores, judgments, extraction)
    config = settle(list(examples.values()), config)
    chosen = {"strength": config.strengths[0], "cost_weight": config.cost_weights[0]}
    fitted = fan_out(partial(_fit_methods, config), list(examples.values()), "rankers of concepts")
    plans: dict[str, Mapping[str, Plan]] = {
        method: dict(zip(examples, (by_method[method] for by_method in fitted), strict=True))
        for method in config.methods
    }
    return ConceptsModel(pools, plans, chosen)


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


def settle(examples: Sequence[Examples], config: ConceptsConfig) -> ConceptsConfig:
    """The configuration with one strength and one cost weight left, by cross-validation on at most 30 concepts.

    What counts is the precision that small budgets buy (`early_precision`), which is what a cascade is for.
    """
    settings = [
        replace(config, strengths=(strength,), cost_weights=(weight,))
        for strength in config.strengths
        for weight in config.cost_weights
    ]
    if len(settings) == 1:
        return settings[0]
    candidates = {number: partial(METHODS["forward_cascade"], setting) for number, setting in enumerate(settings)}
    spread = examples[:: -(-len(examples) // 30)]
    return settings[choose(candidates, spread, worth=early_precision, seed=config.seed)[0]]


def rank(model: ConceptsModel, features: Mapping[str, FeatureMatrix], items: Sequence[str]) -> dict[str, FeatureMatrix]:
    """Method -> concepts × items. A score is the number of distinct scores below: places, counted from the end.

    All machines score all items in a few large products, which for all concepts at once is cheaper than skipping;
    for one concept see `rank_one`. Both give the same order.
    """
    scores = score_items(model.pools, features, items)
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


def _fit_methods(config: ConceptsConfig, examples: Examples) -> dict[str, Plan]:
    return {method: METHODS[method](config, examples).plan_ for method in config.methods}


def _below(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> dict[str, npt.NDArray[Any]]:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
