"""`concepts`: which items show *boat*? (paper 000)

Base models (`base_models/`) are SVMs per feature type and concept, trained on balanced bags; they score their own
training items held out (`TrainedPool.score`), so that rankers can learn from the same items and from `valid`. For
each concept every method learns how to combine them, and the test items are ranked.
A fitted method is a plan (`learners/boosting/plan.py`), so ranking skips the SVMs that a pruned item does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Final, get_args

import numpy as np

from mediarank.base_models.concept import ConceptModels
from mediarank.base_models.pool import SVMPool
from mediarank.fanout import fan_out
from mediarank.learners.boosting.cascade import BoostedCascade, ForwardCascade, StackedCascade
from mediarank.learners.boosting.choice import Examples, Ranker, Worth, choose, early_precision, final_precision
from mediarank.learners.boosting.costs import Costs
from mediarank.learners.boosting.distilled import DistilledCascade
from mediarank.learners.boosting.imbalanced_rankboost import ImbalancedRankBoost, Regulariser
from mediarank.learners.boosting.plan import Plan
from mediarank.learners.boosting.rankboost import RankBoost
from mediarank.learners.fusion.stacking import BestSingle, LogisticStacking, MeanFusion, RidgeStacking
from mediarank.systems.concepts.config import Config
from mediarank.systems.concepts.figures import figure_tables
from mediarank.systems.concepts.model import Model, concept_scores, rank_scored
from mediarank.systems.contract import Inputs
from mediarank.systems.model import Fitted, choose_served
from mediarank.types import ConfigError, DataError, FeatureMatrix, Judgments, NotApplicable

METHODS: Final[Mapping[str, Callable[[Config, Examples], Ranker]]] = {
    "mean_fusion": lambda config, e: MeanFusion().fit(e.scores, e.relevant),
    "best_single": lambda config, e: BestSingle().fit(e.scores, e.relevant),
    "ridge_stacking": lambda config, e: RidgeStacking().fit(e.scores, e.relevant),
    "logistic_stacking": lambda config, e: LogisticStacking(config.stacking_strengths[0]).fit(e.scores, e.relevant),
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
        config.stages, config.keep, config.floor, config.strengths[0], config.cost_weights[0], config.recall
    ).fit(e.scores, e.relevant, e.costs),
    "distilled_cascade": lambda config, e: DistilledCascade(
        config.finish_stages,
        config.keep,
        config.finish_floor,
        recall=config.recall,
        strength=config.strengths[0],
        teacher=config.stacking_strengths[0],
        cost_weight=config.cost_weights[0],
    ).fit(e.scores, e.relevant, e.costs),
    "budget_cascade": lambda config, e: ForwardCascade(
        config.budget_stages,
        config.keep,
        config.budget_floor,
        config.strengths[0],
        config.cost_weights[0],
        config.recall,
        config.budget_firsts[0],
        config.budget_per_relevant[0],
    ).fit(e.scores, e.relevant, e.costs),
}
"""Each method as a function of the configuration and a concept's examples; all give a plan."""
CONCEPTS: Final = 30
"""Cross-validation uses at most this many concepts, evenly spread over all."""


def fit(inputs: Inputs, config: Config) -> Fitted:
    """Learn from the base models' scores of the roles to learn from; rank every test item for every concept."""
    pools = _pools(inputs, config)
    items = [item for item in sorted(inputs.labels.looked_at) if all(item in inputs.base_scores[k] for k in pools)]
    judged = set(items)
    judgments = Judgments.from_pairs((pair for pair in inputs.labels.shown if pair[1] in judged), items)
    learning, test = (sorted(judged.intersection(inputs.roles.items(*r))) for r in (config.learn_from, ("test",)))
    if not learning or not test:
        raise NotApplicable(f"concepts needs labelled items in the roles {', '.join(config.learn_from)} and in test.")
    known, found = (_of_items(inputs.base_scores, pools, of_role) for of_role in (learning, test))
    group_of = dict(zip(inputs.roles.table["item_id"], inputs.roles.table["group_id"], strict=True))
    examples = rank_examples(pools, known, judgments, groups=group_of)
    model = fit_rankers(pools, examples, config)
    grid = regulariser_plans(examples, config.lambdas)
    return Fitted(model, rank_scored(model, found), figure_tables(model, found, judgments, grid))


def _pools(inputs: Inputs, config: Config) -> dict[str, SVMPool]:
    kinds = sorted(config.base_models or inputs.pools)
    missing = [kind for kind in kinds if kind not in inputs.pools]
    if missing:
        raise ConfigError(
            f"systems.concepts.base_models names {', '.join(missing)}, but there are no base models of that feature "
            f"type; list it under base_models in params.yaml, or choose from {', '.join(inputs.pools) or 'none'}."
        )
    if not kinds:
        raise ConfigError("concepts combines base models, but none are trained; list some under base_models.")
    pools = {kind: inputs.pools[kind] for kind in kinds}
    if not all(map(len, pools.values())):
        raise NotApplicable("concepts needs concepts, keywords or classes with enough items in the role base.")
    return pools


def _of_items(
    scores: Mapping[str, FeatureMatrix], kinds: Iterable[str], items: Sequence[str]
) -> dict[str, FeatureMatrix]:
    ids = np.array(items, dtype=str)
    return {kind: FeatureMatrix(ids, scores[kind].names, scores[kind].rows(items)) for kind in kinds}


def rank_examples(
    pools: Mapping[str, SVMPool],
    scores: Mapping[str, FeatureMatrix],
    judgments: Judgments,
    extraction: Mapping[str, float] | None = None,
    groups: Mapping[str, str] | None = None,
) -> dict[str, Examples]:
    """By concept, what its rankers learn from; concepts whose items are all relevant or all not are left out.

    scores : of the items to learn from, by all SVMs of each feature type
    extraction : seconds per item that each feature type takes, for methods that weigh costs; by default features
        already exist
    groups : item -> the group that it is held out with
    """
    kinds = sorted(pools)
    items = scores[kinds[0]].ids.tolist()
    shared = np.array([(extraction or {}).get(kind, 0.0) for kind in kinds])
    together = np.unique([(groups or {}).get(item, item) for item in items], return_inverse=True)[1]
    found = {}
    for concept in pools[kinds[0]].concepts:
        relevant = judgments.grades(concept, items) > 0
        if relevant.any() and not relevant.all():
            models = ConceptModels.of(pools, concept)
            group = np.array([kinds.index(kind) for kind in models.types])
            costs = Costs(models.scoring_seconds(), group, shared)
            found[concept] = Examples(concept_scores(pools, scores, concept), relevant, costs, together)
    if not found:
        raise DataError("No concept has both relevant and other items to learn from; change the splits.")
    return found


def fit_rankers(pools: Mapping[str, SVMPool], examples: Mapping[str, Examples], config: Config) -> Model:
    """The plan of every method and concept, and by cross-validation which method is served."""
    config = settle(list(examples.values()), config)
    chosen = {
        "strength": config.strengths[0],
        "cost_weight": config.cost_weights[0],
        "stacking_strength": config.stacking_strengths[0],
        "budget_first": config.budget_firsts[0],
        "budget_per_relevant": config.budget_per_relevant[0],
    }
    fitted = fan_out(partial(_fit_methods, config), list(examples.values()), "rankers of concepts")
    plans: dict[str, Mapping[str, Plan]] = {
        method: dict(zip(examples, (by_method[method] for by_method in fitted), strict=True))
        for method in config.methods
    }
    validation = validate(list(examples.values()), config)
    return Model(pools, plans, validation, choose_served(validation, config.serve), chosen)


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


def settle(examples: Sequence[Examples], config: Config) -> Config:
    """The configuration with one setting of each kind left, by cross-validation.

    For the stack the final precision counts; for forward_cascade that which small budgets reach (`early_precision`),
    which is what a cascade is for; for the schedule of budget_cascade that which its budget reaches.
    """
    stacks = [replace(config, stacking_strengths=(strength,)) for strength in config.stacking_strengths]
    if {"logistic_stacking", "distilled_cascade"} & set(config.methods):
        config = _best("logistic_stacking", stacks, examples, final_precision)
    cascades = [
        replace(config, stacking_strengths=config.stacking_strengths[:1], strengths=(strength,), cost_weights=(weight,))
        for strength, weight in product(config.strengths, config.cost_weights)
    ]
    if {"forward_cascade", "distilled_cascade", "budget_cascade"} & set(config.methods):
        config = _best("forward_cascade", cascades, examples, early_precision)
    else:
        config = cascades[0]
    schedules = [
        replace(config, budget_firsts=(first,), budget_per_relevant=(items,))
        for first, items in product(config.budget_firsts, config.budget_per_relevant)
    ]
    if "budget_cascade" in config.methods:
        return _best("budget_cascade", schedules, [replace(e, costs=None) for e in examples], within(config))
    return schedules[0]


def within(config: Config) -> Worth:
    """Average precision of what `config.budget` evaluations per item reach."""
    return partial(early_precision, budgets=(config.budget,))


def _best(method: str, settings: Sequence[Config], examples: Sequence[Examples], worth: Worth) -> Config:
    if len(settings) == 1:
        return settings[0]
    candidates = {number: partial(METHODS[method], setting) for number, setting in enumerate(settings)}
    return settings[choose(candidates, _spread(examples), worth=worth, seed=settings[0].seed)[0]]


def validate(examples: Sequence[Examples], config: Config) -> dict[str, float]:
    """Method -> mean average precision over concepts on held-out folds of the examples, groups kept together."""
    candidates = {str(method): partial(METHODS[method], config) for method in config.methods}
    return choose(candidates, _spread(examples), seed=config.seed)[1]


def _spread(examples: Sequence[Examples]) -> Sequence[Examples]:
    return examples[:: -(-len(examples) // CONCEPTS)]


def _fit_methods(config: Config, examples: Examples) -> dict[str, Plan]:
    return {method: METHODS[method](config, examples).plan_ for method in config.methods}
