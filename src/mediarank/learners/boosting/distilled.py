"""A cascade that ends in the whole stack: a few models decide which items are worth all models.

The teacher is a ridge logistic regression over all models. The first stages are those of `ForwardCascade`: one model
each, on ever fewer items. The last stage evaluates all other models on the few survivors and gives them the teacher's
scores. So the top of the list is in the teacher's order, for a small share of its evaluations.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy.typing as npt

from mediarank.learners.boosting.cascade import Schedule, Stack, forward_stages, survivors
from mediarank.learners.boosting.costs import Costs
from mediarank.learners.boosting.plan import Plan
from mediarank.learners.boosting.rankboost import require_scores
from mediarank.learners.fusion.stacking import ridge_logistic
from mediarank.types import Doubles, Floats


@dataclass
class DistilledCascade:
    """Forward selection on a shrinking set of survivors, then all models on the last survivors.

    stages : models before the last stage, at most
    keep, floor : see Schedule; `floor` is the share of items that all models score
    per_relevant : survivors for each relevant example, at least, so that concepts that are not rare keep enough
    recall : share of the relevant examples that each stage keeps, whatever the schedule says; 0 leaves it out
    strength : C of the logistic regression in the first stages
    teacher : C of the one over all models
    cost_weight : μ, as in `ForwardCascade`
    """

    stages: int = 6
    keep: float = 0.5
    floor: float = 0.03
    per_relevant: float = 2.0
    recall: float = 0.0
    strength: float = 0.01
    teacher: float = 0.1
    cost_weight: float = 0.0
    plan_: Plan = field(init=False, repr=False)

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, costs: Costs | None = None) -> DistilledCascade:
        """X : (n, models) scores in [−1, 1]; y : (n,) which items are relevant; costs : of evaluating a model"""
        scores, relevant = require_scores(X, y)
        schedule = Schedule(self.keep, min(1.0, max(self.floor, self.per_relevant * float(relevant.mean()))))
        stack = Stack(scores, relevant, self.strength)
        active = forward_stages(stack, schedule, self.stages, self.recall, self.cost_weight, costs)
        last = len(scores)  # a stage so late that only `floor` and the recall count
        _, threshold = survivors(stack.f, active, stack.count(active, schedule, self.recall, last))
        stack.finish(ridge_logistic(scores, relevant, self.teacher), threshold)
        self.plan_ = stack.plan()
        return self

    def predict(self, X: Floats) -> Doubles:
        return self.plan_.score(X)
