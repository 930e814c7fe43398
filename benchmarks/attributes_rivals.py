"""The learners that the attributes benchmark compares RankMKL with and that take features, not kernels.

Each is measured twice: on what its own paper gives it, GIST alone or GIST and colour (`linear`, `relative_tree`, …),
and on the five types that RankMKL has (`linear_five`, …). Types are joined in one vector, each scaled to [0, 1] by
training images. C, the tree's depth and which of the vectors is used are chosen by 5-fold cross-validation over
training images. The local learners answer a random sample of the test pairs, the same for both, since each answer needs
its own model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from attributes_data import SETS, Described
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
COSTS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
DEPTHS = (1, 2, 3)
LEARNERS: Mapping[str, Callable[..., Any]] = {
    "linear": partial(RelativeAttributes, tol=1e-2),
    "relative_tree": RelativeTree,
    "relative_forest": partial(RelativeForest, trees=20),
    "local_pair": LocalPair,
    "fg_local_pair": partial(LocalPair, metric="itml"),
}
SAME_CHOICE_AS = {"relative_forest": "relative_tree", "fg_local_pair": "local_pair"}
"""Learners built from another learner: they take its vector and settings, which saves most of the time."""
GIVEN: Mapping[str, Sequence[tuple[str, ...]]] = {
    "": (("gist_grey",), ("gist_grey", "colour")),
    "_five": (tuple(choice.feature for choice in SETS["five"]),),
}
"""The end of a row's name -> the vectors to choose from, as feature types."""
TYPES_USED = tuple(dict.fromkeys(name for vectors in GIVEN.values() for types in vectors for name in types))
MAX_PAIRS = 50_000
ASKED = 20_000
ASKED_SEED = 0
"""Test pairs per attribute that local learners are asked about, drawn at random."""
Rows = dict[str, dict[str, float]]


def rivals(data: Described, roles: Roles, attributes: Sequence[str], kept: Path) -> tuple[Rows, dict[str, Any]]:
    """row -> attribute -> % of test pairs in order; and what was chosen, with the standard errors of samples.

    kept : the folder of what was measured before
    """
    items, asked = roles.items("base"), roles.items("test")
    vectors = {types: joined(data, types, items, asked) for given in GIVEN.values() for types in given}
    classes = data.labels.class_of
    folds = deal_folds([classes.get(item) for item in items], 5, 0, [data.group_of[item] for item in items])
    known, questions = supervise(data.labels, items), supervise(data.labels, asked)
    sources = source_digest(SOURCES, *sorted(Path(__file__).parent.glob("*rivals*.py")))
    described = digest(b"".join(X.tobytes() + Z.tobytes() for X, Z in vectors.values()))
    found: Rows = {name + end: {} for end, name in product(GIVEN, LEARNERS)}
    details: dict[str, Any] = {row: {} for row in found}
    for attribute in attributes:
        path = kept / f"rivals_{digest(repr((attribute, items, asked, sources, described)).encode())}.json"
        measured: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}
        for end, name in product(GIVEN, LEARNERS):
            if name + end not in measured:
                same = SAME_CHOICE_AS.get(name)
                if same:
                    choice = {key: measured[same + end][key] for key in ("types", "settings")}
                else:
                    choice = chosen(name, end, vectors, known[attribute], folds)
                measured[name + end] = tested(name, choice, vectors, known[attribute], questions[attribute])
                store_json(path, measured)
                print(f"{attribute}, {name + end}: {measured[name + end]}")
        for row in found:
            found[row][attribute] = measured[row].pop("accuracy")
            details[row][attribute] = measured[row]
    return found, details


def joined(data: Described, types: Sequence[str], items: Sequence[str], asked: Sequence[str]) -> tuple[Vector, Vector]:
    """Training and test items by these types in one vector, with one scale per type."""
    known, unknown = ([data.features[name].rows(ids) for name in types] for ids in (items, asked))
    scaler = UnitRange.fit(known)
    return scaler.transform(known).astype(np.float64), scaler.transform(unknown).astype(np.float64)


def chosen(
    name: str,
    end: str,
    vectors: Mapping[tuple[str, ...], tuple[Vector, Vector]],
    known: Supervision,
    folds: Vector,
) -> dict[str, Any]:
    """The vector and settings that order most pairs of held-out images, over 5 folds, and the share of them."""
    tried, shares = [], []
    for types, further in product(GIVEN[end], [{"depth": depth} for depth in DEPTHS] if "tree" in name else [{}]):
        tried += [(types, {"C": C, **further}) for C in COSTS]
        shares += held_out_shares(partial(LEARNERS[name], **further), vectors[types][0], known, folds).tolist()
    types, settings = tried[int(np.argmax(shares))]
    return {"types": list(types), "settings": settings, "held_out": round(100 * max(shares), 2)}


def held_out_shares(make: Callable[..., Any], X: Vector, known: Supervision, folds: Vector) -> Vector:
    """By C, the share of pairs of held-out images in order; 0 where no pair can be held out."""
    pairs, equal = known.ordered(MAX_PAIRS), known.equal()
    right, total = np.zeros(len(COSTS)), 0
    for fold in np.unique(folds):
        learned, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        inside, asked = pairs.within(learned), pairs.within(held)
        if not len(inside) or not len(asked):
            continue
        tied = OrderedPairs(equal[:, 0], equal[:, 1], len(folds)).within(learned)
        given = X[learned], inside, np.stack([tied.stronger, tied.weaker], axis=1)
        if isinstance(make(), LocalPair):
            margins = fit(make(), *given).margins_by_cost(X[held], asked.stronger, asked.weaker, COSTS)
            shares = share_positive(margins)
        else:
            scores = [fit(make(C=C), *given).predict(X[held]) for C in COSTS]
            shares = np.array([listed_pair_accuracy(own, asked.stronger, asked.weaker) for own in scores])
        right += len(asked) * shares
        total += len(asked)
    return right / max(total, 1)


def tested(
    name: str,
    choice: Mapping[str, Any],
    vectors: Mapping[tuple[str, ...], tuple[Vector, Vector]],
    known: Supervision,
    questions: Supervision,
) -> dict[str, Any]:
    """% of test pairs in order by the learner with its choice; of a sample, the standard error too, in points."""
    X, Z = vectors[tuple(choice["types"])]
    model = fit(LEARNERS[name](**choice["settings"]), X, known.ordered(MAX_PAIRS), known.equal())
    if not isinstance(model, LocalPair):
        return {"accuracy": 100 * pairs_in_order(questions, model.predict(Z)), **choice}
    sample, total = questions.ordered(ASKED, ASKED_SEED), len(questions.ordered())
    share = float(share_positive(model.margins(Z, sample.stronger, sample.weaker)))
    error = 100 * (share * (1 - share) / len(sample) * (1 - len(sample) / total)) ** 0.5
    sampled = {"pairs": len(sample), "of": total, "seed": ASKED_SEED, "standard_error": round(error, 2)}
    return {"accuracy": 100 * share, **choice, **sampled}


def fit(model: Any, X: Vector, pairs: OrderedPairs, equal: Vector) -> Any:
    return model.fit(X, pairs) if isinstance(model, RelativeTree | RelativeForest) else model.fit(X, pairs, equal)


def share_positive(margins: Vector) -> Vector:
    """The share of positive margins by column; a margin of 0 is half right, as for learners that give scores."""
    return np.asarray(((margins > 0) + 0.5 * (margins == 0)).mean(axis=0))
