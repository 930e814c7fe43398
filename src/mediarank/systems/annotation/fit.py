"""`annotation`: which keywords fit this image? (paper 001)

Labelled images that look like a new one give it their words. `images.py` has the distances among training images,
`rankers.py` and `methods.py` fit the methods and choose their settings, `average.py` which of them are averaged,
`model.py` is what is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from mediarank.evaluation.keywords import METRICS
from mediarank.learners.neighbours.keywords import Keywords
from mediarank.learners.pairwise.image_folds import deal_folds
from mediarank.systems.annotation.average import choose_average
from mediarank.systems.annotation.config import AVERAGE, Config
from mediarank.systems.annotation.image_words import words_of
from mediarank.systems.annotation.images import Labelled, Part
from mediarank.systems.annotation.methods import FittedMethod, fit_methods, folds_of
from mediarank.systems.annotation.model import Model, pack
from mediarank.systems.contract import Inputs
from mediarank.systems.model import Fitted, choose_served
from mediarank.types import DataError, FeatureMatrix, NotApplicable, drawn_by_lot

TRAINING: Final = ("base", "rank", "valid")
"""Roles whose images give their words; cross-validation within them chooses all settings and the served method."""


def fit(inputs: Inputs, config: Config) -> Fitted:
    """Learn from the images with keywords that are not for testing, and score words for those that are."""
    items, asked = (_with_words(inputs, config, *roles) for roles in (TRAINING, ("test",)))
    if len(items) < 2 * config.folds or not asked:
        raise NotApplicable(
            f"annotation learns from images with keywords; there are {len(items)} to learn from and {len(asked)} to "
            f"test, and it needs at least {2 * config.folds} and one."
        )
    model, fitted = fit_model(inputs, items, config)
    asked = drawn_by_lot(asked, config.test_items, config.seed)
    ids = np.array(asked, dtype=str)
    scores = {
        method: FeatureMatrix(ids, model.names, values.astype(np.float32))
        for method, values in model.rank_by(inputs.features, asked, model.methods).items()
    }
    return Fitted(model, scores, {"effect_of_k": effect_of_k(fitted)})


def fit_model(
    inputs: Inputs, items: Sequence[str], config: Config, vocabulary: Sequence[str] | None = None
) -> tuple[Model, dict[str, FittedMethod]]:
    """Learn from labelled images.

    vocabulary : the words to score, by default all that the images have
    """
    true = words_of(inputs.labels, items)
    words = sorted({word for own in true.values() for word in own}) if vocabulary is None else list(vocabulary)
    keywords = Keywords.of(items, true, words)
    rows = (inputs.feature(name).rows(items) for name in config.features)
    table = inputs.roles.table
    group_of = dict(zip(table["item_id"], table["group_id"], strict=True))
    fold_of = deal_folds([None] * len(items), config.folds, config.seed, [group_of[item] for item in items])
    rng = np.random.default_rng([config.seed, 0])
    asked = np.sort(rng.choice(len(items), config.queries_among(len(items)), replace=False))
    labelled = Labelled.of(rows, config.measures, keywords, fold_of, asked)
    fitted = fit_methods(labelled, config.parts, config)
    arrays, settings = pack(
        keywords,
        {method: found.ranker for method, found in fitted.items()},
        {method: found.rule for method, found in fitted.items()},
    )
    settings = {method: settings[method] | dict(found.chosen.settings) for method, found in fitted.items()}
    validation = {method: float(getattr(found.chosen.scores, config.aim)) for method, found in fitted.items()}
    if AVERAGE in config.methods:
        held_out = {method: found.chosen.held_out_scores() for method, found in fitted.items()}
        held_words = [Part.outside(labelled, fold).true for fold in folds_of(labelled)]
        average = choose_average(held_out, held_words, config.words, config.aim)
        settings[AVERAGE] = {"of": list(average.of), "units": list(average.units)}
        validation[AVERAGE] = float(getattr(average.scores, config.aim))
    facts = {
        "methods": list(config.methods),
        "validation": validation,
        "served": choose_served(validation, config.serve),
        "features": list(config.features),
        "distances": list(config.measures),
        "items": list(items),
        "words": words,
        "settings": settings,
    }
    return Model(arrays, facts, inputs.features), fitted


def effect_of_k(fitted: Mapping[str, FittedMethod]) -> list[dict[str, Any]]:
    """Figure 1: RNN with the count of eq 6 at every k, on held-out training images; empty without RNN."""
    if "rnn" not in fitted:
        return []
    settings = fitted["rnn"].chosen.settings
    return [
        {"k": found.rule.k, **{name: getattr(found.scores, name) for name in METRICS}}
        for found in fitted["rnn"].tried
        if found.rule.kind == "count" and found.settings == settings
    ]


def _with_words(inputs: Inputs, config: Config, *roles: str) -> list[str]:
    """Items of these roles that have a keyword and all feature types, in order."""
    matrices = [inputs.feature(name) for name in config.features]
    labelled = set(inputs.labels["keywords"]["item"])
    found = [item for item in inputs.roles.items(*roles) if item in labelled]
    described = sorted(item for item in found if all(item in matrix for matrix in matrices))
    if found and not described:
        raise DataError(f"No image with keywords has all of the feature types {', '.join(config.features)}.")
    return described
