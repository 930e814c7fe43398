"""The fusions by name, and which scores of the base models' training clips each learns from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import numpy as np

from mediarank.learners.fusion.linear_fusion import Average, Concatenation, Fusion, MetaOnly, Scale
from mediarank.learners.fusion.logistic_fusion import BlendedLogistic, Logistic
from mediarank.learners.fusion.recycling import Recycling
from mediarank.types import ConfigError, Doubles

Source = Literal["held_in", "out_of_fold", "both"]


@dataclass(frozen=True)
class FusionKind:
    """A fusion with its settings.

    source : `held_in` scores come from the models that were trained on the clips, `out_of_fold` from models of
        cross-validation that had not seen them; `both` are concatenated, in this order
    """

    make: Callable[..., Fusion]
    source: Source
    what: str

    def on(self, scale: Scale) -> FusionKind:
        """The same fusion on another scale of scores."""
        return FusionKind(partial(self.make, scale=scale), self.source, f"{self.what}; on log-odds")

    def of(self, held_in: Doubles, out_of_fold: Doubles) -> Doubles:
        """The source's scores (..., n, classifiers) that this fusion learns from."""
        if self.source == "both":
            return np.concatenate([held_in, out_of_fold], axis=-1)
        return held_in if self.source == "held_in" else out_of_fold


_ON_SCORES: Final[Mapping[str, FusionKind]] = {
    "average": FusionKind(Average, "held_in", "mean of the scores"),
    "meta_only": FusionKind(MetaOnly, "held_in", "ridge on unseen clips alone (baseline 1)"),
    "naive": FusionKind(Concatenation, "held_in", "ridge on held-in and unseen scores together (baseline 2)"),
    "equal_weights": FusionKind(
        partial(Recycling, iterations=1), "held_in", "equalised scores, every example of equal weight, no boosting"
    ),
    "recycling": FusionKind(Recycling, "held_in", "training data recycling, as in the paper"),
    "out_of_fold": FusionKind(Concatenation, "out_of_fold", "plain stacking: ridge on cross-validated scores"),
}
FUSIONS: Final[Mapping[str, FusionKind]] = {
    **_ON_SCORES,
    **{f"{name}_log_odds": kind.on("log_odds") for name, kind in _ON_SCORES.items()},
    "log_odds": FusionKind(
        Logistic, "out_of_fold", "stacking of log-odds: logistic regression, shrunk to equal weights"
    ),
    "recycled_log_odds": FusionKind(
        partial(Logistic, recycled=True), "held_in", "the same on equalised scores, for base models that are frozen"
    ),
    "blended_log_odds": FusionKind(BlendedLogistic, "both", "the same on the mean of both kinds of log-odds"),
    "logistic": FusionKind(partial(Logistic, scale="probability"), "out_of_fold", "log_odds on probabilities"),
    "recycled_logistic": FusionKind(
        partial(Logistic, scale="probability", recycled=True), "held_in", "recycled_log_odds on probabilities"
    ),
    "blended_logistic": FusionKind(
        partial(BlendedLogistic, scale="probability"), "both", "blended_log_odds on probabilities"
    ),
}
"""Every fusion on both scales, so that what a learner gains is not taken for what the scale gains."""


def fusion(name: str) -> FusionKind:
    if name not in FUSIONS:
        raise ConfigError(f"There is no fusion {name!r}; choose one of: {', '.join(FUSIONS)}.")
    return FUSIONS[name]
