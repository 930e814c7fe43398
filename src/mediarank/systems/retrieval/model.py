"""A fitted `retrieval` system: every item of the collection, scored for a query's vectors by any fitted method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mediarank.learners.pairwise.phi_rankers import Ranker, ranker_arrays, restored
from mediarank.similarity.phi import phi_over_types
from mediarank.similarity.scaling import PhiScaler
from mediarank.systems.model import Arrays, Described, Needs, Orders, Parts, RankingModel
from mediarank.systems.retrieval.collection import Collection, phi_names
from mediarank.types import DataError, Doubles, Floats, shared_items


@dataclass(frozen=True, eq=False)
class Model(RankingModel):
    """What the fit leaves behind, over the items of a collection.

    features : the feature types that φ compares, in its order
    names : the items that are ranked
    rows : their vectors, one matrix per feature type, possibly memory-mapped
    rankers : method -> what scores scaled φ
    parameters : method -> the settings that were chosen
    warning : why nothing was learned, if so
    """

    orders: ClassVar[Orders] = "names"
    features: tuple[str, ...]
    names: tuple[str, ...]
    rows: tuple[Floats, ...]
    scaler: PhiScaler
    rankers: Mapping[str, Ranker]
    validation: Mapping[str, float]
    served: str
    parameters: Mapping[str, Mapping[str, Any]]
    warning: str | None = None

    @classmethod
    def of_collection(
        cls,
        collection: Collection,
        features: Sequence[str],
        scaler: PhiScaler,
        rankers: Mapping[str, Ranker],
        validation: Mapping[str, float],
        served: str,
        parameters: Mapping[str, Mapping[str, Any]],
        warning: str | None,
    ) -> Model:
        names, rows = collection.items, collection.rows
        return cls(tuple(features), names, rows, scaler, rankers, validation, served, parameters, warning)

    @property
    def methods(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self.rankers)

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        return Needs(self.features, collection=self.features)

    @property
    def best_feature(self) -> str | None:
        """The single similarity that `best_fea` found, such as `gist/chi2`."""
        if "best_fea" not in self.parameters:
            return None
        return phi_names(self.features)[int(self.parameters["best_fea"]["name"])]

    def rank(
        self, described: Described, items: Sequence[str], names: Sequence[str] | None = None, method: str | None = None
    ) -> Doubles:
        """Scores (items, names), higher is more alike."""
        ranker = self.rankers[self.method(method)]
        rows = self.rows
        if names is not None:
            places = self.places(names)
            rows = tuple(matrix[places] for matrix in rows)
        queries = [described[name].rows(items) for name in self.features]
        scores = np.empty((len(items), len(self.names) if names is None else len(names)))
        for k in range(len(items)):
            phi = phi_over_types([vectors[k] for vectors in queries], rows)
            scores[k] = ranker.predict(self.scaler.apply(phi))
        return scores

    def places(self, names: Sequence[str]) -> np.ndarray[Any, Any]:
        """Where items of the collection stand among `names`."""
        unknown = [name for name in names if name not in self._place]
        if unknown:
            raise DataError(f"{', '.join(unknown[:3])}: not among the items that retrieval ranks.")
        return np.array([self._place[name] for name in names], dtype=np.intp)

    def __contains__(self, item: object) -> bool:
        return item in self._place

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        arrays: Arrays = {"mean": self.scaler.mean, "deviation": self.scaler.deviation}
        for method, ranker in self.rankers.items():
            arrays |= ranker_arrays(method, ranker)
        facts: dict[str, Any] = {
            "features": list(self.features),
            "phi": phi_names(self.features),
            "methods": list(self.methods),
            "validation": dict(self.validation),
            "served": self.served,
            "parameters": {method: dict(found) for method, found in self.parameters.items()},
        }
        facts |= {"best_fea": self.best_feature} if self.best_feature else {}
        return arrays, facts | ({"warning": self.warning} if self.warning else {})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], facts: Mapping[str, Any], parts: Parts) -> Model:
        features = tuple(facts["features"])
        matrices = {name: parts.matrices[name] for name in features}
        names = tuple(shared_items(matrices, features))
        if not names:
            raise DataError(f"No item has all of the feature types {', '.join(features)}. Run `dvc repro`.")
        rows = tuple(
            np.asarray(matrix.values) if tuple(matrix.ids.tolist()) == names else matrix.rows(names)
            for matrix in matrices.values()
        )
        return cls(
            features,
            names,
            rows,
            PhiScaler(arrays["mean"], arrays["deviation"]),
            {method: restored(method, arrays) for method in facts["methods"]},
            facts["validation"],
            facts["served"],
            facts["parameters"],
            facts.get("warning"),
        )

    @classmethod
    def needs_of(cls, facts: Mapping[str, Any]) -> Needs:
        features = tuple(facts["features"])
        return Needs(features, collection=features)
