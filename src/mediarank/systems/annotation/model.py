"""The fitted system `annotation`: labelled images, and per method a ranker of neighbours and a rule for words.

A new image is compared with the labelled images by the feature types that the method's ranker uses; the rule turns the
similarities into scores of words. The model consists of its arrays and facts, with the collection's vectors of the
labelled images; each is read when a method first needs it. `pack` turns what was fitted into arrays and facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from mediarank.learners.neighbours.keyword_scores import KeywordRule
from mediarank.learners.neighbours.keywords import Keywords
from mediarank.learners.neighbours.neighbour_rankers import BoostedOrder, NeighbourRanker, WeightedSum
from mediarank.learners.neighbours.semantic_space import SemanticSpace
from mediarank.similarity.distance_stack import stack_distances
from mediarank.systems.model import Arrays, Described, Needs, Orders, Parts, RankingModel
from mediarank.types import DataError, Doubles, FeatureMatrix, Floats

NUMBERS: Final = ("k", "per_word", "sharpness", "scale", "power", "penalty")
LEARNED: Final = ("means", "units", "slopes", "offsets", "coefficients")
"""The fields of a `KeywordRule` that are kept as facts, and those kept as arrays."""
SPACE: Final = tuple(field.name for field in fields(SemanticSpace))
"""The fields of a `SemanticSpace`, all kept as arrays."""
BLOCK: Final = 128
"""New images compared with the labelled ones at a time."""


class Model(RankingModel):
    """facts : `features` and `distances` (the types that images are compared by, and how), `items` (the labelled
    images), `words`, and `settings` (method -> its ranker, its rule and their numbers; or the methods it averages)
    arrays : the keywords of the labelled images, and "<method>.<array>"
    """

    orders: ClassVar[Orders] = "names"

    def __init__(
        self, arrays: Mapping[str, Any], facts: Mapping[str, Any], matrices: Mapping[str, FeatureMatrix]
    ) -> None:
        self.arrays, self.facts, self.matrices = arrays, facts, matrices
        self.methods = tuple(facts["methods"])
        self.validation = dict(facts["validation"])
        self.served = facts["served"]
        self.names = tuple(facts["words"])
        self.needs = self.needs_of(facts)
        self._rankers: dict[str, NeighbourRanker] = {}
        self._rules: dict[str, KeywordRule] = {}
        self._vectors: dict[str, Floats] = {}

    def rank(
        self, described: Described, items: Sequence[str], names: Sequence[str] | None = None, method: str | None = None
    ) -> Doubles:
        """Scores (items, words); higher fits better. A labelled image is annotated from the others."""
        chosen = self.method(method)
        return self.rank_by(described, items, [chosen], names)[chosen]

    def rank_by(
        self, described: Described, items: Sequence[str], methods: Sequence[str], names: Sequence[str] | None = None
    ) -> dict[str, Doubles]:
        """method -> scores (items, words), from one pass of distances by the feature types that the methods use."""
        settings = self.facts["settings"]
        parts = [part for method in methods for part in settings[method].get("of", [method])]
        scores = self._by_parts(described, items, list(dict.fromkeys(parts)), names)
        for method in methods:
            if "of" in settings[method]:
                weighted = zip(settings[method]["of"], settings[method]["units"], strict=True)
                scores[method] = np.asarray(sum(scores[part] / unit for part, unit in weighted))
        return {method: scores[method] for method in methods}

    def _by_parts(
        self, described: Described, items: Sequence[str], methods: Sequence[str], names: Sequence[str] | None
    ) -> dict[str, Doubles]:
        """The same for methods that are not averages."""
        columns = self._columns(names)
        rankers = {self.facts["settings"][method]["ranker"]: self.ranker(method) for method in methods}
        looked_at = np.flatnonzero(np.any([ranker.used() for ranker in rankers.values()], axis=0)).tolist() or [0]
        features, measures = ([self.facts[part][k] for k in looked_at] for part in ("features", "distances"))
        known = [self._known(name) for name in features]
        words = len(self.names) if columns is None else len(columns)
        scores = {method: np.zeros((len(items), words)) for method in methods}
        for start in range(0, len(items), BLOCK):
            block = items[start : start + BLOCK]
            stack = stack_distances([_rows(described, name, block) for name in features], known, measures)
            for row, item in enumerate(block):
                if item in self._place:  # an image is no neighbour of itself
                    stack[:, row, self._place[item]] = np.inf
            similarity = {name: ranker.only(looked_at).similarity(stack) for name, ranker in rankers.items()}
            for row, item in enumerate(block):
                if item in self._place:
                    for values in similarity.values():
                        values[row, self._place[item]] = -np.inf
            for method in methods:
                near = similarity[self.facts["settings"][method]["ranker"]]
                scores[method][start : start + BLOCK] = self.rule(method).scores(near, self.keywords, columns=columns)
        return scores

    def ranker(self, method: str) -> NeighbourRanker:
        """How the method ranks labelled images; several methods may share a ranker."""
        name = self.facts["settings"][method]["ranker"]
        if name not in self._rankers:
            if f"{name}.points" in self.arrays:
                parts = {part: self.arrays[f"{name}.{part}"] for part in SPACE}
                self._rankers[name] = SemanticSpace(**parts)
            elif f"{name}.tables" in self.arrays:
                self._rankers[name] = BoostedOrder(self.arrays[f"{name}.tables"], self.arrays[f"{name}.thresholds"])
            else:
                self._rankers[name] = WeightedSum(self.arrays[f"{name}.weights"])
        return self._rankers[name]

    def rule(self, method: str) -> KeywordRule:
        """How the method turns similarities into scores of words."""
        if method not in self._rules:
            found = self.facts["settings"][method]
            numbers: dict[str, Any] = {key: found[key] for key in NUMBERS if key in found}
            numbers |= {key: self.arrays[f"{method}.{key}"] for key in LEARNED if f"{method}.{key}" in self.arrays}
            self._rules[method] = KeywordRule(found["rule"], **numbers)
        return self._rules[method]

    @cached_property
    def keywords(self) -> Keywords:
        """Keywords of the labelled images."""
        rows = np.zeros((len(self.facts["items"]), len(self.names)), np.float32)
        images = np.repeat(np.arange(len(rows)), np.diff(self.arrays["keyword_starts"]))
        rows[images, self.arrays["keywords"]] = 1
        return Keywords(self.names, rows)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {item: number for number, item in enumerate(self.facts["items"])}

    def _known(self, name: str) -> Floats:
        """The labelled images' vectors of a feature type."""
        if name not in self._vectors:
            try:
                self._vectors[name] = self.matrices[name].rows(self.facts["items"])
            except (KeyError, DataError) as error:
                raise DataError(
                    f"The model needs the {name} of its {len(self.facts['items'])} labelled images, and the collection "
                    "has changed since it was fitted: run dvc repro."
                ) from error
        return self._vectors[name]

    def _columns(self, names: Sequence[str] | None) -> np.ndarray[Any, np.dtype[np.intp]] | None:
        if names is None:
            return None
        place = {word: number for number, word in enumerate(self.names)}
        unknown = [name for name in names if name not in place]
        if unknown:
            raise DataError(
                f"No training image has the keyword {', '.join(unknown)}; there are {len(self.names)} keywords, such "
                f"as {', '.join(self.names[:5])}."
            )
        return np.array([place[name] for name in names], dtype=np.intp)

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        return {name: self.arrays[name] for name in self.arrays}, dict(self.facts)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], facts: Mapping[str, Any], parts: Parts) -> Model:
        return cls(arrays, facts, parts.matrices)

    @classmethod
    def needs_of(cls, facts: Mapping[str, Any]) -> Needs:
        return Needs(tuple(facts["features"]), collection=tuple(facts["features"]))


def pack(
    keywords: Keywords, rankers: Mapping[str, NeighbourRanker], rules: Mapping[str, KeywordRule]
) -> tuple[Arrays, dict[str, dict[str, Any]]]:
    """Arrays, and the settings of each method; methods that share a ranker keep it once, under the first one's name."""
    starts, words = keywords.by_image
    arrays: Arrays = {"keyword_starts": starts, "keywords": words}
    keeper: dict[int, str] = {}
    settings = {}
    for method, ranker in rankers.items():
        name = keeper.setdefault(id(ranker), method)
        if isinstance(ranker, SemanticSpace):
            arrays |= {f"{name}.{part}": getattr(ranker, part) for part in SPACE}
        elif isinstance(ranker, BoostedOrder):
            arrays |= {f"{name}.tables": ranker.tables, f"{name}.thresholds": ranker.thresholds}
        else:
            arrays[f"{name}.weights"] = ranker.weights
        rule = rules[method]
        arrays |= {f"{method}.{key}": array for key, array in rule.arrays().items()}
        settings[method] = {"ranker": name, "rule": rule.kind, **rule.numbers()}
    return arrays, settings


def _rows(described: Mapping[str, FeatureMatrix], name: str, items: Sequence[str]) -> Floats:
    if name not in described:
        raise DataError(f"The images are not described by {name!r}; list it under features in params.yaml.")
    return described[name].rows(items)
