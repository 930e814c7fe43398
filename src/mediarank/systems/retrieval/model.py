"""A fitted `retrieval` system: every item of the collection, scored for a query's vectors by any fitted method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mediarank.learners.pairwise.phi_rankers import CURVED, Ranker, ranker_arrays, restored
from mediarank.similarity.phi import SIMILARITIES, phi_over_types
from mediarank.similarity.scaling import PhiScaler
from mediarank.systems.model import Arrays, Described, Needs, Orders, Parts, RankingModel
from mediarank.systems.retrieval.collection import Collection, phi_names
from mediarank.systems.retrieval.learned_types import LearnedTypes, as_items
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
    learned_types : what φ compares beside the feature types, where it was learned
    learned : the items' rows of these; what was learned from has the class probabilities of a fit without it
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
    learned_types: LearnedTypes | None = None
    learned: tuple[Floats, ...] = ()

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
        learned_types: LearnedTypes | None = None,
    ) -> Model:
        """collection : its rows are those of the features, then the learned ones"""
        rows, learned = collection.rows[: len(features)], collection.rows[len(features) :]
        return cls(
            tuple(features),
            collection.items,
            rows,
            scaler,
            rankers,
            validation,
            served,
            parameters,
            warning,
            learned_types,
            learned,
        )

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

    @property
    def phi_types(self) -> tuple[str, ...]:
        """What φ compares: the feature types, then the learned ones."""
        return (*self.features, *(self.learned_types.names if self.learned_types else ()))

    @property
    def phi_rows(self) -> tuple[Floats, ...]:
        """The items' rows for φ, in the order of `phi_types`."""
        return (*self.rows, *self.learned)

    def phi_vectors(self, vectors: Sequence[Floats]) -> list[Floats]:
        """A query's vectors for φ: one per feature type, and what follows from them for the learned types."""
        if self.learned_types is None:
            return list(vectors)
        return [*vectors, *self.learned_types.of_query(dict(zip(self.features, vectors, strict=True)))]

    def predict(self, method: str, phi: Floats) -> Floats:
        """Scores (n,) of scaled φ (n, d); methods that are not linear look at the feature types alone."""
        plain = len(SIMILARITIES) * len(self.features)
        return self.rankers[method].predict(np.ascontiguousarray(phi[:, :plain]) if method in CURVED else phi)

    def rank(
        self, described: Described, items: Sequence[str], names: Sequence[str] | None = None, method: str | None = None
    ) -> Doubles:
        """Scores (items, names), higher is more alike."""
        asked = self.method(method)
        rows = self.phi_rows
        if names is not None:
            places = self.places(names)
            rows = tuple(matrix[places] for matrix in rows)
        queries = [described[name].rows(items) for name in self.features]
        scores = np.empty((len(items), len(self.names) if names is None else len(names)))
        for k in range(len(items)):
            phi = phi_over_types(self.phi_vectors([vectors[k] for vectors in queries]), rows)
            scores[k] = self.predict(asked, self.scaler.apply(phi))
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
            "phi": phi_names(self.phi_types),
            "methods": list(self.methods),
            "validation": dict(self.validation),
            "served": self.served,
            "parameters": {method: dict(found) for method, found in self.parameters.items()},
        }
        facts |= {"best_fea": self.best_feature} if self.best_feature else {}
        if self.learned_types is not None:
            arrays |= {
                **self.learned_types.arrays(),
                "class_items": np.array(self.names),
                "class_rows": np.ascontiguousarray(self.learned[0][:, :-1]),
                **({"whitened_rows": self.learned[2]} if self.learned_types.whitening else {}),
            }
            facts["class_scores"] = self.learned_types.facts()
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
        learned_types = None
        learned: tuple[Floats, ...] = ()
        if facts.get("class_scores"):
            learned_types = LearnedTypes.restored(arrays, facts["class_scores"])
            learned = _learned_rows(learned_types, arrays, names, dict(zip(features, rows, strict=True)))
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
            learned_types,
            learned,
        )

    @classmethod
    def needs_of(cls, facts: Mapping[str, Any]) -> Needs:
        features = tuple(facts["features"])
        return Needs(features, collection=features)


def _learned_rows(
    learned: LearnedTypes, arrays: Mapping[str, Any], names: Sequence[str], rows: Mapping[str, Floats]
) -> tuple[Floats, ...]:
    """The learned rows of every item; those of an item that came after the fit follow from its vectors."""
    items = arrays["class_items"].tolist()
    probabilities = np.asarray(arrays["class_rows"])
    whitened = np.asarray(arrays["whitened_rows"]) if learned.whitening else None
    if tuple(items) == tuple(names):
        return as_items(probabilities, whitened)
    place = {item: k for k, item in enumerate(items)}
    old = [k for k, name in enumerate(names) if name in place]
    new = {type_: matrix[[k for k, name in enumerate(names) if name not in place]] for type_, matrix in rows.items()}
    kept = [place[names[k]] for k in old]

    def joined(before: Floats, after: Floats) -> Floats:
        found = np.empty((len(names), before.shape[1]), np.float32)
        found[old], found[np.setdiff1d(np.arange(len(names)), old)] = before[kept], after
        return found

    fresh = learned.scores.probabilities([new[name] for name in learned.scores.features])
    moved = joined(whitened, learned.whitening.apply(new)) if learned.whitening and whitened is not None else None
    return as_items(joined(probabilities, fresh), moved)
