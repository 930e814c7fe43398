"""What it costs to evaluate a model, for learners that take costs into account (the future work of paper 000).

The price of a model for an item is its scoring plus the extraction of its feature, unless an earlier model needed the
same feature. Survivors of a round took part in all rounds before, so for them everything computed before is free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mediarank.learners.boosting.plan import Positions
from mediarank.types import DataError, Doubles


@dataclass(frozen=True)
class Costs:
    """Costs of evaluating models.

    own : (models,) of a model's scoring
    group : (models,) its feature
    shared : (features,) of extraction
    """

    own: Doubles
    group: Positions
    shared: Doubles

    def __post_init__(self) -> None:
        for values in (self.own, self.shared):
            if values.ndim != 1 or not (np.isfinite(values) & (values >= 0)).all():
                raise DataError("Costs must be finite and not negative, one per model and one per feature.")
        if self.group.shape != self.own.shape or (
            len(self.group) and not 0 <= self.group.min() <= self.group.max() < len(self.shared)
        ):
            raise DataError(f"{len(self.own)} models must each name one of {len(self.shared)} features.")

    @classmethod
    def of_models(cls, own: npt.ArrayLike) -> Costs:
        """Costs of single models; they share no feature."""
        prices = np.array(own, dtype=np.float64)
        return cls(prices, np.zeros(len(prices), dtype=np.intp), np.zeros(1))

    def scaled_to_mean(self) -> Costs:
        """The same in units of an average model's price, so that weights carry over between collections."""
        mean = float((self.own + self.shared[self.group]).mean()) or 1.0
        return Costs(self.own / mean, self.group, self.shared / mean)

    def prices(self) -> Doubles:
        """The price of each model, before any was evaluated."""
        return self.own + self.shared[self.group]

    def pay(self, prices: Doubles, model: int) -> None:
        """Change `prices` to what they are after `model` was evaluated."""
        if prices[model] == 0.0:
            return
        others = self.group == self.group[model]
        prices[others] = np.minimum(prices[others], self.own[others])
        prices[model] = 0.0


def relative_costs(costs: Costs | None, models: int) -> Costs:
    """Costs relative to the mean price; by default all models cost the same."""
    if costs is None:
        return Costs.of_models(np.ones(models))
    if len(costs.own) != models:
        raise DataError(f"There are {models} models but costs of {len(costs.own)}.")
    return costs.scaled_to_mean()
