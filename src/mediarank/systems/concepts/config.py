"""The settings of `concepts`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from mediarank.learners.boosting.imbalanced_rankboost import Regulariser
from mediarank.learners.boosting.rankboost import ScoreRange, Step

Share = Annotated[float, Field(gt=0, le=1)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Method = Literal[
    "mean_fusion", "best_single", "ridge_stacking", "logistic_stacking", "rankboost", "imbalanced_rankboost",
    "boosted_cascade", "stacked_cascade", "forward_cascade", "distilled_cascade", "budget_cascade",
]  # fmt: skip


@dataclass(frozen=True)
class Config:
    """How concepts are learned.

    base_models : feature types whose SVMs are combined; an empty list means all types that have base models
    methods : the methods to fit; all combine the same SVMs
    learn_from : roles whose items rankers learn from; base models score their own training items held out. The paper
        has `rank` and `valid`, with base models that are trained on `base` alone
    serve : the method that answers; by default the one with the best mean average precision in cross-validation
    rounds, score_range, step, regulariser, regularization : of RankBoost and Imbalanced RankBoost
    stages, keep, floor : of the cascades
    finish_stages, finish_floor : of distilled_cascade: SVMs before its last stage, and the share of items that the
        last stage scores with all SVMs
    budget : of budget_cascade: evaluations per item within which it should rank well
    budget_stages, budget_floor : of budget_cascade: SVMs, at most, and the least share of items that the last of them
        score
    budget_firsts, budget_per_relevant : of budget_cascade: shares of the items that remain after its first SVM, and
        items that remain in the end for each relevant one; the best pair is found by cross-validation
    recall : share of the relevant items that each stage of forward_cascade and distilled_cascade keeps, whatever the
        schedule says
    strengths : of the ridge in forward_cascade and in the first stages of distilled_cascade
    cost_weights : how much the cost of an SVM counts when these two choose one
    stacking_strengths : of the ridge in logistic_stacking, which distilled_cascade ends with. The best of the strengths
        and weights are found by cross-validation on the items to learn from
    lambdas : of Imbalanced RankBoost with each regulariser, for figure 9; an empty list leaves the figure out
    """

    base_models: tuple[str, ...] = ()
    methods: tuple[Method, ...] = (
        "mean_fusion",
        "best_single",
        "logistic_stacking",
        "rankboost",
        "imbalanced_rankboost",
        "forward_cascade",
        "distilled_cascade",
    )
    learn_from: tuple[Literal["base", "rank", "valid"], ...] = ("base", "rank", "valid")
    serve: str | None = None
    rounds: Count = 200
    score_range: ScoreRange = "symmetric"
    step: Step = "bound"
    regulariser: Regulariser = "squared"
    regularization: NotNegative = 0.05
    stages: Count = 40
    keep: Share = 0.5
    floor: Share = 0.1
    finish_stages: Count = 6
    finish_floor: Share = 0.03
    budget: Annotated[float, Field(ge=1)] = 1.5
    budget_stages: Count = 12
    budget_floor: Share = 0.03
    budget_firsts: tuple[Share, ...] = (0.3, 0.2, 0.15)
    budget_per_relevant: tuple[NotNegative, ...] = (2.0, 3.5)
    recall: Annotated[float, Field(ge=0, le=1)] = 0.0
    strengths: tuple[float, ...] = (0.003, 0.01, 0.03)
    cost_weights: tuple[float, ...] = (0.0, 1.0)
    stacking_strengths: tuple[float, ...] = (0.03, 0.1, 0.3)
    lambdas: tuple[float, ...] = (0.005, 0.05, 0.5)
    seed: int = 7
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        for strengths in (self.strengths, self.stacking_strengths):
            if not self.methods or not strengths or min(strengths) <= 0:
                raise ValueError("give at least one method, and at least one strength of each kind, all above 0")
        if not self.learn_from:
            raise ValueError("learn_from must name at least one of base, rank and valid")
        if not self.budget_firsts or not self.budget_per_relevant:
            raise ValueError("give at least one of budget_firsts and one of budget_per_relevant")
        if not self.cost_weights or min(self.cost_weights) < 0:
            raise ValueError("give at least one cost weight, none below 0")
        if self.serve is not None and self.serve not in self.methods:
            raise ValueError(f"serve names {self.serve!r}, which is not among the methods: {', '.join(self.methods)}")
