"""Paper 003, section 5.4, on real features: table 3 (training time), figure 2 (a million distractors) and shortlists.

A distractor takes each feature type from one of two real pictures of different classes, drawn from the fold's training
items: every vector is that of a real picture, only their combination is new. For a query, distractors with a part of
its own class are left out, since they would be half relevant. So φ of a query and a million distractors follows from
φ of the query and the real pictures, exactly and without a million vectors in memory.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from retrieval_protocol import Prepared, Protocol
from retrieval_results import FoldRows, Row

from mediarank.evaluation.ranks import ranking
from mediarank.learners.pairwise.phi_rankers import fit_all
from mediarank.learners.pairwise.triplets import draw_pairs
from mediarank.similarity.nearest import top
from mediarank.similarity.phi import SIMILARITIES, phi_over_types
from mediarank.similarity.shortlist import Shortlist, recall
from mediarank.systems.retrieval.collection import Collection
from mediarank.types import Floats

METHODS = ("best_fea", "uni_con", "ranksvm", "opr", "opar1", "opar2", "ogdr")
"""Those of figure 2."""
WIDTH = len(SIMILARITIES)


@dataclass(frozen=True)
class Distractors:
    """parts (count, types) : the picture that each type is taken from; classes (count, 2) : of the two pictures"""

    parts: npt.NDArray[np.int32]
    classes: npt.NDArray[np.int32]


def draw_distractors(labels: npt.NDArray[np.int32], count: int, types: int, rng: np.random.Generator) -> Distractors:
    """labels : the class of every picture, as numbers; there must be two classes"""
    first = rng.integers(len(labels), size=count)
    second = rng.integers(len(labels), size=count)
    while (same := np.flatnonzero(labels[first] == labels[second])).size:
        second[same] = rng.integers(len(labels), size=same.size)
    coins = rng.random((count, types)) < 0.5
    parts = np.where(coins, first[:, None], second[:, None]).astype(np.int32)
    return Distractors(parts, np.stack([labels[first], labels[second]], axis=1).astype(np.int32))


def run_large(prepared: Prepared, protocol: Protocol, instances: int, count: int) -> tuple[FoldRows, dict[str, Floats]]:
    """mAP of the linear methods with and without distractors and the seconds of training; weights of unscaled φ.

    Parameters are chosen with the fold's own triplets; then each method is fitted once to so many `instances`.
    """
    collection = prepared.collection
    learning = collection.restricted_to(prepared.training)
    rng = np.random.default_rng([protocol.seed, prepared.fold, 3])
    names = [learning.classes[item] for item in learning.items]
    triplets = learning.triplets(draw_pairs(names, instances, rng, protocol.negatives), prepared.scaler)
    triplets.differences  # noqa: B018  # made outside the time
    fitted = {}
    for method in METHODS:
        chosen = fit_all({method: None}, prepared.triplets, prepared.validation)[method]
        fitted |= fit_all({method: [chosen.ranker]}, triplets, prepared.validation)
    weights = np.stack([found.ranker.ranking_weights for found in fitted.values()]).astype(np.float32)
    code = {name: k for k, name in enumerate(sorted(set(collection.classes.values())))}
    own = np.array([code[collection.classes[item]] for item in collection.items], np.int32)
    places = np.array([collection.position[item] for item in prepared.training])
    drawn = draw_distractors(own[places], count, len(prepared.types), rng)
    asked = list(prepared.test)
    found = np.array([_precisions(prepared, weights, item, own, places, drawn) for item in asked])
    rows = []
    for place, variant in enumerate(("plain", "distractors")):
        rows += [
            Row(variant, method, found[:, place, k].tolist(), chosen.validation_map, chosen.seconds)
            for k, (method, chosen) in enumerate(fitted.items())
        ]
    unscaled = {m: prepared.scaler.unscaled(c.ranker.ranking_weights)[0] for m, c in fitted.items()}
    return FoldRows(prepared.fold, asked, rows, {"instances": len(triplets), "distractors": count}), unscaled


def _precisions(
    prepared: Prepared,
    weights: Floats,
    query: str,
    own: npt.NDArray[np.int32],
    places: npt.NDArray[Any],
    drawn: Distractors,
) -> npt.NDArray[np.float64]:
    """(2, methods) average precision of one query, without and with distractors."""
    phi = prepared.collection.scaled_phi(query, prepared.scaler)
    place = prepared.collection.position[query]
    by_type = phi.reshape(len(phi), -1, WIDTH)
    found = np.empty((2, len(weights)))
    for k, vector in enumerate(weights):
        parts = np.ascontiguousarray(np.einsum("itw,tw->ti", by_type, vector.reshape(-1, WIDTH)))
        scores = np.delete(parts.sum(axis=0, dtype=np.float64), place)
        relevant = np.delete(own == own[place], place)
        order = ranking(np.arange(len(scores)), scores)
        ranks = np.flatnonzero(relevant[order]) + 1
        bounds = np.sort(scores[relevant])[::-1]
        above = count_above(np.ascontiguousarray(parts[:, places]), drawn.parts, drawn.classes, own[place], -bounds)
        seen = np.arange(1, len(ranks) + 1)
        found[0, k] = (seen / ranks).mean()
        found[1, k] = (seen / (ranks + above)).mean()
    return found


@njit(cache=True)
def count_above(by_type: Any, parts: Any, classes: Any, own: int, falling: Any) -> Any:
    """How many distractors score above each bound. falling : the bounds from high to low, with their sign changed"""
    counts = np.zeros(len(falling) + 1, np.int64)
    for i in range(parts.shape[0]):
        if classes[i, 0] == own or classes[i, 1] == own:
            continue
        score = 0.0
        for t in range(parts.shape[1]):
            score += by_type[t, parts[i, t]]
        counts[np.searchsorted(falling, -score, side="right")] += 1  # the first bound below the score
    return np.cumsum(counts)[: len(falling)]


def shortlist_recall(
    collection: Collection, weights: Mapping[str, Floats], drawn: Distractors, source: Sequence[int], folder: Path
) -> dict[str, float]:
    """method -> share of the exact first 50 that a shortlist of 2,500 finds, in a collection with distractors.

    weights : of unscaled φ; source : the places of the pictures that the distractors' parts come from
    """
    matrices = []
    pictures = np.asarray(source)
    for k, rows in enumerate(collection.rows):
        path = folder / f"{k}.npy"
        count = len(rows) + len(drawn.parts)
        kept = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(count, rows.shape[1]))
        kept[: len(rows)] = rows
        for start in range(0, len(drawn.parts), 4096):
            block = drawn.parts[start : start + 4096, k]
            kept[len(rows) + start : len(rows) + start + len(block)] = rows[pictures[block]]
        kept.flush()
        matrices.append(np.load(path, mmap_mode="r"))
    started = time.perf_counter()
    shortlist = Shortlist.build(matrices)
    print(f"shortlist over {len(matrices[0])} items: built in {time.perf_counter() - started:.0f} s", flush=True)
    shares: dict[str, list[float]] = {method: [] for method in weights}
    for place in np.linspace(0, len(collection.items) - 1, 20).astype(int):
        queries = [np.array(rows[place]) for rows in collection.rows]
        phi, candidates = phi_over_types(queries, matrices), shortlist.candidates(queries, 2500)
        for method, vector in weights.items():
            shares[method].append(recall(top(phi @ vector, 50), candidates))
    return {method: round(float(np.mean(found)), 4) for method, found in shares.items()}
