"""The machines of one concept over all feature types, asked one at a time about a few items.

A pool scores everything for everyone; ranking that prunes wants the opposite: one machine, the survivors only. So a
concept's machines are cut out of the pools, each with its own support vectors, and `Questions` asks them and keeps
count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from mediarank.base_models.pool import SVMPool
from mediarank.types import DataError, FeatureMatrix, Floats

_SECONDS: Final = 2.5e-11
"""Of a multiply-add within a large matrix product on one core."""
_EXPONENTIAL: Final = 70.0
"""Multiply-adds that take as long as an exponential."""


@dataclass(frozen=True)
class ConceptModels:
    """Every machine that knows the concept, types in the order of their names, bags within.

    names : `type|bag`
    types : the feature type of each
    machines : pools of one machine each
    """

    concept: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    machines: tuple[SVMPool, ...]

    @classmethod
    def of(cls, pools: Mapping[str, SVMPool], concept: str) -> ConceptModels:
        found = [(kind, column) for kind in sorted(pools) for column in pools[kind].columns(concept)]
        if not found:
            raise DataError(f"No pool has a machine for {concept!r}; it had too few positives in the base role.")
        return cls(
            concept,
            tuple(f"{kind}|{pools[kind].models[column][1]}" for kind, column in found),
            tuple(kind for kind, _ in found),
            tuple(pools[kind].only([column]) for kind, column in found),
        )

    def __len__(self) -> int:
        return len(self.machines)

    def scoring_seconds(self) -> npt.NDArray[np.float64]:
        """What an item costs each machine, about: counted, not timed, so that choices made by it can be repeated."""
        return np.array([len(m.vectors) * (m.vectors.shape[1] + _EXPONENTIAL) * _SECONDS for m in self.machines])

    def score(self, features: Mapping[str, FeatureMatrix], items: Sequence[str]) -> Floats:
        """(items, machines) normalised scores; for many items of many concepts `SVMPool.score` is quicker."""
        ask = Questions(self, features, items)
        everyone = np.arange(len(items))
        return np.column_stack([ask(model, everyone) for model in range(len(self))])


@dataclass
class Questions:
    """Asks one machine about some of `items`; what was asked is counted in kernel evaluations."""

    models: ConceptModels
    features: Mapping[str, FeatureMatrix]
    items: Sequence[str]
    kernel_evaluations: int = field(default=0, init=False)
    _rows: dict[str, npt.NDArray[np.intp]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._rows = {kind: self.features[kind].positions(self.items) for kind in dict.fromkeys(self.models.types)}

    def __call__(self, model: int, items: npt.NDArray[np.intp]) -> Floats:
        """Normalised scores of `items`, positions among all items, by machine number `model`."""
        kind, machine = self.models.types[model], self.models.machines[model]
        self.kernel_evaluations += len(items) * int(machine.support_counts[0])
        values = self.features[kind].values[self._rows[kind][items]]
        return machine.normalised(machine.decisions(values))[:, 0]
