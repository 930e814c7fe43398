"""The fitted annotation system: labelled images, and for every method a ranker of neighbours and a rule to hear them.

`AnnotationModel` scores words for new images from their vectors: one pass of distances to all labelled images, then
every method from the same distances. `to_arrays` and `of_arrays` keep it as npz and JSON. `needs`, `method` and
`serve` make it a served model: the method whose suggestions fitted held-out training images best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from mediarank.learners.neighbours.keyword_scores import Listening
from mediarank.learners.neighbours.keywords import Keywords
from mediarank.learners.neighbours.neighbour_rankers import BoostedOrder, NeighbourRanker, WeightedSum
from mediarank.similarity.distance_stack import stack_distances
from mediarank.types import ConfigError, DataError, FeatureMatrix, Floats, shared_items

NUMBERS: Final = ("k", "per_word", "sharpness", "scale", "power")
LEARNED: Final = ("means", "units", "slopes", "offsets", "coefficients")
"""What of a `Listening` is kept as JSON and as arrays."""
BLOCK: Final = 128
"""New images compared with the labelled ones at a time."""


@dataclass(frozen=True, eq=False)
class AnnotationModel:
    """features, measures : the types that images are compared by, and the distance of each
    items, keywords : the labelled images
    rankers, listening : of each method; validation : its F1 on held-out training images
    """

    features: tuple[str, ...]
    measures: tuple[str, ...]
    items: tuple[str, ...]
    keywords: Keywords
    rankers: Mapping[str, NeighbourRanker]
    listening: Mapping[str, Listening]
    validation: Mapping[str, float]

    @property
    def best(self) -> str:
        """The method with the highest F1 in cross-validation; the first of several."""
        return max(self.validation, key=lambda method: self.validation[method])

    def scores(
        self,
        queries: Sequence[Floats],
        known: Sequence[Floats],
        methods: Sequence[str] | None = None,
        names: Sequence[str] = (),
    ) -> dict[str, Floats]:
        """method -> (images, words). queries[k] : (images, d_k); known[k] : the labelled images' vectors, (n, d_k)

        names : of the queries; one that is a labelled image itself is not asked about itself
        """
        wanted = tuple(self.rankers) if methods is None else tuple(methods)
        unknown = [method for method in wanted if method not in self.rankers]
        if unknown:
            raise ConfigError(f"The model has no method {', '.join(unknown)}; it has {', '.join(self.rankers)}.")
        count = len(queries[0])
        place = {item: number for number, item in enumerate(self.items)}
        selves = [(k, place[name]) for k, name in enumerate(names) if name in place]
        out = {method: np.empty((count, len(self.keywords.words)), np.float32) for method in wanted}
        for start in range(0, count, BLOCK):
            rows = slice(start, start + BLOCK)
            stack = stack_distances([part[rows] for part in queries], known, self.measures)
            similar: dict[int, Floats] = {}  # methods may share a ranker
            for method in wanted:
                ranker = self.rankers[method]
                if id(ranker) not in similar:
                    similar[id(ranker)] = ranker.similarity(stack)
                    for k, image in selves:
                        if rows.start <= k < rows.stop:
                            similar[id(ranker)][k - rows.start, image] = -np.inf
                out[method][rows] = self.listening[method].hear(similar[id(ranker)], self.keywords)
        return out

    def to_arrays(self) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
        """Methods that share a ranker keep it once, under the first one's name."""
        starts, words = self.keywords.by_image
        arrays: dict[str, np.ndarray[Any, Any]] = {"keyword_starts": starts, "keywords": words}
        keeper: dict[int, str] = {}
        methods = {}
        for method, ranker in self.rankers.items():
            name = keeper.setdefault(id(ranker), method)
            if isinstance(ranker, BoostedOrder):
                arrays |= {f"{name}.tables": ranker.tables, f"{name}.thresholds": ranker.thresholds}
            else:
                arrays[f"{name}.weights"] = ranker.weights
            listening = self.listening[method]
            arrays |= {f"{method}.{key}": array for key, array in listening.arrays().items()}
            methods[method] = {
                "ranker": name,
                "rule": listening.rule,
                **listening.numbers(),
                "validation_f1": self.validation[method],
            }
        facts = {
            "features": list(self.features),
            "distances": list(self.measures),
            "items": list(self.items),
            "words": list(self.keywords.words),
            "methods": methods,
        }
        return arrays, facts

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, np.ndarray[Any, Any]], facts: Mapping[str, Any]) -> AnnotationModel:
        words = tuple(facts["words"])
        rows = np.zeros((len(facts["items"]), len(words)), np.float32)
        starts = arrays["keyword_starts"]
        rows[np.repeat(np.arange(len(rows)), np.diff(starts)), arrays["keywords"]] = 1
        kept: dict[str, NeighbourRanker] = {}  # in JSON methods come in any order, a sharer before the keeper
        for name in {found["ranker"] for found in facts["methods"].values()}:
            if f"{name}.tables" in arrays:
                kept[name] = BoostedOrder(arrays[f"{name}.tables"], arrays[f"{name}.thresholds"])
            else:
                kept[name] = WeightedSum(arrays[f"{name}.weights"])
        rankers = {method: kept[found["ranker"]] for method, found in facts["methods"].items()}
        listening = {}
        for method, found in facts["methods"].items():
            numbers: dict[str, Any] = {key: found[key] for key in NUMBERS if key in found}
            numbers |= {key: arrays[f"{method}.{key}"] for key in LEARNED if f"{method}.{key}" in arrays}
            listening[method] = Listening(found["rule"], **numbers)
        validation = {method: found["validation_f1"] for method, found in facts["methods"].items()}
        features, measures, items = (tuple(facts[name]) for name in ("features", "distances", "items"))
        return cls(features, measures, items, Keywords(words, rows), rankers, listening, validation)


@dataclass(frozen=True, eq=False)
class ServedAnnotation:
    """The model with the labelled images' vectors: words, scored for new images."""

    model: AnnotationModel
    known: tuple[Floats, ...]
    method: str

    @property
    def features(self) -> tuple[str, ...]:
        return self.model.features

    @property
    def names(self) -> tuple[str, ...]:
        return self.model.keywords.words

    def able(self, described: Mapping[str, FeatureMatrix]) -> list[str]:
        return shared_items(described, self.features)

    def rank(self, described: Mapping[str, FeatureMatrix], items: Sequence[str]) -> Floats:
        """Scores (items, words), higher fits better. described : by feature type"""
        vectors = [described[name].rows(items) for name in self.features]
        return self.model.scores(vectors, self.known, [self.method])[self.method]


def needs(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """The feature types that an image must be described by."""
    return tuple(facts["features"])


def method(arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Which of the fitted methods is served."""
    return AnnotationModel.of_arrays(arrays, facts).best


def serve(
    arrays: Mapping[str, Any],
    facts: Mapping[str, Any],
    matrices: Mapping[str, FeatureMatrix],
    chosen: str | None = None,
) -> ServedAnnotation:
    """The model over its labelled images. chosen : a method, other than the best"""
    model = AnnotationModel.of_arrays(arrays, facts)
    name = chosen or model.best
    if name not in model.rankers:
        raise ConfigError(f"The model has no method {name!r}; it has {', '.join(model.rankers)}.")
    gone = [item for item in model.items if any(item not in matrices[kind] for kind in model.features)]
    if gone:
        raise DataError(f"{len(gone)} labelled images have no features any more, such as {gone[0]}; run dvc repro.")
    return ServedAnnotation(model, tuple(matrices[kind].rows(model.items) for kind in model.features), name)
