"""`retrieval`: what looks like this one? (paper 003)

φ(q, p) holds a similarity a feature type and measure; a ranker is one weight vector over it. Here are the paper's two
baselines: Uni-Con adds all of φ up, Best-Fea takes the dimension that ranks the validation queries best.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from mediarank.evaluation.measured import EvaluationConfig, Measured, measure_rankings
from mediarank.evaluation.metrics import mean_over_queries
from mediarank.evaluation.metrics import measure as measure_metric
from mediarank.evaluation.protocols import rank_methods
from mediarank.evaluation.ranking_section import Thumbnail, ranking_section
from mediarank.evaluation.report import Section
from mediarank.similarity.phi import SIMILARITIES
from mediarank.similarity.scaling import PhiScaler, fit_scaler, phi_over_types
from mediarank.systems.contract import Inputs, Outcome
from mediarank.types import DataError, FeatureMatrix, Floats, Judgments, Labels


@dataclass(frozen=True)
class RetrievalConfig:
    """features : the types φ is made of; scaling_pairs : training pairs that scale it"""

    features: tuple[str, ...] = ("lab_histogram", "hog")
    scaling_pairs: Annotated[int, Field(gt=0)] = 20_000
    seed: int = 7
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


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
            raise DataError("retrieval needs items with a class and all of its feature types; there are none.")
        return cls(items, classes, tuple(matrix.rows(items) for matrix in matrices))

    def restricted_to(self, items: Sequence[str]) -> Collection:
        position = {item: k for k, item in enumerate(self.items)}
        order = [position[item] for item in items]
        return Collection(tuple(items), self.classes, tuple(rows[order] for rows in self.rows))

    def scaled_phi(self, queries: Sequence[str], scaler: PhiScaler) -> Iterator[Floats]:
        """For each query its scaled φ to every item."""
        position = {item: k for k, item in enumerate(self.items)}
        for query in queries:
            yield scaler.apply(phi_over_types([rows[position[query]] for rows in self.rows], self.rows))

    def scores(
        self, queries: Sequence[str], scaler: PhiScaler, weights: Mapping[str, Floats]
    ) -> dict[str, FeatureMatrix]:
        """method -> queries × items; the query's own column is there, and evaluation leaves it out."""
        vectors = np.stack(list(weights.values()), axis=1)
        values = np.empty((len(queries), len(self.items), len(weights)), np.float32)
        for k, phi in enumerate(self.scaled_phi(queries, scaler)):
            values[k] = phi @ vectors
        ids = np.array(queries, dtype=str)
        return {m: FeatureMatrix(ids, self.items, np.ascontiguousarray(values[..., k])) for k, m in enumerate(weights)}


def run(inputs: Inputs, config: RetrievalConfig) -> Outcome:
    """Scale φ on `base`, choose on `valid` (or `rank`), rank the whole collection for every `test` query."""
    collection = Collection.of(inputs, config.features)
    names = tuple(f"{feature}/{similarity}" for feature in config.features for similarity in SIMILARITIES)
    scaler = _fit_scaler(collection, inputs, config)
    best = np.zeros(len(names), np.float32)
    best[_best_dimension(collection, inputs, scaler)] = 1
    weights = {"best_fea": best, "uni_con": np.full(len(names), 1 / len(names), np.float32)}
    return Outcome(
        arrays={"mean": scaler.mean, "deviation": scaler.deviation, **weights},
        facts={"phi": list(names), "methods": list(weights), "best_fea": names[int(np.argmax(best))]},
        scores=collection.scores(_with_role(inputs, collection.items, "test"), scaler, weights),
    )


def measure(scores: Mapping[str, FeatureMatrix], labels: Labels, config: EvaluationConfig) -> Measured:
    return measure_rankings(scores, _judgments(scores, labels), config)


def section(
    scores: Mapping[str, FeatureMatrix], measured: Measured, labels: Labels, thumbnail: Thumbnail, results: int
) -> Section:
    return ranking_section(
        "Retrieval",
        "What looks like this one?",
        measured.summary,
        measured.per_query,
        measured.curves,
        scores,
        _judgments(scores, labels),
        thumbnail,
        groups=labels.class_of,
        depth=results,
        intro=["Each test item is a query against the whole collection; items of its own class are relevant."],
    )


def _judgments(scores: Mapping[str, FeatureMatrix], labels: Labels) -> Judgments:
    """An item is relevant to a query of its own class."""
    first, classes = next(iter(scores.values())), labels.class_of
    return Judgments.from_classes({item: classes[item] for item in first.names}, first.ids.tolist())


def _fit_scaler(collection: Collection, inputs: Inputs, config: RetrievalConfig) -> PhiScaler:
    base = _with_role(inputs, collection.items, "base")
    if len(base) < 2:
        raise DataError(f"retrieval scales φ on items of role base with a class; it needs 2, there are {len(base)}.")
    return fit_scaler(collection.restricted_to(base).rows, config.scaling_pairs, np.random.default_rng(config.seed))


def _best_dimension(collection: Collection, inputs: Inputs, scaler: PhiScaler) -> int:
    """The dimension of φ with the highest mAP over validation queries, ranked among items that are not for testing."""
    queries = _with_role(inputs, collection.items, "valid") or _with_role(inputs, collection.items, "rank")
    if not queries:
        raise DataError("Best-Fea is chosen on items of role valid or rank with a class; there are none.")
    pool = collection.restricted_to(_with_role(inputs, collection.items, "base", "rank", "valid"))
    dimensions = {str(k): axis for k, axis in enumerate(np.eye(len(scaler.mean), dtype=np.float32))}
    judgments = Judgments.from_classes({item: pool.classes[item] for item in pool.items}, queries)
    ranked = rank_methods(pool.scores(queries, scaler, dimensions), judgments)
    return int(np.nanargmax([mean_over_queries(measure_metric(ranks, "ap"))[0] for ranks in ranked.values()]))


def _with_role(inputs: Inputs, items: Sequence[str], *roles: str) -> list[str]:
    allowed = set(inputs.roles.items(*roles))
    return [item for item in items if item in allowed]
