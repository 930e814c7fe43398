"""One split of the concepts benchmark: train or read base models, fit the rankers, rank the test part, keep the curves.

All rankers of a row see the same scores. In the row `paper` every SVM is really evaluated on the survivors of its step,
and timed; the other rows count evaluations on known scores. What a split gave is kept as JSON beside the base models,
under a hash of what it was computed from, so that a stopped benchmark goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
from concepts_compare import Run, one_thread, priced, trace
from concepts_data import Described
from concepts_rows import configs
from concepts_train import model_keys, trained_pools
from rivals_lightgbm import LightGBMStacking

import mediarank
from mediarank.base_models.concept import ConceptModels
from mediarank.evaluation.metrics import average_precision
from mediarank.fanout import fan_out
from mediarank.learners.boosting.choice import Examples, Ranker, choose
from mediarank.learners.boosting.imbalanced_rankboost import ImbalancedRankBoost, Regulariser
from mediarank.learners.boosting.plan import Plan
from mediarank.learners.boosting.rankboost import RankBoost
from mediarank.systems.concepts.config import Config
from mediarank.systems.concepts.figures import Trace, trace_scored
from mediarank.systems.concepts.fit import CONCEPTS, METHODS, fit_rankers, rank_examples, settle, within
from mediarank.systems.concepts.model import concept_scores, score_items
from mediarank.types import Floats, MediarankError

REFERENCE, STACKING, PAPER = "rankboost", "logistic_stacking", "imbalanced_rankboost"
CASCADES = ("boosted_cascade", "stacked_cascade", "forward_cascade", "distilled_cascade", "budget_cascade")
ENDS = ("mean_fusion", "best_single", "ridge_stacking")
FITTED = (REFERENCE, PAPER, *CASCADES, STACKING, *ENDS)
ABLATIONS = {"forward_keep_all": "forward_cascade", "distilled_keep_all": "distilled_cascade"}
"""Cascades without pruning, which show what their weights alone are worth; budget_cascade becomes the first too."""
EXTRACTION = "forward_extraction"
HANDMADE = ("paper", "ridge")
"""Rows whose costs of extraction are known."""
ROLES = {"all": (("base", "rank"), ("base", "rank")), "split": (("base",), ("rank",))}
"""How to learn -> the roles of the base models, and those of the rankers."""
STRENGTHS = (0.01, 0.03)
SOURCES = ("learners/boosting/*.py", "learners/fusion/stacking.py", "systems/concepts/*.py")
"""Code that decides what a split gives, beside that of the base models and of this file."""

Known = Mapping[str, tuple[Floats, np.ndarray]]
"""concept -> scores of the test items by its base models, and which of the items show it"""


def measured(described: Described, row: str, seed: int, learn: str, cache: Path, settings: bool) -> Run:
    """What the split gave; read from the cache if it was computed before.

    settings : compute figure 9 too
    """
    roles = described.roles(seed)
    wanted = configs(described, row, seed, ROLES[learn][0])
    key = hashlib.sha256(repr([model_keys(described, wanted, roles), row, learn, settings, FITTED]).encode())
    package = Path(mediarank.__path__[0])
    for source in [Path(__file__), *(path for part in SOURCES for path in sorted(package.glob(part)))]:
        key.update(source.read_bytes())
    kept = cache / "concepts_runs" / f"{row}-{seed}-{key.hexdigest()[:16]}.json"
    if kept.exists():
        return Run.from_json(json.loads(kept.read_text()))
    found = measure(described, row, seed, learn, cache, settings)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.with_suffix(".part").write_text(json.dumps(found.to_json()))
    kept.with_suffix(".part").replace(kept)
    return found


def measure(described: Described, row: str, seed: int, learn: str, cache: Path | None, settings: bool) -> Run:
    """One split: train base models, fit rankers and choose settings, rank `test`."""
    train_on, learn_from = ROLES[learn]
    config = Config(methods=FITTED, strengths=STRENGTHS, cost_weights=(0.0,), seed=seed)  # type: ignore[arg-type]
    roles, judgments = described.roles(seed), described.judgments
    groups = dict(zip(roles.table["item_id"], roles.table["group_id"], strict=True))
    trained = trained_pools(described, configs(described, row, seed, train_on), roles, cache)
    pools = {kind: found.pool for kind, found in trained.items()}
    learning, items = sorted(roles.items(*learn_from)), sorted(roles.items("test"))
    scores = {kind: found.score(described.features[kind], learning) for kind, found in trained.items()}
    examples = rank_examples(pools, scores, judgments, groups=groups)
    dear = rank_examples(pools, scores, judgments, described.extraction, groups)
    model = fit_rankers(pools, examples, config)
    found = score_items(pools, described.features, items)
    concepts = [c for c in model.names if judgments.grades(c, items).any()]
    known = {c: (concept_scores(pools, found, c), judgments.grades(c, items) > 0) for c in concepts}
    plans = {m: dict(model.plans[m]) for m in FITTED}
    if row in HANDMADE:
        plans |= ablations(examples, config, model.chosen)
    if row == "paper":
        plans[EXTRACTION] = with_extraction(dear, config)

    def curve(plan: Plan, concept: str) -> Trace:
        if row != "paper":
            return trace_scored(plan, concept, *known[concept], points=80)
        models, relevant = ConceptModels.of(pools, concept), known[concept][1]
        return trace(plan, models, described.features, items, relevant, repeats=2)

    with one_thread():
        traces = {m: [curve(of_method[c], c) for c in concepts] for m, of_method in plans.items()}
    by_price = {
        m: [priced(plans[m][c], c, *known[c], dear[c].costs) for c in concepts]  # type: ignore[arg-type]
        for m in (REFERENCE, STACKING, *CASCADES, EXTRACTION)
        if row in HANDMADE and m in plans
    }
    trees = lightgbm(examples, known) if row == "paper" else {}
    grid = settings_traces(examples, known) if settings else {}
    models = len(next(iter(examples.values())).scores.T)
    early = validated_within(examples, config, model.chosen)
    return Run(traces, by_price, trees, model.chosen, model.validation, early, grid, models)


def ablations(
    examples: Mapping[str, Examples], config: Config, chosen: Mapping[str, float]
) -> dict[str, dict[str, Plan]]:
    """Cascades without pruning, with the settings that were chosen."""
    plain = replace(settled(config, chosen), keep=1.0, floor=1.0, finish_floor=1.0)
    return {name: _plans(METHODS[method], plain, examples) for name, method in ABLATIONS.items()}


def settled(config: Config, chosen: Mapping[str, float]) -> Config:
    """The configuration with the settings that cross-validation chose."""
    return replace(
        config,
        strengths=(chosen["strength"],),
        cost_weights=(chosen["cost_weight"],),
        stacking_strengths=(chosen["stacking_strength"],),
        budget_firsts=(chosen["budget_first"],),
        budget_per_relevant=(chosen["budget_per_relevant"],),
    )


def validated_within(examples: Mapping[str, Examples], config: Config, chosen: Mapping[str, float]) -> dict[str, float]:
    """Cascade -> MAP on held-out folds of what `config.budget` evaluations per item reach."""
    rankers = {method: partial(METHODS[method], settled(config, chosen)) for method in CASCADES}
    alike = [replace(e, costs=None) for e in examples.values()]
    return choose(rankers, alike[:: -(-len(alike) // CONCEPTS)], worth=within(config), seed=config.seed)[1]


def with_extraction(dear: Mapping[str, Examples], config: Config) -> dict[str, Plan]:
    """forward_cascade that knows the costs of extraction."""
    settled = settle(list(dear.values()), replace(config, methods=("forward_cascade",), cost_weights=(0.0, 1.0)))
    return _plans(METHODS["forward_cascade"], settled, dear)


def _plans(
    method: Callable[[Config, Examples], Ranker], config: Config, examples: Mapping[str, Examples]
) -> dict[str, Plan]:
    fitted = fan_out(partial(method, config), list(examples.values()), "variants of a cascade")
    return {concept: ranker.plan_ for concept, ranker in zip(examples, fitted, strict=True)}


def settings_traces(
    examples: Mapping[str, Examples], known: Known
) -> dict[tuple[str, str, str, float], Sequence[Trace]]:
    """Figure 9, and both score ranges and steps: curves by evaluations from known scores."""
    grid: list[tuple[str, str, str, float]] = [
        ("symmetric", "bound", regulariser, strength)
        for regulariser in get_args(Regulariser)
        for strength in Config().lambdas
    ]
    grid += [(r, s, "squared", 0.05) for r, s in (("unit", "bound"), ("symmetric", "exact"), ("unit", "exact"))]
    grid += [(r, s, "rankboost", 0.0) for r in ("symmetric", "unit") for s in ("bound", "exact")]
    plans = fan_out(partial(_plans_of, grid), [examples[c] for c in known], "settings of RankBoost")
    return {
        setting: [
            trace_scored(of_concept[number], concept, *known[concept])
            for concept, of_concept in zip(known, plans, strict=True)
        ]
        for number, setting in enumerate(grid)
    }


def _plans_of(grid: Sequence[tuple[str, str, str, float]], e: Examples) -> list[Plan]:
    found = []
    for score_range, step, regulariser, strength in grid:
        ranker: Any = (
            RankBoost(score_range=score_range, step=step)  # type: ignore[arg-type]
            if regulariser == "rankboost"
            else ImbalancedRankBoost(200, score_range, step, regulariser, strength)  # type: ignore[arg-type]
        )
        found.append(ranker.fit(e.scores, e.relevant).plan_)
    return found


def lightgbm(examples: Mapping[str, Examples], known: Known) -> dict[str, float]:
    """MAP of LightGBM's trees, where it can be loaded."""
    try:
        fitted = {c: LightGBMStacking().fit(examples[c].scores, examples[c].relevant) for c in known}
    except MediarankError as error:
        warnings.warn(str(error), stacklevel=1)
        return {}
    values = [average_precision(relevant, fitted[c].predict(X)) for c, (X, relevant) in known.items()]
    return {"lightgbm": float(np.mean(values))}
