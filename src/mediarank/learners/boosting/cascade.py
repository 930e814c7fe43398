"""Cascades: rank with one model, keep the better half, evaluate the next model on those only, and so on.

The idea of Imbalanced RankBoost with two changes: how many examples survive follows a schedule instead of a term of
the loss, and survivors always rank above pruned items (`Plan.layered`). `BoostedCascade` (CA) adds one shrunken exact
step per round. `StackedCascade` (ST) takes models in the order of that boosting and refits all weights at every stage,
on the survivors. `ForwardCascade` chooses the model along which the loss after the last fit falls most, and fits on all
examples. Thresholds are learned scores, not shares of the collection that is ranked, so the score of an item does not
depend on the other items.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from mediarank.learners.boosting.costs import Costs, relative_costs
from mediarank.learners.boosting.plan import Plan, Positions
from mediarank.learners.boosting.rankboost import distribution, rates, require_scores, step_length
from mediarank.learners.fusion.stacking import balanced_weights, ridge_logistic
from mediarank.types import Doubles, Floats

Labels = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Schedule:
    """The first stage sees all examples, the second a share of `first`, each later one `keep` times as many.

    floor : the least share; first : `keep` by default, so that stage t sees max(floor, keep^t)
    """

    keep: float = 0.5
    floor: float = 0.1
    first: float | None = None

    def count(self, stage: int, examples: int) -> int:
        second = self.keep if self.first is None else self.first
        share = second * self.keep ** (stage - 1) if stage else 1.0
        return max(1, round(max(self.floor, share) * examples))


def survivors(scores: Doubles, active: Positions, count: int) -> tuple[Positions, float]:
    """The `count` best of `active`, with ties of the last one, and the threshold that keeps them.

    The threshold lies half-way to the best of the others, so that rounding can't push an example over it.
    """
    if count >= len(active):
        return active, -np.inf
    current = scores[active]
    cut = np.partition(current, len(current) - count)[len(current) - count]
    below = current[current < cut]
    threshold = cut if not len(below) else 0.5 * (cut + below.max())
    return active[current >= cut], float(threshold)


def with_recall(scores: Doubles, active: Positions, relevant: Labels, recall: float, count: int) -> int:
    """How many of `active` must be kept so that `recall` of all relevant examples remain; at least `count`."""
    ordered = np.sort(scores[active][relevant[active]])[::-1]
    wanted = min(len(ordered), int(np.ceil(recall * relevant.sum())))
    return count if wanted < 1 else max(count, int((scores[active] >= ordered[wanted - 1]).sum()))


@dataclass
class BoostedCascade:
    """RankBoost over a shrinking set of survivors (CA).

    rounds : at most
    keep, floor : see Schedule
    shrinkage : part of the exact step that is taken; models with a negative weight are skipped
    cost_weight : μ; a model's price, relative to the mean, times μ is taken off its rate
    """

    rounds: int = 60
    keep: float = 0.5
    floor: float = 0.1
    shrinkage: float = 0.3
    cost_weight: float = 0.0
    models_: Positions = field(init=False, repr=False)
    plan_: Plan = field(init=False, repr=False)

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, costs: Costs | None = None) -> BoostedCascade:
        """X : (n, models) scores in [−1, 1]; y : (n,) which items are relevant; costs : of evaluating a model"""
        scores, relevant = require_scores(X, y)
        costs = relative_costs(costs, scores.shape[1])
        prices = costs.prices()
        schedule = Schedule(self.keep, self.floor)
        f = np.zeros(len(scores))
        active: Positions = np.arange(len(scores))
        steps: list[dict[int, float]] = []
        thresholds: list[float] = []
        for t in range(self.rounds):
            active, threshold = survivors(f, active, schedule.count(t, len(scores)))
            if not _both_kinds(relevant[active]):
                break
            u, _ = distribution(f[active], relevant[active])
            r = rates(scores[active], u)
            k = int(np.argmax(r - self.cost_weight * prices))
            exact = step_length(scores[active, k], np.arange(len(active)), u, r[k], "symmetric", "exact")
            alpha = np.float64(self.shrinkage * exact)
            if alpha <= 0:
                break
            f[active] += alpha * scores[active, k]
            steps.append({k: float(alpha)})
            thresholds.append(threshold)
            costs.pay(prices, k)
        self.plan_ = Plan.of_steps(steps, thresholds, layered=True)
        self.models_ = self.plan_.models
        return self

    def predict(self, X: Floats) -> Doubles:
        return self.plan_.score(X)


@dataclass
class StackedCascade:
    """The models of `BoostedCascade` in its order, with all weights refitted to the survivors of each stage (ST).

    stages : number of models, at most
    strength : C of the ridge logistic regression
    """

    stages: int = 40
    keep: float = 0.5
    floor: float = 0.1
    shrinkage: float = 0.3
    strength: float = 0.03
    cost_weight: float = 0.0
    plan_: Plan = field(init=False, repr=False)

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, costs: Costs | None = None) -> StackedCascade:
        scores, relevant = require_scores(X, y)
        boosted = BoostedCascade(4 * self.stages, self.keep, self.floor, self.shrinkage, self.cost_weight)
        order = boosted.fit(scores, relevant, costs).plan_.distinct_models[: self.stages]
        schedule = Schedule(self.keep, self.floor)
        stack = Stack(scores, relevant, self.strength)
        active: Positions = np.arange(len(scores))
        for t, model in enumerate(order):
            active, threshold = survivors(stack.f, active, schedule.count(t, len(scores)))
            if not _both_kinds(relevant[active]):
                break
            stack.add(model, threshold, fitted_on=active, applied_to=active)
        self.plan_ = stack.plan()
        return self

    def predict(self, X: Floats) -> Doubles:
        return self.plan_.score(X)


@dataclass
class ForwardCascade:
    """Forward selection with a shrinking set of survivors.

    At each stage the next model is the one along which the logistic loss of the survivors falls most steeply, with
    scores scaled to equal spread; then all weights are refitted to all examples, including pruned ones, because
    examples are few. Every model is used once.

    stages, keep, floor, first : number of models, at most; see Schedule
    per_relevant : survivors for each relevant example, at least, so that concepts that are not rare keep enough
    recall : share of the relevant examples that each stage keeps, whatever the schedule says; 0 leaves it to the
        schedule
    strength : C of the ridge logistic regression
    cost_weight : μ; the slope is divided by `1 + μ · price`, prices relative to their mean
    """

    stages: int = 40
    keep: float = 0.5
    floor: float = 0.1
    strength: float = 0.01
    cost_weight: float = 0.0
    recall: float = 0.0
    first: float | None = None
    per_relevant: float = 0.0
    plan_: Plan = field(init=False, repr=False)

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, costs: Costs | None = None) -> ForwardCascade:
        scores, relevant = require_scores(X, y)
        stack = Stack(scores, relevant, self.strength)
        floor = min(1.0, max(self.floor, self.per_relevant * float(relevant.mean())))
        schedule = Schedule(self.keep, floor, self.first)
        forward_stages(stack, schedule, self.stages, self.recall, self.cost_weight, costs)
        self.plan_ = stack.plan()
        return self

    def predict(self, X: Floats) -> Doubles:
        return self.plan_.score(X)


def _both_kinds(relevant: Labels) -> bool:
    return bool(relevant.any() and not relevant.all())


def forward_stages(
    stack: Stack, schedule: Schedule, stages: int, recall: float, cost_weight: float, costs: Costs | None
) -> Positions:
    """Add the stages of `ForwardCascade` to a stack; returns the survivors of the last one."""
    scores, relevant = stack.scores, stack.relevant
    costs = relative_costs(costs, scores.shape[1])
    prices = costs.prices()
    all_examples: Positions = np.arange(len(scores))
    active = all_examples
    left = np.ones(scores.shape[1], dtype=np.bool_)
    for t in range(min(stages, scores.shape[1])):
        kept, threshold = survivors(stack.f, active, stack.count(active, schedule, recall, t))
        if not _both_kinds(relevant[kept]):
            break
        value = _slopes(scores[kept], relevant[kept], stack.f[kept]) / (1 + cost_weight * prices)
        model = int(np.argmax(np.where(left, value, -np.inf)))
        if value[model] <= 0:
            break
        active = kept
        left[model] = False
        costs.pay(prices, model)
        stack.add(model, threshold, fitted_on=all_examples, applied_to=active)
    return active


def _slopes(scores: Floats, relevant: Labels, f: Doubles) -> Doubles:
    """How steeply the class-balanced logistic loss falls along each model, for scores of one spread."""
    residual = balanced_weights(relevant) * (relevant - expit(f)) / len(f)
    centred = scores - scores.mean(axis=0)
    # A spread of 0.05 of the range [−1, 1] is added: dividing by less would favour models with nearly constant scores.
    return np.asarray(residual @ centred / (centred.std(axis=0) + 0.1))


@dataclass
class Stack:
    """A plan under construction; each stage refits the weights of all models so far."""

    scores: Floats
    relevant: Labels
    strength: float
    f: Doubles = field(init=False)
    models: list[int] = field(default_factory=list)
    steps: list[dict[int, float]] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)
    offsets: list[float] = field(default_factory=list)
    weights: Doubles = field(default_factory=lambda: np.zeros(1))

    def __post_init__(self) -> None:
        self.f = np.zeros(len(self.scores))

    def add(self, model: int, threshold: float, fitted_on: Positions, applied_to: Positions) -> None:
        """One more model; the scores of `applied_to` become those of weights fitted to `fitted_on`."""
        self.models.append(model)
        used = self.scores[:, self.models]
        before = np.insert(self.weights, len(self.models) - 1, 0.0)  # the intercept stays last
        self.weights = ridge_logistic(used[fitted_on], self.relevant[fitted_on], self.strength, start=before)
        change = self.weights - before
        self.f[applied_to] += change[-1] + used[applied_to] @ change[:-1]
        self.steps.append(dict(zip(self.models, change[:-1].tolist(), strict=True)))
        self.offsets.append(float(change[-1]))
        self.thresholds.append(threshold)

    def count(self, active: Positions, schedule: Schedule, recall: float, stage: int) -> int:
        """How many of `active` the stage keeps: what the schedule says, or more where recall needs it."""
        wanted = schedule.count(stage, len(self.scores))
        return with_recall(self.f, active, self.relevant, recall, wanted)

    def finish(self, weights: Doubles, threshold: float) -> None:
        """A last stage that gives survivors the scores of `weights` (models + 1,), the intercept last."""
        change = weights.copy()
        change[[*self.models, -1]] -= self.weights
        self.steps.append(dict(enumerate(change[:-1].tolist())))
        self.offsets.append(float(change[-1]))
        self.thresholds.append(threshold)

    def plan(self) -> Plan:
        return Plan.of_steps(self.steps, self.thresholds, self.offsets, layered=True)
