"""`retrieval`: what looks like this one? (paper 003)

φ(q, p) holds a similarity a feature type and measure; a ranker is learned over it from triplets. First the
configuration, then the collection as φ sees it, then the fitting of all methods and the system's entrance, `run`.
Around it: `retrieval_report` (how well it does, and how that is shown), `retrieval_protocol` (section 5 of the paper),
`retrieval_online` (its simulation of a live system) and `retrieval_search` (the live system itself).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from mediarank.learners.pairwise.phi_rankers import RANKERS, Fitted, Validation, fit_best
from mediarank.learners.pairwise.triplets import DrawnPairs, Triplets, draw_pairs
from mediarank.similarity.phi import SIMILARITIES, phi_over_types
from mediarank.similarity.scaling import PhiScaler, fit_scaler
from mediarank.systems.contract import Inputs, Outcome
from mediarank.types import ConfigError, DataError, FeatureMatrix, Floats, NotApplicable

Count = Annotated[int, Field(gt=0)]


@dataclass(frozen=True)
class RetrievalConfig:
    """features : the types φ is made of; methods : rankers to fit, see
    `learners/pairwise/phi_rankers.py`
    scaling_pairs : training pairs that scale φ; instances : triplets to learn from; negatives : of each relevant item
    validation_queries : by which parameters are chosen, at most
    """

    features: tuple[str, ...] = ("lab_histogram", "hog")
    methods: tuple[str, ...] = ("best_fea", "uni_con", "ranksvm", "opr", "opar1", "opar2", "ogdr", "arow", "scw")
    scaling_pairs: Count = 20_000
    instances: Count = 50_000
    negatives: Count = 3
    validation_queries: Count = 100
    seed: int = 7
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        unknown = [method for method in self.methods if method not in RANKERS]
        if unknown or not self.methods:
            raise ConfigError(
                f"systems.retrieval.methods: {', '.join(unknown) or 'none'}; choose of {', '.join(RANKERS)}."
            )


Config = RetrievalConfig


@dataclass(frozen=True)
class Collection:
    """The items that can be searched: those with a class and all feature types.

    rows : a matrix a feature type, its rows in the order of `items`
    """

    items: tuple[str, ...]
    classes: Mapping[str, str]
    rows: tuple[Floats, ...]

    @classmethod
    def of(cls, inputs: Inputs, features: Sequence[str]) -> Collection:
        matrices = [inputs.feature(name) for name in features]
        classes = inputs.labels.class_of
        items = tuple(sorted(item for item in classes if all(item in matrix for matrix in matrices)))
        if not items:
            raise NotApplicable("retrieval needs items with a class and all of its feature types; there are none.")
        return cls(items, {item: classes[item] for item in items}, tuple(matrix.rows(items) for matrix in matrices))

    @cached_property
    def position(self) -> dict[str, int]:
        return {item: k for k, item in enumerate(self.items)}

    def restricted_to(self, items: Sequence[str]) -> Collection:
        order = [self.position[item] for item in items]
        return Collection(
            tuple(items), {item: self.classes[item] for item in items}, tuple(rows[order] for rows in self.rows)
        )

    def query(self, item: str) -> list[Floats]:
        """The item's vectors, one a feature type."""
        return [rows[self.position[item]] for rows in self.rows]

    def scaled_phi(self, query: str, scaler: PhiScaler) -> Floats:
        """Scaled φ of the query and every item, (items, d)."""
        return scaler.apply(phi_over_types(self.query(query), self.rows))

    def triplets(self, drawn: DrawnPairs, scaler: PhiScaler) -> Triplets:
        """φ of the drawn pairs, whose positions are of this collection's items."""
        d = len(SIMILARITIES) * len(self.rows)
        values = np.empty((len(drawn.query), d), dtype=np.float32)
        bounds = np.flatnonzero(np.diff(drawn.visit, prepend=-1, append=drawn.visit[-1] + 1))
        for start, stop in pairwise(bounds.tolist()):
            query = drawn.query[start]
            pairs = drawn.item[start:stop]
            phi = phi_over_types([rows[query] for rows in self.rows], [rows[pairs] for rows in self.rows])
            values[start:stop] = scaler.apply(phi)
        return Triplets(values, drawn.visit, drawn.relevant, drawn.better, drawn.worse)

    def validation(self, queries: Sequence[str], scaler: PhiScaler) -> Validation:
        """φ of the queries, which are among the items, and every item."""
        phi = np.stack([self.scaled_phi(query, scaler) for query in queries])
        return Validation.of_classes(self.classes, queries, phi)

    def scores(self, queries: Sequence[str], scaler: PhiScaler, rankers: Mapping[str, Any]) -> dict[str, FeatureMatrix]:
        """method -> queries × items; the query's own column is there, and evaluation leaves it out."""
        values = {method: np.empty((len(queries), len(self.items)), np.float32) for method in rankers}
        for k, query in enumerate(queries):
            phi = self.scaled_phi(query, scaler)
            for method, ranker in rankers.items():
                values[method][k] = ranker.predict(phi)
        ids = np.array(queries, dtype=str)
        return {method: FeatureMatrix(ids, self.items, matrix) for method, matrix in values.items()}


def phi_names(features: Sequence[str]) -> list[str]:
    return [f"{feature}/{similarity}" for feature in features for similarity in SIMILARITIES]


def run(inputs: Inputs, config: RetrievalConfig) -> Outcome:
    """Scale φ on `base`, learn on `base` and `rank`, choose on `valid`; rank everything for every `test` query.

    Without `valid` items the choice is made on `rank`, and learning is left to `base` then.
    """
    collection = Collection.of(inputs, config.features)
    base, rank, valid, test = (_with_role(inputs, collection.items, role) for role in ("base", "rank", "valid", "test"))
    if len(base) < 2:
        raise DataError(f"retrieval scales φ on items of role base with a class; it needs 2, there are {len(base)}.")
    if not (valid or rank):
        raise DataError("retrieval chooses on items of role valid or rank with a class; there are none.")
    learning, choosing = (sorted({*base, *rank}), valid) if valid else (base, rank)
    test, choosing = (inputs.labels.queries_among(items) for items in (test, choosing))
    scaler = fit_scaler(
        collection.restricted_to(base).rows, config.scaling_pairs, np.random.default_rng([config.seed, 0])
    )
    pool = collection.restricted_to(sorted({*base, *rank, *valid}))
    fitted = fit_methods(collection.restricted_to(learning), pool, choosing, scaler, config)
    names = phi_names(config.features)
    facts: dict[str, Any] = {"phi": names, "features": list(config.features), "methods": {}}
    for method, found in fitted.items():
        facts["methods"][method] = {"parameters": dict(found.parameters), "validation_map": found.validation_map}
    if "best_fea" in fitted:
        facts["best_fea"] = names[int(fitted["best_fea"].parameters["name"])]
    arrays = {name: array for method, found in fitted.items() for name, array in found.arrays(method).items()}
    return Outcome(
        arrays={"mean": scaler.mean, "deviation": scaler.deviation, **arrays},
        facts=facts,
        scores=collection.scores(test, scaler, {method: found.ranker for method, found in fitted.items()}),
    )


def fit_methods(
    learning: Collection, pool: Collection, choosing: Sequence[str], scaler: PhiScaler, config: RetrievalConfig
) -> dict[str, Fitted]:
    """Every configured method, learned from triplets of `learning` and chosen by queries among the items of `pool`."""
    classes = [learning.classes[item] for item in learning.items]
    drawn = draw_pairs(classes, config.instances, np.random.default_rng([config.seed, 1]), config.negatives)
    triplets = learning.triplets(drawn, scaler)
    asked = np.random.default_rng([config.seed, 2]).permutation(choosing)[: config.validation_queries]
    validation = pool.validation(sorted(asked.tolist()), scaler)
    return {method: fit_best(method, triplets, validation) for method in config.methods}


def _with_role(inputs: Inputs, items: Sequence[str], *roles: str) -> list[str]:
    allowed = set(inputs.roles.items(*roles))
    return [item for item in items if item in allowed]
