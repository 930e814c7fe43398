"""How each ranker of neighbours is fitted to labelled images: JEC and its kin, RNN and NW-RNN, TagProp's weights.

`RANKERS` names them. Some have numbers that cross-validation chooses: a fit returns all options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from mediarank.learners.boosting.pair_rankboost import PairRankBoost
from mediarank.learners.neighbours.distance_weights import COMBINATIONS
from mediarank.learners.neighbours.neighbour_rankers import BoostedOrder, NeighbourRanker, WeightedSum
from mediarank.learners.neighbours.neighbour_votes import find_neighbours
from mediarank.learners.neighbours.preferences import consistency
from mediarank.learners.neighbours.tagprop import TagProp
from mediarank.similarity.rank_levels import rank_thresholds
from mediarank.systems.annotation.config import Config
from mediarank.systems.annotation.images import Labelled, Part

Options = list[tuple[dict[str, int], NeighbourRanker]]
"""Rankers with the settings that tell them apart; of several, cross-validation chooses."""


def fit_boosted(part: Part, config: Config, weighted: bool, quick: bool) -> Options:
    """RNN, or NW-RNN: RankBoost over drawn preferences, for every number of pairs and of rounds."""
    levels, types = part.labelled.levels, len(part.labelled.levels)
    thresholds = rank_thresholds(len(part.labelled.keywords))
    options: Options = []
    for pairs in config.pairs:
        # where no number of pairs is to be chosen, fewer will do to choose the rest
        fewer = min(pairs, config.fold_pairs) if quick and len(config.pairs) == 1 else pairs
        drawn = part.preferences(fewer, config.ndcg_depth, config.epsilon, config.seed)
        better, worse = (
            np.stack([of_type[drawn.query, image] for of_type in levels]) for image in (drawn.better, drawn.worse)
        )
        weights = drawn.weight if weighted else drawn.equally_weighted().weight
        model = PairRankBoost(max(config.rounds), config.step).fit(better, worse, weights)
        options += [
            (
                {"pairs": pairs, "rounds": rounds},
                BoostedOrder(model.tables(types, len(thresholds) + 1, rounds), thresholds),
            )
            for rounds in config.rounds
        ]
    return options


def equally_weighted(part: Part) -> WeightedSum:
    """JEC: every type counts alike."""
    spread = part.labelled.spread
    return WeightedSum((1 / spread / len(spread)).astype(np.float32))


def fit_combination(name: str, part: Part, config: Config) -> NeighbourRanker:
    """A sum of scaled distances whose weights a regression finds."""
    drawn = part.preferences(config.regression_pairs, config.ndcg_depth, config.epsilon, config.seed)
    labelled = part.labelled
    query, image = np.tile(drawn.query, 2), np.concatenate([drawn.better, drawn.worse])
    distances = np.stack([values[query, image] / s for values, s in zip(labelled.stack, labelled.spread, strict=True)])
    rows = labelled.keywords.rows
    first, second = rows[labelled.asked[query]], rows[image]
    sizes = np.maximum(first.sum(axis=1) + second.sum(axis=1), 1)
    target = (2 * (first * second).sum(axis=1) / sizes).astype(np.float64)
    weights = COMBINATIONS[name](np.ascontiguousarray(distances.T), target)
    return WeightedSum((weights / labelled.spread).astype(np.float32))


def fit_best_feature(part: Part) -> NeighbourRanker:
    """The one feature type whose first five neighbours share most words, over some hundreds of images."""
    some = replace(part, rows=part.rows[:: max(1, len(part.rows) // 500)])
    agreement = consistency(part.keywords.rows[some.asked()], part.keywords.rows)
    shared = []
    for k in range(len(part.labelled.stack)):
        found = find_neighbours(some.similarity(_only(part.labelled, k)), 5)
        shared.append(float(np.take_along_axis(agreement, found.places, axis=1).mean()))
    return _only(part.labelled, int(np.argmax(shared)))


def fit_tagprop(part: Part, config: Config) -> NeighbourRanker:
    """TagProp's weights, learned over the nearest images by equal weights."""
    labelled = part.labelled
    similarity = part.similarity(equally_weighted(part))
    found = find_neighbours(similarity, min(config.tagprop_neighbours, similarity.shape[1] - 1))
    images = part.images[found.places]
    distances = np.stack(
        [values[part.rows[:, None], images] / s for values, s in zip(labelled.stack, labelled.spread, strict=True)],
        axis=2,
    )
    model = TagProp(config.tagprop_iterations).fit(
        found.places, distances, part.keywords, part.keywords.restricted_to(part.asked())
    )
    return WeightedSum((model.weights_ / labelled.spread).astype(np.float32))


RANKERS: Final[Mapping[str, Callable[[Part, Config, bool], Options]]] = {
    "best_feature": lambda part, config, _: [({}, fit_best_feature(part))],
    "jec": lambda part, config, _: [({}, equally_weighted(part))],
    "least_squares": lambda part, config, _: [({}, fit_combination("least_squares", part, config))],
    "lasso": lambda part, config, _: [({}, fit_combination("lasso", part, config))],
    "nw_rnn": lambda part, config, quick: fit_boosted(part, config, weighted=False, quick=quick),
    "rnn": lambda part, config, quick: fit_boosted(part, config, weighted=True, quick=quick),
    "tagprop": lambda part, config, _: [({}, fit_tagprop(part, config))],
}
"""Ranker -> how it is fitted to a part of the images, by the settings; quick : only to choose settings"""


def _only(labelled: Labelled, k: int) -> WeightedSum:
    weights = np.zeros(len(labelled.spread), np.float32)
    weights[k] = 1 / labelled.spread[k]
    return WeightedSum(weights)
