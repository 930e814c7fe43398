"""The network's row of the concepts benchmark: rare concepts with a pretrained network in the pool.

Feature types are those of the set `all` in annotation_types.py, where they are cached: the network at two sizes and
five colour types. For each concept there is a kernel ridge regression on each type, and two SVMs on each size of
the network; the row `network` has these two sizes alone, the row `all` everything. Pictures are dealt out 50/20/30
like in the rest of the benchmark; base models and rankers learn from the first two parts, rankers from held-out scores.
The best method and the best cascade are those with the best validation; a cascade's evaluations are counted while it
ranks the test part.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from annotation_types import NETWORK, SETS
from annotation_types import describe as describe_pictures
from concepts_data import Described, chosen_concepts

from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import SVMConfig
from mediarank.base_models.training import TrainedPool, train_pool
from mediarank.evaluation.metrics import average_precision
from mediarank.systems.concepts.config import Config
from mediarank.systems.concepts.fit import fit_rankers, rank_examples
from mediarank.types import FeatureMatrix

CASCADES = ("boosted_cascade", "stacked_cascade", "forward_cascade")
METHODS = ("best_single", "mean_fusion", "ridge_stacking", "logistic_stacking", "rankboost", *CASCADES)
TRAINED = ("base", "rank")


def network_rows(
    folder: Path, cache: Path, positives: tuple[int, int], limit: int, seeds: int, wanted: list[str]
) -> dict[str, Any]:
    """`network` and `all`: MAP of the best method and cascade, and the share of base models the cascade evaluates."""
    pictures = describe_pictures(folder, cache, SETS["all"])
    items = sorted(pictures.looks)
    judgments, concepts = chosen_concepts(pictures.labels, items, *positives, limit)
    features = dict(pictures.features) | {f"{name}_svm": pictures.features[name] for name in NETWORK}
    described = Described(features, judgments, {}, pictures.looks, concepts)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in wanted}
    for seed in range(seeds):
        trained = {kind: _train(described, kind, seed) for kind in sorted(features) if _needed(kind, wanted)}
        for name in wanted:
            kinds = [kind for kind in trained if name == "all" or kind.startswith("network")]
            rows[name].append(measure(described, {kind: trained[kind] for kind in kinds}, seed, name))
    return {name: _mean(found) for name, found in rows.items()}


def _needed(kind: str, wanted: list[str]) -> bool:
    return "all" in wanted or kind.startswith("network")


def _train(described: Described, kind: str, seed: int) -> TrainedPool:
    roles = described.roles(seed)
    groups = dict(zip(roles.table["item_id"], roles.table["group_id"], strict=True))
    config = SVMConfig(learner="svm" if kind.endswith("_svm") else "ridge", seed=seed, roles=TRAINED)
    return train_pool(kind, described.features[kind], described.judgments, roles.items(*TRAINED), config, groups)


def measure(described: Described, trained: dict[str, TrainedPool], seed: int, name: str) -> dict[str, Any]:
    """Fit the rankers of one seed and rank the test part, concept by concept."""
    roles, judgments = described.roles(seed), described.judgments
    groups = dict(zip(roles.table["item_id"], roles.table["group_id"], strict=True))
    learning, items = sorted(roles.items(*TRAINED)), sorted(roles.items("test"))
    pools: dict[str, SVMPool] = {kind: found.pool for kind, found in trained.items()}
    scores: dict[str, FeatureMatrix] = {k: found.score(described.features[k], learning) for k, found in trained.items()}
    examples = rank_examples(pools, scores, judgments, groups=groups)
    model = fit_rankers(pools, examples, Config(methods=METHODS, seed=seed))  # type: ignore[arg-type]
    concepts = [concept for concept in model.names if judgments.grades(concept, items).any()]
    precision: dict[str, list[float]] = {method: [] for method in METHODS}
    evaluated: dict[str, list[float]] = {method: [] for method in METHODS}
    for concept in concepts:
        relevant = judgments.grades(concept, items) > 0
        for method in METHODS:
            answer = model.ask(described.features, items, concept, method)
            precision[method].append(average_precision(relevant, answer.scores))
            evaluated[method].append(answer.evaluations / len(items))
    models = sum(len(pool.columns(concepts[0])) for pool in pools.values())
    print(f"\n{name}, seed {seed}: {len(concepts)} concepts, {models} base models each, {len(items)} test pictures")
    print(f"  {'method':20s}{'MAP':>8s}{'validated':>11s}{'evaluations per item':>22s}")
    for method in METHODS:
        print(
            f"  {method:20s}{np.mean(precision[method]):8.4f}{model.validation[method]:11.4f}"
            f"{np.mean(evaluated[method]):22.2f}",
            flush=True,
        )
    best = max(METHODS, key=lambda method: model.validation[method])
    cascade = max(CASCADES, key=lambda method: model.validation[method])
    return {
        "map": float(np.mean(precision[best])),
        "cascade_map": float(np.mean(precision[cascade])),
        "evaluations_fraction": float(np.mean(evaluated[cascade])) / models,
        "best": best,
        "cascade": cascade,
        "concepts": len(concepts),
        "base_models": models,
        "map_of": {method: float(np.mean(values)) for method, values in precision.items()},
    }


def _mean(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Figures as means over seeds; names as of the first seed."""
    figures = ("map", "cascade_map", "evaluations_fraction")
    means = {name: round(float(np.mean([row[name] for row in rows])), 4) for name in figures}
    of_method = {m: round(float(np.mean([row["map_of"][m] for row in rows])), 4) for m in rows[0]["map_of"]}
    return rows[0] | means | {"map_of": of_method, "seeds": len(rows)}
