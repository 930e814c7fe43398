"""The SVMs of one concept over all feature types: scored all at once, or one at a time on a few items.

A pool scores all items with all its SVMs; ranking that prunes needs one SVM on the surviving items. So the SVMs of a
concept are cut out of the pools, each with its own support vectors, and `Questions` evaluates them and counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from mediarank.base_models.pool import SVMPool
from mediarank.types import DataError, FeatureMatrix, Floats

_SECONDS: Final = 2.5e-11
"""Seconds of one multiply-add within a large matrix product on one core."""
_EXPONENTIAL: Final = 70.0
"""Multiply-adds that take as long as one exponential."""


@dataclass(frozen=True, eq=False)
class ConceptModels:
    """The SVMs of one concept, ordered by feature type, then by bag.

    names : `type|bag`
    types : the feature type of each SVM
    svms : pools of one SVM each
    """

    concept: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    svms: tuple[SVMPool, ...]

    @classmethod
    def of(cls, pools: Mapping[str, SVMPool], concept: str) -> ConceptModels:
        parts = {kind: pools[kind].of(concept) for kind in sorted(pools)}
        found = [(kind, column) for kind, part in parts.items() for column in range(len(part))]
        if not found:
            raise DataError(f"No pool has an SVM for {concept!r}; it had too few positives to train on.")
        return cls(
            concept,
            tuple(f"{kind}|{parts[kind].models[column][1]}" for kind, column in found),
            tuple(kind for kind, _ in found),
            tuple(parts[kind].only([column]) for kind, column in found),
        )

    def __len__(self) -> int:
        return len(self.svms)

    def scoring_seconds(self) -> npt.NDArray[np.float64]:
        """About how long each SVM takes per item: counted, not timed, so that choices made by it can be repeated."""
        return np.array([len(m.vectors) * (m.vectors.shape[1] + _EXPONENTIAL) * _SECONDS for m in self.svms])


def score_concept(
    pools: Mapping[str, SVMPool],
    concept: str,
    features: Mapping[str, FeatureMatrix],
    items: Sequence[str],
    wanted: Iterable[int] | None = None,
) -> Floats:
    """(items, SVMs) normalised scores by the SVMs of one concept, in the order of `ConceptModels`.

    wanted : numbers of the SVMs to evaluate, by default all; columns of the others are 0
    """
    parts = [(kind, pools[kind].of(concept)) for kind in sorted(pools)]
    total = sum(len(part) for _, part in parts)
    chosen = set(range(total) if wanted is None else wanted)
    scores = np.zeros((len(items), total), dtype=np.float32)
    start = 0
    for kind, part in parts:
        columns = [column for column in range(len(part)) if start + column in chosen]
        if columns:
            used = part if len(columns) == len(part) else part.only(columns)
            scores[:, [start + column for column in columns]] = used.score_rows(
                features[kind], features[kind].positions(items)
            )
        start += len(part)
    return scores


@dataclass
class Questions:
    """Evaluates one SVM on some of `items`, and counts kernel evaluations."""

    models: ConceptModels
    features: Mapping[str, FeatureMatrix]
    items: Sequence[str]
    kernel_evaluations: int = field(default=0, init=False)
    _rows: dict[str, npt.NDArray[np.intp]] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, model: int, items: npt.NDArray[np.intp]) -> Floats:
        """Normalised scores of `items`, positions among all items, by SVM number `model`."""
        kind, svm = self.models.types[model], self.models.svms[model]
        if kind not in self._rows:
            self._rows[kind] = self.features[kind].positions(self.items)
        self.kernel_evaluations += len(items) * int(svm.support_counts[0])
        return svm.score_rows(self.features[kind], self._rows[kind][items])[:, 0]
