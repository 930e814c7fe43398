"""`concepts`: which items show *boat*? (paper 000)

A pool of support vector machines a feature type is trained on balanced bags of the `base` role; for each concept
every method learns from the `rank` role how to combine the machines; the other roles are ranked. A fitted method is a
plan (see `learners/boosting/plan.py`), so ranking skips the machines that a pruned item does not need. Around it:
`concepts_model` (what was fitted, and ranking with it), `concepts_figures` (the paper's figures as tables) and
`concepts_report` (how well it does, and how that is shown).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

import numpy as np
from pydantic import Field

from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import SVMConfig
from mediarank.base_models.training import fit_pool
from mediarank.fanout import fan_out
from mediarank.learners.boosting.cascade import BoostedCascade, ForwardCascade, StackedCascade
from mediarank.learners.boosting.choice import Examples, Ranker, choose, early_precision
from mediarank.learners.boosting.imbalanced_rankboost import ImbalancedRankBoost, Regulariser
from mediarank.learners.boosting.plan import Plan
from mediarank.learners.boosting.rankboost import RankBoost, ScoreRange, Step
from mediarank.learners.fusion.stacking import BestSingle, LogisticStacking, MeanFusion, RidgeStacking
from mediarank.systems.concepts.figures import figure_tables
from mediarank.systems.concepts.model import ConceptsModel, rank_examples, rank_scored, score_items
from mediarank.systems.contract import Inputs, Outcome
from mediarank.types import ConfigError, DataError, FeatureMatrix, Judgments, NotApplicable, Roles

__all__ = ["ConceptsConfig", "Config", "fit", "fit_pools", "fit_rankers", "run"]

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

    base_models : feature types whose machines are combined; none means all that there are
    methods : what to fit; all rank the same machines
    rounds, score_range, step, regulariser, regularization : of (imbalanced) RankBoost
    stages, keep, floor : of the cascades
    strengths : of the ridge in forward_cascade
    cost_weights : how much a machine's cost counts when forward_cascade chooses one; of several strengths and
        weights the best are found by cross-validation on the `rank` and `valid` roles
    lambdas : of Imbalanced RankBoost with each regulariser, for figure 9; none leaves it out
    """

    base_models: tuple[str, ...] = ()
    methods: tuple[Method, ...] = (
        "mean_fusion",
        "best_single",
        "logistic_stacking",
        "rankboost",
        "imbalanced_rankboost",
        "forward_cascade",
    )
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
    lambdas: tuple[float, ...] = (0.005, 0.05, 0.5)
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


Config = ConceptsConfig


def run(inputs: Inputs, config: ConceptsConfig) -> Outcome:
    """Rankers from how the concept models score the roles `rank` and `valid`; every `test` item is ranked."""
    pools = _pools(inputs, config)
    items = [item for item in sorted(inputs.labels.looked_at) if all(item in inputs.base_scores[k] for k in pools)]
    judgments = Judgments.from_pairs((pair for pair in inputs.labels.shown if pair[1] in set(items)), items)
    learning, test = (sorted(set(items).intersection(inputs.roles.items(*r))) for r in (("rank", "valid"), ("test",)))
    if not learning or not test:
        raise NotApplicable("concepts needs labelled items in the roles rank (or valid) and test; there are none.")
    known, found = (_of_items(inputs.base_scores, pools, of_role) for of_role in (learning, test))
    model = fit_rankers(pools, known, judgments, config)
    grid = regulariser_plans(rank_examples(pools, known, judgments), config.lambdas)
    arrays, facts = model.to_arrays()
    figures = figure_tables(model, found, judgments, grid)
    return Outcome(arrays, facts | {"figures": figures}, rank_scored(model, found))


def _pools(inputs: Inputs, config: ConceptsConfig) -> dict[str, SVMPool]:
    kinds = sorted(config.base_models or inputs.pools)
    missing = [kind for kind in kinds if kind not in inputs.pools]
    if missing or not kinds:
        raise ConfigError(f"concepts: {', '.join(missing) or 'nothing'} of systems.concepts.base_models is trained.")
    pools = {kind: inputs.pools[kind] for kind in kinds}
    if not all(map(len, pools.values())):
        raise NotApplicable("concepts needs concepts, keywords or classes with enough items in the role base.")
    return pools


def _of_items(
    scores: Mapping[str, FeatureMatrix], kinds: Iterable[str], items: Sequence[str]
) -> dict[str, FeatureMatrix]:
    ids = np.array(items, dtype=str)
    return {kind: FeatureMatrix(ids, scores[kind].names, scores[kind].rows(items)) for kind in kinds}


def fit(
    features: Mapping[str, FeatureMatrix],
    judgments: Judgments,
    roles: Roles,
    config: ConceptsConfig,
    svm: SVMConfig,
    extraction: Mapping[str, float] | None = None,
) -> ConceptsModel:
    """Pools on the `base` role, then rankers on `rank` and `valid`. See `fit_rankers` for `extraction`."""
    pools = fit_pools(features, judgments, roles, svm)
    scores = score_items(pools, features, roles.items("rank", "valid"))
    return fit_rankers(pools, scores, judgments, config, extraction)


def fit_pools(
    features: Mapping[str, FeatureMatrix], judgments: Judgments, roles: Roles, svm: SVMConfig
) -> dict[str, SVMPool]:
    """A pool a feature type, trained on the items of the `base` role that have all types."""
    if not features:
        raise DataError("concepts needs at least one feature type.")
    base = [item for item in roles.items("base") if all(item in matrix for matrix in features.values())]
    return {kind: fit_pool(kind, features[kind], judgments, base, svm) for kind in sorted(features)}


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


def regulariser_plans(
    examples: Mapping[str, Examples], lambdas: Sequence[float]
) -> dict[tuple[str, float], dict[str, Plan]]:
    """Figure 9: Imbalanced RankBoost with every regulariser and λ."""
    return {
        (regulariser, strength): {
            concept: ImbalancedRankBoost(regulariser=regulariser, regularization=strength)
            .fit(e.scores, e.relevant)
            .plan_
            for concept, e in examples.items()
        }
        for regulariser in get_args(Regulariser)
        for strength in lambdas
    }


def settle(examples: Sequence[Examples], config: ConceptsConfig) -> ConceptsConfig:
    """The configuration with one strength and one cost weight left, by cross-validation on at most 30 concepts.

    What counts is the precision that small budgets buy (`early_precision`), which is what a cascade is for.
    """
    settings = [
        replace(config, strengths=(strength,), cost_weights=(weight,))
        for strength, weight in product(config.strengths, config.cost_weights)
    ]
    if len(settings) == 1:
        return settings[0]
    candidates = {number: partial(METHODS["forward_cascade"], setting) for number, setting in enumerate(settings)}
    spread = examples[:: -(-len(examples) // 30)]
    return settings[choose(candidates, spread, worth=early_precision, seed=config.seed)[0]]


def _fit_methods(config: ConceptsConfig, examples: Examples) -> dict[str, Plan]:
    return {method: METHODS[method](config, examples).plan_ for method in config.methods}
