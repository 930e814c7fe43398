"""`retrieval`: what looks like this one? (paper 003)

φ(q, p) holds one similarity per feature type and measure; a ranker over it is learned from triplets. A collection
without classes gets the uniform combination, which needs none. Around it: `collection` (the collection as φ sees it),
`model` (what was fitted), `live` (search that learns from clicks) and `report` (how well it does).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from mediarank.learners.pairwise.phi_rankers import Chosen, fit_best, fixed_uniform
from mediarank.learners.pairwise.triplets import draw_pairs
from mediarank.similarity.scaling import PhiScaler, fit_scaler
from mediarank.systems.contract import Inputs
from mediarank.systems.model import Fitted, choose_served
from mediarank.systems.retrieval.collection import Collection
from mediarank.systems.retrieval.config import Config
from mediarank.systems.retrieval.model import Model
from mediarank.types import ConfigError, NotApplicable

UNIFORM: Final = "uni_con"
"""The method that needs no labels; it is always fitted, and answers where nothing can be learned."""


def fit(inputs: Inputs, config: Config) -> Fitted:
    """Scale φ on `base`, learn on `base` and `rank`, choose on `valid`; rank everything for the `test` queries.

    Without `valid` items the choice is made on `rank`, and only `base` is learned from.
    """
    collection = Collection.of(inputs, config.features)
    base, rank, valid, test = (_with_role(inputs, collection.items, role) for role in ("base", "rank", "valid", "test"))
    if len(base) < 2:
        raise NotApplicable(f"retrieval scales φ on items of role base; it needs 2, there are {len(base)}.")
    scaler = fit_scaler(
        collection.restricted_to(base).rows, config.scaling_pairs, np.random.default_rng([config.seed, 0])
    )
    base, rank, valid, test = (
        [item for item in items if item in collection.classes] for items in (base, rank, valid, test)
    )
    learning, choosing = (sorted({*base, *rank}), valid) if valid else (base, rank)
    test, choosing = (inputs.labels.queries_among(items) for items in (test, choosing))
    labelled = collection.restricted_to(collection.labelled)
    if not _enough(labelled, learning, choosing):
        return _without_labels(collection, scaler, config)
    pool = collection.restricted_to(sorted({*base, *rank, *valid}))
    fitted = fit_methods(collection.restricted_to(learning), pool, choosing, scaler, config)
    validation = {method: found.validation_map for method, found in fitted.items()}
    learnable = max(fitted.values(), key=lambda found: found.validation_map).better_than_chance
    model = Model.of_collection(
        collection,
        config.features,
        scaler,
        {method: found.ranker for method, found in fitted.items()},
        validation,
        choose_served(validation, config.serve) if learnable or config.serve else UNIFORM,
        {method: dict(found.parameters) for method, found in fitted.items()},
        None
        if learnable
        else "No method ranks the validation queries better than chance, so the uniform combination"
        " is served: the classes say nothing about how the items look.",
    )
    asked = _sample(test, config.test_queries, np.random.default_rng([config.seed, 3]))
    return Fitted(model, labelled.scores(asked, scaler, model.rankers) if asked else {})


def fit_methods(
    learning: Collection, pool: Collection, choosing: Sequence[str], scaler: PhiScaler, config: Config
) -> dict[str, Chosen]:
    """Every configured method, learned from triplets of `learning` and chosen by queries among the items of `pool`."""
    classes = [learning.classes[item] for item in learning.items]
    drawn = draw_pairs(classes, config.instances, np.random.default_rng([config.seed, 1]), config.negatives)
    triplets = learning.triplets(drawn, scaler)
    asked = _sample(choosing, config.validation_queries, np.random.default_rng([config.seed, 2]))
    validation = pool.validation(asked, scaler)
    methods = dict.fromkeys((*config.methods, UNIFORM))
    return {method: fit_best(method, triplets, validation) for method in methods}


def _without_labels(collection: Collection, scaler: PhiScaler, config: Config) -> Fitted:
    """The uniform combination alone; nothing is measured, since nothing says what is relevant."""
    if config.serve not in (None, UNIFORM):
        raise ConfigError(
            f"systems.retrieval.serve names {config.serve!r}, but the collection has too few classes to learn from; "
            f"take the line out, or name {UNIFORM}."
        )
    ranker = fixed_uniform(len(scaler.mean))
    why = "Too few items have a class to learn from, so all similarities have equal weight."
    model = Model.of_collection(collection, config.features, scaler, {UNIFORM: ranker}, {}, UNIFORM, {}, why)
    return Fitted(model, {})


def _enough(labelled: Collection, learning: Sequence[str], choosing: Sequence[str]) -> bool:
    """Whether there are two classes to tell apart, and a query with something to find in both parts."""
    return all(
        len(found) > 1 and max(found.values()) > 1
        for found in (_counted(labelled.classes, learning), _counted(labelled.classes, {*learning, *choosing}))
    ) and any(_counted(labelled.classes, {*learning, *choosing})[labelled.classes[item]] > 1 for item in choosing)


def _counted(classes: Mapping[str, str], items: Sequence[str] | set[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in items:
        counts[classes[item]] = counts.get(classes[item], 0) + 1
    return counts


def _sample(items: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    return sorted(rng.permutation(items)[:count].tolist())


def _with_role(inputs: Inputs, items: Sequence[str], *roles: str) -> list[str]:
    allowed = set(inputs.roles.items(*roles))
    return [item for item in items if item in allowed]
