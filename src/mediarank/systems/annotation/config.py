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

Aim = Literal["f1", "image_f1"]
"""What settings are chosen for: F1 of the means over words, as the papers report it, or the mean F1 of an image."""


@dataclass(frozen=True)
class Method:
    """ranker : of the neighbours; rules : for scoring words, of which cross-validation chooses one, for this aim"""

    ranker: str
    rules: tuple[str, ...]
    aim: Aim = "f1"


METHODS: Final[Mapping[str, Method]] = {
    "best_feature": Method("best_feature", ("transfer",)),
    "jec": Method("jec", ("transfer",)),
    "jec_vote": Method("jec", ("count", "vote")),
    "jec_maximum": Method("jec_maximum", ("transfer",)),
    "least_squares": Method("least_squares", ("transfer",)),
    "lasso": Method("lasso", ("transfer",)),
    "nw_rnn": Method("nw_rnn", ("count", "vote")),
    "rnn": Method("rnn", ("count", "vote")),
    "drawn_rnn": Method("drawn_rnn", ("count", "vote")),
    "tagprop": Method("tagprop", ("sigmoid",)),
    "2pknn": Method("jec", ("two_pass",)),
    "2pknn_rnn": Method("rnn", ("two_pass",)),
    "2pknn_tagprop": Method("tagprop", ("two_pass",)),
    "ridge": Method("jec", ("ridge",)),
    "ridge_tagprop": Method("tagprop", ("ridge",)),
    "2pknn_aligned": Method("aligned", ("two_pass",)),
    "ridge_aligned": Method("aligned", ("ridge",)),
    "2pknn_margin": Method("margin", ("two_pass",)),
    "ridge_margin": Method("margin", ("ridge",)),
    "2pknn_learned": Method("learned", ("two_pass",)),
    "ridge_learned": Method("learned", ("ridge",)),
    "kcca_2pknn": Method("kcca", ("two_pass",)),
    "kcca_vote": Method("kcca", ("vote",)),
    "kcca_2pknn_tagprop": Method("kcca_tagprop", ("two_pass",)),
    "kcca_vote_tagprop": Method("kcca_tagprop", ("vote",)),
    "kcca_2pknn_learned": Method("kcca_learned", ("two_pass",)),
    "kcca_vote_learned": Method("kcca_learned", ("vote",)),
    "ridge_images": Method("jec", ("ridge",), "image_f1"),
    "ridge_tagprop_images": Method("tagprop", ("ridge",), "image_f1"),
}
AVERAGE: Final = "average"
"""Adds the scores of those other methods that do best together."""


Count = Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class Config:
    """features : the types that images are compared by
    distances : feature type -> l1, l2, kl, chi2 or cosine; l1 by default
    methods : names in METHODS, and `average`, which adds up those of the others that do best together
    serve : the method that answers by default; without it, the one that validated best
    serve_for : what it must be best for: `images` (the F1 of an image's words, which people see) or `words` (F1 of the
        means over words, which the papers report, and which favours rare words)
    words : suggested per image; F1 with this number of words decides what is chosen
    pairs : preferences drawn per training image; of several numbers cross-validation chooses; where there is only one,
        the folds draw fold_pairs to save time
    regression_pairs : the same for the regressions
    ndcg_depth : k of NDCG@k, the positions in which order matters, chosen from these
    epsilon : weight of pairs beyond these positions
    rounds : of RankBoost, chosen from these; step : see `learners/boosting/pair_rankboost.py`
    alignment_powers : of a type's agreement with the words, its weight in the aligned sum; chosen from these
    tagprop_neighbours, tagprop_iterations : of TagProp; the iterations also of other sigmoids
    queries : the most training images to use as queries, fewer if their distances don't fit into memory_gib; all
        training images are neighbours
    test_items : test images that are annotated in the evaluation, at most, drawn by lot: each is compared with all
        training images
    """

    features: tuple[str, ...] = ("lab_thirds", "autocorrelogram", "gist", "hog", "lbp", "gabor", "sift")
    distances: Mapping[str, Literal["l1", "l2", "kl", "chi2", "cosine"]] = field(default_factory=dict)
    methods: tuple[str, ...] = ("jec", "nw_rnn", "rnn", "tagprop", "2pknn")
    serve: str | None = None
    serve_for: Literal["images", "words"] = "images"
    words: Count = 5
    folds: Annotated[int, Field(ge=2)] = 5
    pairs: tuple[Count, ...] = (500,)
    fold_pairs: Count = 100
    regression_pairs: Count = 20
    ndcg_depth: tuple[Count, ...] = (50,)
    epsilon: Annotated[float, Field(gt=0)] = 1e-4
    rounds: tuple[Count, ...] = (200, 400)
    step: Step = "bound"
    alignment_powers: tuple[Count, ...] = (1, 3)
    tagprop_neighbours: Count = 150
    tagprop_iterations: Count = 60
    queries: Count = 5000
    test_items: Count = 5000
    memory_gib: Annotated[float, Field(gt=0)] = 3.0
    seed: int = 7
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        unknown = [method for method in self.methods if method not in (*METHODS, AVERAGE)]
        if unknown or not self.parts:
            raise ConfigError(
                f"systems.annotation.methods: {', '.join(unknown or self.methods) or 'none'}; choose from "
                f"{', '.join(METHODS)}, and {AVERAGE} beside them."
            )
        if not self.features:
            raise ConfigError("systems.annotation.features: name at least one feature type.")
        unknown = sorted(set(self.distances) - set(self.features))
        if unknown:
            raise ConfigError(f"systems.annotation.distances names {', '.join(unknown)}, which is not in its features.")
        if not (self.pairs and self.rounds and self.ndcg_depth and self.alignment_powers):
            raise ConfigError(
                "systems.annotation: give at least one number of pairs, rounds, ndcg_depth and alignment_powers."
            )

    @property
    def parts(self) -> tuple[str, ...]:
        """The methods that are fitted by themselves."""
        return tuple(method for method in self.methods if method != AVERAGE)

    @property
    def aim(self) -> Aim:
        """What the served method and the average are chosen for."""
        return "image_f1" if self.serve_for == "images" else "f1"

    def with_only(self, settings: Mapping[str, int]) -> Config:
        """With the numbers that were chosen, where there was a choice."""
        if not settings:
            return self
        chosen: dict[str, Any] = {name: (value,) for name, value in settings.items()}
        return replace(self, **chosen)

    def queries_among(self, images: int) -> int:
        """How many of the training images are queries: a distance takes 4 bytes and its rank one."""
        fitting = int(self.memory_gib * 2**30 / (5 * len(self.features) * images))
        return max(1, min(self.queries, images, fitting))

    @property
    def measures(self) -> tuple[str, ...]:
        """The distance of each feature type."""
        return tuple(self.distances.get(name, "l1") for name in self.features)
