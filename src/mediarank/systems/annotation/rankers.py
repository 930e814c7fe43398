"""Fitting each ranker of neighbours to labelled images: JEC and its variants, RNN, NW-RNN, weights by TagProp, by a
large margin, by agreement with the words or by a regression's error, and the space of kernel CCA on such weights.

`RANKERS` names them. Some have numbers that cross-validation chooses: a fit returns all options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from itertools import product
from typing import Final, Literal

import numpy as np

from mediarank.learners.boosting.pair_rankboost import PairRankBoost
from mediarank.learners.neighbours.distance_weights import COMBINATIONS
from mediarank.learners.neighbours.keyword_scores import contrast
from mediarank.learners.neighbours.margin_weights import draw_triples, fit_margin
from mediarank.learners.neighbours.neighbour_rankers import BoostedOrder, NeighbourRanker, WeightedSum
from mediarank.learners.neighbours.neighbour_votes import find_neighbours
from mediarank.learners.neighbours.preferences import consistency
from mediarank.learners.neighbours.ridge_weights import fit_ridge_weights
from mediarank.learners.neighbours.semantic_space import fit_semantic_space
from mediarank.learners.neighbours.tagprop import TagProp
from mediarank.similarity.rank_levels import rank_thresholds
from mediarank.systems.annotation.config import Config
from mediarank.systems.annotation.images import Labelled, Part
from mediarank.types import Floats

SPACE_SHARPNESS: Final = 0.25
"""Of the kernel in kernel CCA, relative to the contrast of the similarities: the middle of what `ridge` tries."""
LEARNED_FROM: Final = 1000
"""Images that the weights of `learned` are learned from: a step costs their number to the third power."""
Weighting = Literal["none", "pairs", "draw"]
Options = list[tuple[dict[str, int], NeighbourRanker]]
"""Rankers with the settings that distinguish them; cross-validation chooses among several."""


def fit_boosted(part: Part, config: Config, weighting: Weighting, quick: bool) -> Options:
    """RankBoost over drawn preferences, for every depth, number of pairs and number of rounds.

    weighting : "none" (NW-RNN); "pairs" (RNN: eq 3's weights); "draw" (pairs drawn in proportion to these weights)
    """
    levels, types = part.labelled.levels, len(part.labelled.levels)
    thresholds = rank_thresholds(len(part.labelled.keywords))
    options: Options = []
    # without weights the depth changes nothing
    depths = config.ndcg_depth if weighting != "none" else config.ndcg_depth[:1]
    for depth, pairs in product(depths, config.pairs):
        # if the number of pairs is fixed, fewer are enough to choose the rest
        fewer = min(pairs, config.fold_pairs) if quick and len(config.pairs) == 1 else pairs
        drawn = part.preferences(fewer, depth, config.epsilon, config.seed, by_weight=weighting == "draw")
        better, worse = (
            np.stack([of_type[drawn.query, image] for of_type in levels]) for image in (drawn.better, drawn.worse)
        )
        weights = drawn.equally_weighted().weight if weighting == "none" else drawn.weight
        model = PairRankBoost(max(config.rounds), config.step).fit(better, worse, weights)
        options += [
            (
                {"pairs": pairs, "rounds": rounds, "ndcg_depth": depth},
                BoostedOrder(model.tables(types, len(thresholds) + 1, rounds), thresholds),
            )
            for rounds in config.rounds
        ]
    return options


def equally_weighted(part: Part) -> WeightedSum:
    """JEC: all types have equal weight."""
    spread = part.labelled.spread
    return WeightedSum((1 / spread / len(spread)).astype(np.float32))


def equally_weighted_by_maximum(part: Part) -> WeightedSum:
    """JEC as its authors have it: every distance divided by its maximum."""
    highest = np.array([float(values[part.rows[:, None], part.images].max()) for values in part.labelled.stack])
    weights = np.divide(1 / len(highest), highest, out=np.zeros_like(highest), where=highest > 0)
    return WeightedSum(weights.astype(np.float32))


def fit_combination(name: str, part: Part, config: Config) -> NeighbourRanker:
    """A sum of scaled distances whose weights a regression finds."""
    drawn = part.preferences(config.regression_pairs, config.ndcg_depth[0], config.epsilon, config.seed)
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
    """The feature type whose first five neighbours share most words, measured on a few hundred images."""
    some = replace(part, rows=part.rows[:: max(1, len(part.rows) // 500)])
    agreement = consistency(part.keywords.rows[some.asked()], part.keywords.rows)
    shared = []
    for k in range(len(part.labelled.stack)):
        found = find_neighbours(some.similarity(_only(part.labelled, k)), 5)
        shared.append(float(np.take_along_axis(agreement, found.places, axis=1).mean()))
    return _only(part.labelled, int(np.argmax(shared)))


def fit_aligned(part: Part, config: Config) -> Options:
    """Distances weighted by a power of how well they agree with the words, over some hundreds of images.

    A type's agreement is the correlation of its distances with the words that two images share, times −1; a type
    below 0 has no weight. Where no type agrees, all count alike.
    """
    some = replace(part, rows=part.rows[:: max(1, len(part.rows) // 500)])
    shared = consistency(part.keywords.rows[some.asked()], part.keywords.rows)
    other = part.labelled.asked[some.rows][:, None] != part.images  # an image tells nothing about itself
    agreement = np.array([_agreement(values[some.rows[:, None], part.images][other], shared[other])
                          for values in part.labelled.stack])  # fmt: skip
    agreement = np.maximum(agreement, 0) if (agreement > 0).any() else np.ones(len(agreement))
    options: Options = []
    for power in config.alignment_powers:
        weights = (agreement / agreement.max()) ** power
        found = (weights / weights.sum() / part.labelled.spread).astype(np.float32)
        options.append(({"alignment_powers": power}, WeightedSum(found)))
    return options


def _agreement(distances: Floats, shared: Floats) -> float:
    """−1 × their correlation; 0 where one of them is constant."""
    first, second = distances - distances.mean(dtype=np.float64), shared - shared.mean(dtype=np.float64)
    size = float(np.sqrt(np.square(first).sum() * np.square(second).sum()))
    return -float((first * second).sum()) / size if size > 1e-12 else 0.0


def fit_margin_weights(part: Part, config: Config) -> NeighbourRanker:
    """2PKNN's metric learning, from equal weights with a contrast of 1."""
    start = equally_weighted(part)
    similarity = part.similarity(start)
    triples = draw_triples(similarity, part.asked(), part.keywords)
    labelled = part.labelled
    targets, impostors = (
        np.stack(
            [values[part.rows[triples.query], part.images[places]] / s
             for values, s in zip(labelled.stack, labelled.spread, strict=True)],
            axis=1,
        )
        for places in (triples.target, triples.impostor)
    )  # fmt: skip
    equal = np.where(np.isfinite(labelled.spread), 1 / len(labelled.spread) / contrast(similarity), 0.0)
    weights = fit_margin(targets, impostors, equal.astype(np.float64))
    weights = weights if weights.any() else equal
    return WeightedSum((weights / labelled.spread).astype(np.float32))


def fit_learned(part: Part) -> WeightedSum:
    """The weights with which a ridge regression predicts left-out images best, from equal ones; once per part."""
    if "learned" not in part.fitted:
        part.fitted["learned"] = _fit_learned(part)
    return part.fitted["learned"]


def _fit_learned(part: Part) -> WeightedSum:
    labelled = part.labelled
    rows = part.rows[:: -(-len(part.rows) // LEARNED_FROM)]
    images = labelled.asked[rows]
    distances = np.stack(
        [values[np.ix_(rows, images)] / s for values, s in zip(labelled.stack, labelled.spread, strict=True)]
    )
    scale = SPACE_SHARPNESS / contrast(part.similarity(equally_weighted(part)))
    equal = np.where(np.isfinite(labelled.spread), scale / len(labelled.spread), 0.0)
    found = fit_ridge_weights(distances, labelled.keywords.rows[images], equal).weights
    return WeightedSum(((found if found.any() else equal) / labelled.spread).astype(np.float32))


def fit_space(part: Part, ranker: WeightedSum, quick: bool) -> NeighbourRanker:
    """Kernel CCA of pictures and words, on the ranker's weights."""
    near = part.similarity(ranker)
    found = fit_semantic_space(
        near, part.asked(), part.keywords.rows, ranker.weights, SPACE_SHARPNESS / contrast(near), quick
    )
    images, dimensions = len(part.labelled.keywords), found.points.shape[1]
    coefficients, points = (np.zeros((images, dimensions), np.float32) for _ in range(2))
    coefficients[part.images], points[part.images] = found.coefficients, found.points
    return replace(found, coefficients=coefficients, points=points)


def fit_tagprop(part: Part, config: Config) -> WeightedSum:
    """TagProp's weights, learned once per part."""
    if "tagprop" not in part.fitted:
        part.fitted["tagprop"] = _fit_tagprop(part, config)
    return part.fitted["tagprop"]


def _fit_tagprop(part: Part, config: Config) -> WeightedSum:
    """Learned over neighbours pooled from all types: those with the best rank by any of them.

    Among equal ranks, which are read off at thresholds, the nearest by equal weights comes first.
    """
    labelled = part.labelled
    similarity = part.similarity(equally_weighted(part))
    finite = np.isfinite(similarity)
    nearest = reduce(np.minimum, (levels[part.rows[:, None], part.images] for levels in labelled.levels))
    low, high = similarity[finite].min(), similarity[finite].max()
    similarity = np.where(finite, (similarity - low) / max(high - low, 1e-9) * 0.99 - nearest, -np.inf)
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
    "jec_maximum": lambda part, config, _: [({}, equally_weighted_by_maximum(part))],
    "least_squares": lambda part, config, _: [({}, fit_combination("least_squares", part, config))],
    "lasso": lambda part, config, _: [({}, fit_combination("lasso", part, config))],
    "nw_rnn": lambda part, config, quick: fit_boosted(part, config, "none", quick),
    "rnn": lambda part, config, quick: fit_boosted(part, config, "pairs", quick),
    "drawn_rnn": lambda part, config, quick: fit_boosted(part, config, "draw", quick),
    "tagprop": lambda part, config, _: [({}, fit_tagprop(part, config))],
    "aligned": lambda part, config, _: fit_aligned(part, config),
    "margin": lambda part, config, _: [({}, fit_margin_weights(part, config))],
    "learned": lambda part, config, _: [({}, fit_learned(part))],
    "kcca": lambda part, config, quick: [({}, fit_space(part, equally_weighted(part), quick))],
    "kcca_tagprop": lambda part, config, quick: [({}, fit_space(part, fit_tagprop(part, config), quick))],
    "kcca_learned": lambda part, config, quick: [({}, fit_space(part, fit_learned(part), quick))],
}
"""Ranker -> how it is fitted to a part of the images, by the settings; quick : only to choose settings"""


def _only(labelled: Labelled, k: int) -> WeightedSum:
    weights = np.zeros(len(labelled.spread), np.float32)
    weights[k] = 1 / labelled.spread[k]
    return WeightedSum(weights)
