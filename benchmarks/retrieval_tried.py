"""Ideas that were tried on top of OPAR-II and not kept, by the mAP of a fold's validation queries.

hard      negatives are drawn from the first 100 irrelevant items of Uni-Con's ranking, for half of the triplets or all
local     from the score of an item, the mean of its ten best scores with 400 other items is taken (once, or half of
          it): items that are near everything lose
expansion the mean score with the first results counts as much as the score with the query

No test item is looked at, and nothing is chosen here: every setting is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from retrieval_protocol import Prepared, Protocol, judged
from retrieval_results import FoldRows, Row

from mediarank.learners.pairwise.phi_rankers import fit_all
from mediarank.learners.pairwise.triplets import DrawnPairs, draw_pairs
from mediarank.similarity.nearest import top
from mediarank.similarity.phi import weighted_phi
from mediarank.similarity.scaling import PhiScaler
from mediarank.systems.retrieval.collection import Collection
from mediarank.types import Floats

HARD, HARD_SHARES = 100, (0.5, 1.0)
REFERENCES, BEST, LOCAL_SHARES = 400, 10, (0.5, 1.0)
RESULTS = (1, 5)
INSTANCES = 50_000


def run_tried(prepared: Prepared, protocol: Protocol) -> FoldRows:
    """One row per idea and setting, next to plain OPAR-II."""
    learning = prepared.collection.restricted_to(prepared.training)
    known = prepared.collection.restricted_to(prepared.validation.items)
    rng = np.random.default_rng([protocol.seed, prepared.fold, 4])
    names = [learning.classes[item] for item in learning.items]
    drawn = draw_pairs(names, min(INSTANCES, protocol.instances), rng, protocol.negatives)
    plain = fit_all({"opar2": None}, learning.triplets(drawn, prepared.scaler), prepared.validation)["opar2"]
    found = {"opar2": plain.validation_map}
    for share in HARD_SHARES:
        triplets = learning.triplets(hard_negatives(learning, drawn, prepared.scaler, share, rng), prepared.scaler)
        found[f"hard {share:.0%}"] = fit_all({"opar2": None}, triplets, prepared.validation)["opar2"].validation_map
    weights = plain.ranker.ranking_weights
    scores = np.asarray(prepared.validation.phi @ weights, np.float32)
    crowd = crowding(known, prepared.scaler, weights, rng)
    for share in LOCAL_SHARES:
        found[f"local {share:.0%}"] = judged(prepared.validation, scores - np.float32(share) * crowd)
    for count in RESULTS:
        queries = prepared.validation.queries
        wider = expanded(known, prepared.scaler, weights, queries, scores, count)
        found[f"expansion by {count}"] = judged(prepared.validation, wider)
    rows = [Row("tried", method, [], value) for method, value in found.items()]
    return FoldRows(prepared.fold, [], rows, {"validation_map": found})


def hard_negatives(
    learning: Collection, drawn: DrawnPairs, scaler: PhiScaler, share: float, rng: np.random.Generator
) -> DrawnPairs:
    """The same pairs, with a share of the irrelevant items drawn from those that look most like the query."""
    classes = np.array([learning.classes[item] for item in learning.items])
    item = drawn.item.copy()
    bounds = np.flatnonzero(np.diff(drawn.visit, prepend=-1, append=drawn.visit[-1] + 1))
    for start, stop in pairwise(bounds.tolist()):
        query = int(drawn.query[start])
        scores = _scores(learning, query, scaler, np.ones(len(scaler.mean), np.float32))
        scores[classes == classes[query]] = -np.inf
        nearest = top(scores, min(HARD, int(np.isfinite(scores).sum())))
        rows = start + np.flatnonzero(~drawn.relevant[start:stop])
        rows = rows[rng.random(len(rows)) < share]
        item[rows] = rng.choice(nearest, len(rows))
    return replace(drawn, item=item)


def crowding(known: Collection, scaler: PhiScaler, weights: Floats, rng: np.random.Generator) -> Floats:
    """(items,) the mean of each item's best scores with a sample of the others."""
    sample = rng.permutation(len(known.items))[:REFERENCES]
    scores = np.stack([_scores(known, int(place), scaler, weights) for place in sample])
    scores[np.arange(len(sample)), sample] = -np.inf  # an item is not its own neighbour
    best = min(BEST, len(sample) - 1)
    return np.asarray(np.sort(scores, axis=0)[-best:].mean(axis=0), np.float32)


def expanded(
    known: Collection, scaler: PhiScaler, weights: Floats, queries: Sequence[str], scores: Floats, count: int
) -> Floats:
    """Scores (queries, items) to which those of the first results as queries are added."""
    found = scores.copy()
    kept: dict[int, Floats] = {}
    for k, query in enumerate(queries):
        own = scores[k].copy()
        own[known.position[query]] = -np.inf
        first = [int(place) for place in top(own, count)]
        for place in first:
            if place not in kept:
                kept[place] = _scores(known, place, scaler, weights)
        found[k] += np.mean([kept[place] for place in first], axis=0, dtype=np.float32)
    return found


def _scores(collection: Collection, place: int, scaler: PhiScaler, weights: Floats) -> Floats:
    """Of one item as a query and all items, by weights of scaled φ."""
    unscaled, offset = scaler.unscaled(weights)
    return weighted_phi([rows[place] for rows in collection.rows], collection.rows, unscaled, offset)
