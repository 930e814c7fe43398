"""`retrieval`: what looks like this one? (paper 003)

φ(q, p) holds one similarity per feature type and measure; a ranker over it is learned from triplets. A collection
without classes gets a uniform combination, which needs none. Around it: `collection` (the collection as φ sees it),
`class_scores`, `learned_types` and `learned_methods` (learned similarities inside φ), `model` (what was fitted),
`live` (search that learns from clicks) and `report` (how well it does).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from mediarank.fanout import one_thread
from mediarank.learners.pairwise.phi_rankers import (
    CURVED,
    Chosen,
    FixedWeights,
    Ranker,
    Validation,
    fit_all,
    fixed_uniform,
)
from mediarank.learners.pairwise.triplets import Triplets, draw_pairs
from mediarank.similarity.phi import SIMILARITIES
from mediarank.similarity.scaling import PhiScaler, fit_scaler
from mediarank.systems.contract import Inputs
from mediarank.systems.model import Fitted, choose_served
from mediarank.systems.retrieval.class_scores import left_out_classes
from mediarank.systems.retrieval.collection import Collection
from mediarank.systems.retrieval.config import Config
from mediarank.systems.retrieval.learned_methods import LEARNED_METHODS, candidates, harmless, padded
from mediarank.systems.retrieval.learned_types import LearnedTypes, fit_learned_types
from mediarank.systems.retrieval.model import Model
from mediarank.types import ConfigError, NotApplicable

UNIFORM: Final = "uni_con"
"""All similarities count alike. It needs no labels and is always fitted."""
SOME: Final = "unlabelled"
"""The similarities of the types under `unlabelled` count alike; fitted where that is set."""


def fit(inputs: Inputs, config: Config) -> Fitted:
    """Scale φ on `base`, learn on `base` and `rank`, choose on `valid`; rank everything for the `test` queries.

    Without `valid` items the choice is made on `rank`, and only `base` is learned from.
    """
    # The same digits on any number of cores; and products of a few columns only keep a second thread waiting.
    with one_thread("blas"):
        return _fit(inputs, config)


def _fit(inputs: Inputs, config: Config) -> Fitted:
    collection = Collection.of(inputs, config.features)
    base, rank, valid, test = (_with_role(inputs, collection.items, role) for role in ("base", "rank", "valid", "test"))
    if len(base) < 2:
        raise NotApplicable(f"retrieval scales φ on items of role base; it needs 2, there are {len(base)}.")
    to_scale = base
    base, rank, valid, test = (
        [item for item in items if item in collection.classes] for items in (base, rank, valid, test)
    )
    learning, choosing = (sorted({*base, *rank}), valid) if valid else (base, rank)
    test, choosing = (inputs.labels.queries_among(items) for items in (test, choosing))
    enough = _enough(collection, learning, choosing)
    learned_types: LearnedTypes | None = None
    unseen: Collection | None = None
    asked = _sample(choosing, config.validation_queries, np.random.default_rng([config.seed, 2]))
    few = _sample(learning, config.class_items, np.random.default_rng([config.seed, 4]))
    known = sorted({*base, *rank, *valid})
    if len(known) > config.validation_items:
        drawn = _sample(known, config.validation_items, np.random.default_rng([config.seed, 5]))
        known = sorted({*asked, *few, *drawn})
    if enough and set(config.methods) & set(LEARNED_METHODS):
        types = (config.features, config.scored_types, config.whitened_types)
        learned_types, more = fit_learned_types(collection, *types, few, known, asked)
        unseen = _unseen(collection, config, learned_types, few, known, asked) if config.new_classes else None
        collection = more
    scaler = _scaler(collection, to_scale, config)
    if not enough:
        return _without_labels(collection, scaler, config)
    labelled, pool = collection.restricted_to(collection.labelled), collection.restricted_to(known)
    novel = unseen.validation(_left_out(collection, few, asked), scaler) if unseen else None
    fitted = fit_methods(collection, learning, pool, asked, scaler, config, novel)
    validation = {method: found.validation_map for method, found in fitted.items()}
    reference = _best_plain(fitted).ranker
    able = {
        method: value
        for method, value in validation.items()
        if method not in LEARNED_METHODS or harmless([fitted[method].ranker], reference, novel)
    }
    learnable = max(fitted.values(), key=lambda found: found.validation_map).better_than_chance
    model = Model.of_collection(
        collection,
        config.features,
        scaler,
        {method: found.ranker for method, found in fitted.items()},
        validation,
        choose_served(validation if config.serve else able, config.serve)
        if learnable or config.serve
        else without_labels(config),
        {method: dict(found.parameters) for method, found in fitted.items()},
        None
        if learnable
        else "No method ranks the validation queries better than chance, so the uniform combination"
        " is served: the classes say nothing about how the items look.",
        learned_types,
    )
    tested = _sample(test, config.queries_among(len(labelled.items)), np.random.default_rng([config.seed, 3]))
    return Fitted(model, labelled.scores(tested, scaler, model.methods, model.predict) if tested else {})


def _scaler(collection: Collection, items: Sequence[str], config: Config) -> PhiScaler:
    rng = np.random.default_rng([config.seed, 0])
    pairs, training = config.scaling_pairs, collection.positions(items)
    return fit_scaler(collection.rows, pairs, rng, collection.query_rows, training)


def _left_out(collection: Collection, learning: Sequence[str], asked: Sequence[str]) -> list[str]:
    """The validation queries of those classes that stand for classes never seen."""
    out = left_out_classes([collection.classes[item] for item in learning])
    return [item for item in asked if collection.classes[item] in out]


def _unseen(
    collection: Collection,
    config: Config,
    learned: LearnedTypes,
    learning: Sequence[str],
    known: Sequence[str],
    asked: Sequence[str],
) -> Collection | None:
    """The known items with types that are learned without a fifth of the classes; None without their queries."""
    queries = set(_left_out(collection, learning, asked))
    out = left_out_classes([collection.classes[item] for item in learning])
    rest = [item for item in asked if item not in queries]
    if not (queries and rest):
        return None
    kept = [item for item in learning if collection.classes[item] not in out]
    types = (config.features, config.scored_types, config.whitened_types)
    return fit_learned_types(collection.restricted_to(known), *types, kept, known, rest, like=learned.scores)[1]


def fit_methods(
    collection: Collection,
    learning: Sequence[str],
    pool: Collection,
    asked: Sequence[str],
    scaler: PhiScaler,
    config: Config,
    novel: Validation | None = None,
) -> dict[str, Chosen]:
    """Every configured method, learned from triplets of `learning` and chosen by queries among the items of `pool`.

    The rankers of paper 003 see the feature types alone; those of `LEARNED_METHODS` also the learned dimensions, which
    the collections' rows hold behind them.

    novel : queries of classes never seen; `blend` chooses among what loses nothing there
    """
    classes = [collection.classes[item] for item in learning]
    drawn = draw_pairs(classes, config.instances, np.random.default_rng([config.seed, 1]), config.negatives)
    triplets = collection.triplets(drawn.at(collection.positions(learning)), scaler)
    validation = pool.validation(asked, scaler)
    d, plain = validation.phi.shape[2], len(SIMILARITIES) * len(config.features)
    narrow, judged = _narrowed(triplets, validation, plain)
    on_features: dict[str, Sequence[Ranker] | None] = {
        method: None for method in (*config.methods, UNIFORM) if method not in LEARNED_METHODS
    }
    if config.unlabelled:
        on_features[SOME] = [_some(config, plain)]
    fitted = {
        method: found if method in CURVED else replace(found, ranker=padded(found.ranker, d))
        for method, found in fit_all(on_features, narrow, judged).items()
    }
    linear = {method: found for method, found in fitted.items() if method not in CURVED}
    tried = {
        method: candidates(method, plain, validation, _to_blend(linear))
        for method in config.methods
        if method in LEARNED_METHODS
    }
    if "blend" in tried:
        tried["blend"] = harmless(tried["blend"], _best_plain(linear).ranker, novel) or tried["blend"][:1]
    fitted |= fit_all(tried, triplets, validation)
    return {method: fitted[method] for method in dict.fromkeys((*config.methods, *fitted))}


def _best_plain(fitted: Mapping[str, Chosen]) -> Chosen:
    """The best validated of the linear methods that look at the feature types alone."""
    plain = [found for method, found in fitted.items() if method not in (*CURVED, *LEARNED_METHODS)]
    return max(plain, key=lambda found: found.validation_map)


def _to_blend(linear: Mapping[str, Chosen]) -> dict[str, Chosen]:
    """Methods that blend with learned similarities: the best validated one, and what needs no labels."""
    best = max(linear, key=lambda method: linear[method].validation_map)
    return {method: found for method, found in linear.items() if method in (best, UNIFORM, SOME)}


def without_labels(config: Config) -> str:
    """The method that answers where nothing can be learned."""
    return SOME if config.unlabelled else UNIFORM


def _some(config: Config, plain: int) -> FixedWeights:
    """The similarities of the types under `unlabelled`, all alike."""
    width = len(SIMILARITIES)
    starts = [width * config.features.index(name) for name in config.unlabelled]
    return fixed_uniform(plain, [start + k for start in starts for k in range(width)])


def _narrowed(triplets: Triplets, validation: Validation, plain: int) -> tuple[Triplets, Validation]:
    """The same without the learned dimensions."""
    if triplets.phi.shape[1] == plain:
        return triplets, validation
    return (
        replace(triplets, phi=np.ascontiguousarray(triplets.phi[:, :plain])),
        replace(validation, phi=np.ascontiguousarray(validation.phi[..., :plain])),
    )


def _without_labels(collection: Collection, scaler: PhiScaler, config: Config) -> Fitted:
    """Uniform combinations alone; nothing is measured, since nothing says what is relevant."""
    served = without_labels(config)
    if config.serve not in (None, UNIFORM, served):
        raise ConfigError(
            f"systems.retrieval.serve names {config.serve!r}, but the collection has too few classes to learn from; "
            f"take the line out, or name {served}."
        )
    rankers = {UNIFORM: fixed_uniform(len(scaler.mean))}
    rankers |= {SOME: _some(config, len(scaler.mean))} if config.unlabelled else {}
    alike = f"the similarities of {', '.join(config.unlabelled)}" if config.unlabelled else "all similarities"
    why = f"Too few items have a class to learn from, so {alike} count alike."
    model = Model.of_collection(collection, config.features, scaler, rankers, {}, config.serve or served, {}, why)
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
