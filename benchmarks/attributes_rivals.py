"""The learners that the attributes benchmark compares RankMKL with and that take features, not kernels.

They are given GIST and colour in one vector, each of the two scaled to [0, 1] by training images. `rivals` measures
them all on one split, with C chosen by 5-fold cross-validation over training images. The local learners answer a sample
of the test pairs, since each answer needs its own model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attributes_data import LOCAL, Described
from kept_results import digest, source_digest, store_json
from rivals_linear_attributes import RelativeAttributes
from rivals_local_pair import LocalPair
from rivals_relative_tree import RelativeForest, RelativeTree

from mediarank.evaluation.pairs import listed_pair_accuracy
from mediarank.learners.pairwise.image_folds import deal_folds
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs
from mediarank.learners.pairwise.supervision import Supervision, supervise
from mediarank.similarity.unit_range import UnitRange
from mediarank.systems.attributes.report import pairs_in_order
from mediarank.types import Roles

SOURCES = (
    *(f"learners/pairwise/{name}.py" for name in ("ranksvm", "linear_ranksvm", "ordered_pairs", "supervision")),
    "similarity/kernels.py", "similarity/unit_range.py",
)  # fmt: skip
Vector = np.ndarray[Any, Any]
COSTS = (1e-3, 1e-2, 1e-1, 1.0)
LEARNERS: Mapping[str, Callable[[float], Any]] = {
    "linear": lambda C: RelativeAttributes(C=C, tol=1e-2),
    "relative_tree": lambda C: RelativeTree(C=C),
    "relative_forest": lambda C: RelativeForest(C=C, trees=20),
    "local_pair": lambda C: LocalPair(C=C),
    "fg_local_pair": lambda C: LocalPair(C=C, metric="itml"),
}
SAME_COST_AS = {"relative_forest": "relative_tree", "fg_local_pair": "local_pair"}
"""Learners built from another learner: they take its C, which saves most of the time."""
MAX_PAIRS = 50_000
ASKED = 10_000
"""Test pairs per attribute that local learners are asked about: a standard error of 0.3 points."""


def rivals(data: Described, roles: Roles, attributes: Sequence[str], kept: Path) -> dict[str, dict[str, float]]:
    """learner -> attribute -> % of test pairs in order. kept : the folder of what was measured before"""
    items, asked = roles.items("base"), roles.items("test")
    X, Z = gist_and_colour(data, items, asked)
    classes = data.labels.class_of
    folds = deal_folds([classes.get(item) for item in items], 5, 0, [data.group_of[item] for item in items])
    found: dict[str, dict[str, float]] = {name: {} for name in LEARNERS}
    known, questions = supervise(data.labels, items), supervise(data.labels, asked)
    sources = source_digest(SOURCES, *sorted(Path(__file__).parent.glob("*rivals*.py")))
    for attribute in attributes:
        pairs, equal = known[attribute].ordered(MAX_PAIRS), known[attribute].equal()
        key = digest(repr((attribute, items, asked, sources)).encode() + X.tobytes() + Z.tobytes())
        path = kept / f"rivals_{key}.json"
        measured: dict[str, list[float]] = json.loads(path.read_text()) if path.exists() else {}
        for name, make in LEARNERS.items():
            if name in measured:
                continue
            same = SAME_COST_AS.get(name)
            cost = measured[same][1] if same else chosen(make, X, known[attribute], folds)
            model = fitted(make(cost), X, pairs, equal)
            if isinstance(model, LocalPair):
                share = share_answered(model, Z, questions[attribute].ordered(ASKED))
            else:
                share = pairs_in_order(questions[attribute], model.predict(Z))
            measured[name] = [100 * share, cost]
            store_json(path, measured)
        for name, (share, _) in measured.items():
            found[name][attribute] = share
        print(f"C for {attribute}: { {name: cost for name, (_, cost) in measured.items()} }")
    return found


def gist_and_colour(data: Described, items: Sequence[str], asked: Sequence[str]) -> tuple[Vector, Vector]:
    known, unknown = ([data.features[name].rows(ids) for name in LOCAL] for ids in (items, asked))
    scaler = UnitRange.fit(known)
    return scaler.transform(known).astype(np.float64), scaler.transform(unknown).astype(np.float64)


def chosen(make: Callable[[float], Any], X: Vector, known: Supervision, folds: Vector) -> float:
    """The C that orders pairs of held-out images best, over 5 folds."""
    pairs, equal = known.ordered(MAX_PAIRS), known.equal()
    right = np.zeros(len(COSTS))
    for fold in np.unique(folds):
        learned, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        inside, asked = pairs.within(learned), pairs.within(held)
        if not len(inside) or not len(asked):
            continue
        tied = OrderedPairs(equal[:, 0], equal[:, 1], len(folds)).within(learned)
        same = np.stack([tied.stronger, tied.weaker], axis=1)
        for place, C in enumerate(COSTS):
            model = fitted(make(C), X[learned], inside, same)
            if isinstance(model, LocalPair):
                share = share_answered(model, X[held], asked)
            else:
                share = listed_pair_accuracy(model.predict(X[held]), asked.stronger, asked.weaker)
            right[place] += len(asked) * share
    return COSTS[int(right.argmax())]


def fitted(model: Any, X: Vector, pairs: OrderedPairs, equal: Vector) -> Any:
    return model.fit(X, pairs) if isinstance(model, RelativeTree | RelativeForest) else model.fit(X, pairs, equal)


def share_answered(model: LocalPair, Z: Vector, pairs: OrderedPairs) -> float:
    return float((model.margins(Z, pairs.stronger, pairs.weaker) > 0).mean())
