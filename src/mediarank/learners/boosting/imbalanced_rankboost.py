"""Imbalanced RankBoost: every round also learns a threshold below which examples drop out (paper 000, section 4).

A round sorts the examples by their score so far, so that the survivors of any threshold are a prefix; running sums over
the prefixes give r of every model at every threshold (eq 16), and the entry with the lowest penalised bound (eq 17)
gives the model and the threshold together. That is O(N log N + KN) per round for N survivors and K models.
docs/papers/concepts.md lists how we read what the paper leaves open.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.learners.boosting.costs import Costs, relative_costs
from mediarank.learners.boosting.plan import Plan, Positions
from mediarank.learners.boosting.rankboost import (
    RATE_LIMIT,
    WIDTH,
    ScoreRange,
    Step,
    additive_gain,
    additive_plan,
    distribution,
    in_range,
    require_scores,
    step_length,
)
from mediarank.types import Doubles, Floats

Regulariser = Literal["squared", "exponential", "above_lowest"]

_REGULARISERS: Final[dict[Regulariser, int]] = {"squared": 1, "exponential": 2, "above_lowest": 3}
"""The three of eq 8, by their number there; `_penalty` computes them."""


@dataclass
class ImbalancedRankBoost:
    """Boosting that prunes. The defaults are those of the paper.

    rounds, score_range, step, tolerance : as for RankBoost; with [0, 1], survivors can only rise above the pruned
    regulariser : what a threshold costs: `squared` distance to the last one, its `exponential`, or the squared
        distance to the `above_lowest` survivor's score
    regularization : λ relative to n₊n₋; the paper's 10⁵ is about 0.05 there
    first_threshold : θ₀; None is the lowest score after round 0, −inf with a positive λ makes it plain RankBoost
    cost_weight : μ of `μ · price_k · survivors / N`, added to every entry of model k, prices relative to their mean
    """

    rounds: int = 200
    score_range: ScoreRange = "symmetric"
    step: Step = "bound"
    regulariser: Regulariser = "squared"
    regularization: float = 0.05
    tolerance: float = 1e-6
    first_threshold: float | None = None
    cost_weight: float = 0.0
    models_: Positions = field(init=False, repr=False)
    weights_: Doubles = field(init=False, repr=False)
    thresholds_: Doubles = field(init=False, repr=False)
    losses_: Doubles = field(init=False, repr=False)
    bounds_: Doubles = field(init=False, repr=False)
    plan_: Plan = field(init=False, repr=False)

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, costs: Costs | None = None) -> ImbalancedRankBoost:
        """X : (n, models) scores in [−1, 1]; y : (n,) which items are relevant; costs : of evaluating a model

        Learns `models_`, `weights_` and `thresholds_`, one per round; `losses_`, the loss relative to n₊n₋ before
        round 0 and after each round; `bounds_`, the penalised bound L′ of each round (eq 12).
        """
        scores, relevant = require_scores(X, y)
        costs = relative_costs(costs, scores.shape[1])
        prices = costs.prices()
        h = in_range(scores, self.score_range)
        f = np.zeros(len(h))
        theta = -np.inf
        active: Positions = np.arange(len(h))
        rounds: list[tuple[int, float, float]] = []
        losses: list[float] = [1.0]
        bounds: list[float] = []
        u, loss = distribution(f, relevant)
        for t in range(self.rounds):
            if not len(active):
                break
            k, threshold, bound, rate = self._best_entry(h, active, f, u, loss, theta, prices, first=t == 0)
            active = active[f[active] >= threshold]
            alpha = step_length(h[:, k], active, u, rate, self.score_range, self.step)
            if alpha == 0.0 or (bounds and abs(bounds[-1] - bound) < self.tolerance):
                break
            f[active] += additive_gain(scores[active, k], alpha, self.score_range)
            u, loss = distribution(f, relevant)
            losses.append(loss)
            bounds.append(bound)
            rounds.append((k, alpha, threshold))
            theta = self._first_threshold(f) if t == 0 else threshold
            active = active[f[active] >= theta]
            costs.pay(prices, k)
        chosen, alphas, thresholds = zip(*rounds, strict=True) if rounds else ((), (), ())
        self.models_ = np.array(chosen, dtype=np.intp)
        self.weights_ = np.array(alphas, dtype=np.float64)
        self.thresholds_ = np.array(thresholds, dtype=np.float64)
        self.losses_, self.bounds_ = np.array(losses), np.array(bounds)
        self.plan_ = additive_plan(self.models_, self.weights_, self.thresholds_, self.score_range)
        return self

    def predict(self, X: Floats) -> Doubles:
        return self.plan_.score(X)

    def _first_threshold(self, f: Doubles) -> float:
        return float(f.min()) if self.first_threshold is None else self.first_threshold

    def _best_entry(
        self,
        h: Floats,
        active: Positions,
        f: Doubles,
        u: Doubles,
        loss: float,
        theta: float,
        prices: Doubles,
        first: bool,
    ) -> tuple[int, float, float, float]:
        """Model, threshold, penalised bound and r of the entry with the lowest bound."""
        width = WIDTH[self.score_range] if self.step == "exact" else 1.0
        # Round 0 is RankBoost's: an infinite λ leaves only the entry that prunes nothing.
        strength = np.inf if first else self.regularization
        current = f[active]
        order = active[np.argsort(-current)]
        above = current[current > theta]
        lowest = float(above.min()) if len(above) else theta
        model, _, threshold, bound, rate = _best_entry(
            h, active, order, f, u, loss, theta, lowest, _REGULARISERS[self.regulariser], strength, width,
            RATE_LIMIT, prices, self.cost_weight,
        )  # fmt: skip
        return int(model), float(threshold), float(bound), float(rate)


@njit(cache=True)
def _best_entry(
    h: Any, active: Any, order: Any, f: Any, u: Any, loss: float, theta: float, lowest: float, regulariser: int,
    strength: float, width: float, limit: float, prices: Any, cost_weight: float,
) -> Any:  # fmt: skip
    """The lowest entry of the matrix of eq 17, without writing the matrix.

    active : survivors so far; order : the same by falling score, so that a threshold keeps a prefix

    Thresholds rise from the old one; examples are removed from the sums of eq 16, the lowest first. Removing one
    changes no |r| by more than its weight, so most thresholds are known to be no better without updating the sums. Once
    the penalty alone is no better, or too little weight is left, no higher threshold can be better either.
    """
    narrow, ceiling = 1.0 / (width * width), limit * limit
    running = np.zeros(h.shape[1])
    _add(running, h, u, active, 1.0)
    summed = len(order)  # `running` holds r over the first `summed` examples of `order`
    best_running = running.copy()
    price = cost_weight * summed / len(f)
    cheapest = prices.min()
    best_survivors, best_theta = summed, theta
    penalty = _penalty(theta, theta, lowest, regulariser, strength)
    if summed and _penalty(f[order[-1]], theta, lowest, regulariser, strength) < penalty:
        best_theta = f[order[-1]]  # keeps the same examples as the old threshold
        penalty = _penalty(best_theta, theta, lowest, regulariser, strength)
    best_bound = _least_priced(running, prices, loss, narrow, ceiling, price) + penalty
    reach = np.sqrt(_largest_square(running))  # no |r| is larger
    kept = np.abs(u[order]).sum()  # nor larger than the remaining weight
    for p in range(len(order) - 1, 0, -1):
        kept -= abs(u[order[p]])
        reach = min(reach + abs(u[order[p]]), kept)
        candidate = f[order[p - 1]]
        if candidate == f[order[p]]:
            continue  # examples of equal score are kept or pruned together
        penalty = _penalty(candidate, theta, lowest, regulariser, strength)
        if penalty >= best_bound:
            break
        price = cost_weight * p / len(f)
        wanted = (best_bound - penalty - price * cheapest) / loss  # of √(1 − r²), to be better
        if wanted <= 0 or 1 - min(reach * reach * narrow, ceiling) >= wanted * wanted:
            if reach == kept and cost_weight == 0.0:
                break  # fewer examples weigh less, and higher thresholds cost more
            continue
        _add(running, h, u, order[p:summed], -1.0)
        summed = p
        reach = np.sqrt(_largest_square(running))
        if price == 0.0:
            bound = loss * np.sqrt(1 - min(reach * reach * narrow, ceiling)) + penalty
        else:
            bound = _least_priced(running, prices, loss, narrow, ceiling, price) + penalty
        if bound < best_bound:
            best_bound, best_survivors, best_theta = bound, p, candidate
            for k in range(len(running)):
                best_running[k] = running[k]
    price = cost_weight * best_survivors / len(f)
    best_model = _argmin_priced(best_running, prices, loss, narrow, ceiling, price)
    return best_model, best_survivors, best_theta, best_bound, best_running[best_model]


@njit(cache=True)
def _add(running: Any, h: Any, u: Any, examples: Any, sign: float) -> None:
    """Add the contribution of `examples` to every r (eq 16), or subtract it."""
    for i in range(len(examples)):
        n = examples[i]
        weight = sign * u[n]
        for k in range(len(running)):
            running[k] += weight * h[n, k]


@njit(cache=True)
def _penalty(candidate: float, theta: float, lowest: float, regulariser: int, strength: float) -> float:
    """λΩ of a candidate threshold; of eq 8's sums only the last summand depends on it."""
    if strength == np.inf:
        return 0.0 if candidate == theta else np.inf
    if strength == 0.0:
        return 0.0
    if regulariser == 1:
        gap = 0.0 if candidate == theta else candidate - theta
        return strength * gap * gap
    if regulariser == 2:
        gap = 0.0 if candidate == theta else candidate - theta
        return strength * float(np.exp(gap))
    gap = 0.0 if candidate == lowest else candidate - lowest
    return strength * gap * gap


@njit(cache=True, fastmath={"nnan", "nsz"})  # no sums are reordered: the flags only let the maximum be vectorised
def _largest_square(running: Any) -> float:
    largest = 0.0
    for k in range(len(running)):
        largest = max(largest, running[k] * running[k])
    return largest


@njit(cache=True, fastmath={"nnan", "nsz"})
def _least_priced(running: Any, prices: Any, loss: float, narrow: float, ceiling: float, price: float) -> float:
    least = loss + price * prices[0]
    for k in range(len(running)):
        square = min(running[k] * running[k] * narrow, ceiling)
        least = min(least, loss * np.sqrt(1 - square) + price * prices[k])
    return float(least)


@njit(cache=True)
def _argmin_priced(running: Any, prices: Any, loss: float, narrow: float, ceiling: float, price: float) -> int:
    """The model with the lowest priced bound; among those beyond the clip, the one with the largest |r|."""
    best, least, largest = 0, np.inf, 0.0
    for k in range(len(running)):
        square = running[k] * running[k]
        priced = loss * np.sqrt(1 - min(square * narrow, ceiling)) + price * prices[k]
        if priced < least or (priced == least and square > largest):
            best, least, largest = k, priced, square
    return best
