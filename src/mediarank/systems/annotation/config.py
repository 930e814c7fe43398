"""The methods of `annotation` by name, and the system's settings.

A method is a way to rank neighbours (`rankers.py`) and rules that turn them into
keyword scores (`learners/neighbours/keyword_scores.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from mediarank.learners.boosting.rankboost import Step
from mediarank.types import ConfigError


@dataclass(frozen=True)
class Method:
    """ranker : of the neighbours; rules : to hear them by, of which cross-validation chooses one"""

    ranker: str
    rules: tuple[str, ...]


METHODS: Final[Mapping[str, Method]] = {
    "best_feature": Method("best_feature", ("transfer",)),
    "jec": Method("jec", ("transfer",)),
    "least_squares": Method("least_squares", ("transfer",)),
    "lasso": Method("lasso", ("transfer",)),
    "nw_rnn": Method("nw_rnn", ("count", "vote")),
    "rnn": Method("rnn", ("count", "vote")),
    "tagprop": Method("tagprop", ("sigmoid",)),
    "2pknn": Method("jec", ("two_pass",)),
    "2pknn_rnn": Method("rnn", ("two_pass",)),
    "2pknn_tagprop": Method("tagprop", ("two_pass",)),
    "ridge": Method("jec", ("ridge",)),
    "ridge_tagprop": Method("tagprop", ("ridge",)),
}


Count = Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class AnnotationConfig:
    """features : the types that images are compared by
    distances : feature type -> l1, l2, kl, chi2 or cosine; l1 where nothing is said
    methods : of METHODS
    words : suggested an image, by which the rest is chosen
    pairs : preferences drawn a training image; of several numbers cross-validation chooses, but with one alone it
        makes do with fold_pairs; regression_pairs : for the regressions
    ndcg_depth : k of NDCG@k, the positions in which order matters; epsilon : weight of pairs beyond them
    rounds : of RankBoost, chosen from these; step : see `learners/boosting/pair_rankboost.py`
    tagprop_neighbours, tagprop_iterations : of TagProp, and of sigmoids in general
    queries : training images that are learned from as queries, at most, and as their distances fit into memory_gib;
        all are neighbours
    """

    features: tuple[str, ...] = ("lab_histogram", "hog")
    distances: Mapping[str, Literal["l1", "l2", "kl", "chi2", "cosine"]] = field(default_factory=dict)
    methods: tuple[str, ...] = ("jec", "nw_rnn", "rnn", "tagprop", "2pknn")
    words: Count = 5
    folds: Annotated[int, Field(ge=2)] = 5
    pairs: tuple[Count, ...] = (500,)
    fold_pairs: Count = 100
    regression_pairs: Count = 20
    ndcg_depth: Count = 50
    epsilon: Annotated[float, Field(gt=0)] = 1e-4
    rounds: tuple[Count, ...] = (200, 400)
    step: Step = "bound"
    tagprop_neighbours: Count = 150
    tagprop_iterations: Count = 60
    queries: Count = 5000
    memory_gib: Annotated[float, Field(gt=0)] = 3.0
    seed: int = 7
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        unknown = [method for method in self.methods if method not in METHODS]
        if unknown or not self.methods:
            raise ConfigError(
                f"systems.annotation.methods: {', '.join(unknown) or 'none'}; choose of {', '.join(METHODS)}."
            )
        if not self.features:
            raise ConfigError("systems.annotation.features: name one feature type at least.")
        strangers = sorted(set(self.distances) - set(self.features))
        if strangers:
            raise ConfigError(f"systems.annotation.distances speaks of {', '.join(strangers)}, not among its features.")
        if not (self.pairs and self.rounds):
            raise ConfigError("systems.annotation: give one number of pairs and of rounds at least.")

    def with_only(self, settings: Mapping[str, int]) -> AnnotationConfig:
        """With the numbers that were chosen, where there was a choice."""
        if not settings:
            return self
        return replace(self, pairs=(settings["pairs"],), rounds=(settings["rounds"],))

    def queries_among(self, images: int) -> int:
        """How many of the training images are queries: a distance takes 4 bytes and its rank one."""
        fitting = int(self.memory_gib * 2**30 / (5 * len(self.features) * images))
        return max(1, min(self.queries, images, fitting))

    @property
    def measures(self) -> tuple[str, ...]:
        """The distance of each feature type."""
        return tuple(self.distances.get(name, "l1") for name in self.features)
