"""`annotation`: which keywords fit this image? (paper 001)

Labelled images that look like a new one lend it their words. Around this composition: `annotation_config` (methods and
settings), `annotation_images` (distances among training images), `annotation_rankers` and `annotation_methods` (how
methods are fitted and chosen), `annotation_model` (what is kept, and served), `annotation_report` (`measure` and
`section`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mediarank.evaluation.keywords import METRICS
from mediarank.learners.neighbours.keywords import Keywords
from mediarank.learners.pairwise.image_folds import deal_folds
from mediarank.systems.annotation.config import METHODS, AnnotationConfig
from mediarank.systems.annotation.images import Labelled
from mediarank.systems.annotation.methods import Fitted, fit_methods
from mediarank.systems.annotation.model import AnnotationModel
from mediarank.systems.annotation.report import words_of
from mediarank.systems.contract import Inputs, Outcome
from mediarank.types import DataError, FeatureMatrix, NotApplicable

__all__ = ["METHODS", "AnnotationConfig", "Config", "fit", "run"]

TRAINING = ("base", "rank", "valid")
"""Roles whose images lend their words: numbers are chosen by cross-validation inside them, so none is set apart."""

Config = AnnotationConfig


def fit(
    inputs: Inputs, items: Sequence[str], config: AnnotationConfig, vocabulary: Sequence[str] | None = None
) -> tuple[AnnotationModel, dict[str, Fitted]]:
    """Learn from labelled images. vocabulary : the words to suggest, by default all that the images have"""
    true = words_of(inputs.labels, items)
    words = sorted({word for own in true.values() for word in own}) if vocabulary is None else list(vocabulary)
    keywords = Keywords.of(items, true, words)
    rows = (inputs.feature(name).rows(items) for name in config.features)
    table = inputs.roles.table
    group_of = dict(zip(table["item_id"], table["group_id"], strict=True))
    fold_of = deal_folds([None] * len(items), config.folds, config.seed, [group_of[item] for item in items])
    rng = np.random.default_rng([config.seed, 0])
    asked = np.sort(rng.choice(len(items), config.queries_among(len(items)), replace=False))
    fitted = fit_methods(Labelled.of(rows, config.measures, keywords, fold_of, asked), config.methods, config)
    model = AnnotationModel(
        config.features,
        config.measures,
        tuple(items),
        keywords,
        {method: found.ranker for method, found in fitted.items()},
        {method: found.listening for method, found in fitted.items()},
        {method: found.chosen.scores.f1 for method, found in fitted.items()},
    )
    return model, fitted


def run(inputs: Inputs, config: AnnotationConfig) -> Outcome:
    """Learn from the images with keywords that are not for testing, suggest words for those that are."""
    items, asked = (_with_words(inputs, config, *roles) for roles in (TRAINING, ("test",)))
    if len(items) < 2 * config.folds or not asked:
        raise NotApplicable(
            f"annotation learns from images with keywords; there are {len(items)} to learn from and {len(asked)} to "
            f"test, and it needs {2 * config.folds} and one at least."
        )
    model, fitted = fit(inputs, items, config)
    matrices = [inputs.feature(name) for name in config.features]
    scores = model.scores([matrix.rows(asked) for matrix in matrices], [matrix.rows(items) for matrix in matrices])
    arrays, facts = model.to_arrays()
    for method, found in fitted.items():
        facts["methods"][method] |= found.chosen.settings
    facts["effect_of_k"] = effect_of_k(fitted)
    ids = np.array(asked, dtype=str)
    return Outcome(
        arrays, facts, {method: FeatureMatrix(ids, model.keywords.words, values) for method, values in scores.items()}
    )


def effect_of_k(fitted: dict[str, Fitted]) -> list[dict[str, Any]]:
    """Figure 1: RNN with the count of eq 6 at every k, on held-out training images; nothing if there is no RNN."""
    if "rnn" not in fitted:
        return []
    settings = fitted["rnn"].chosen.settings
    return [
        {"k": found.listening.k, **{name: getattr(found.scores, name) for name in METRICS}}
        for found in fitted["rnn"].tried
        if found.listening.rule == "count" and found.settings == settings
    ]


def _with_words(inputs: Inputs, config: AnnotationConfig, *roles: str) -> list[str]:
    """Items of these roles that have a keyword and all feature types, in order."""
    matrices = [inputs.feature(name) for name in config.features]
    labelled = set(inputs.labels["keywords"]["item"])
    found = [item for item in inputs.roles.items(*roles) if item in labelled]
    described = sorted(item for item in found if all(item in matrix for matrix in matrices))
    if found and not described:
        raise DataError(f"No image with keywords has all of the feature types {', '.join(config.features)}.")
    return described
