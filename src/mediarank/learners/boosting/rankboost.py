"""RankBoost for two kinds of items, relevant and not (Freund et al. 2003; paper 000, section 3).

First the settings that it shares with Imbalanced RankBoost, then the learner, then the parts of one round:
`distribution` weighs the examples, `rates` measures how well each model orders them, `step_length` says how far to
follow the best one. Paper 000 prints eqs 3 and 15 with the sign of the opposite convention; here r is the rate at
which a model orders pairs correctly, so that the loss falls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
from numba import njit

from mediarank.learners.boosting.plan import Plan, Positions
from mediarank.types import DataError, Doubles, Floats

ScoreRange = Literal["symmetric", "unit"]
Step = Literal["bound", "exact"]

WIDTH: Final[dict[ScoreRange, float]] = {"symmetric": 2.0, "unit": 1.0}
"""The largest difference of two scores; the linear bound on exp(−αA) must cover it."""

RATE_LIMIT: Final = 0.99
"""|r| is clipped here, because a model that orders all pairs correctly would get an infinite weight."""


@dataclass
class RankBoost:
    """Boosting of models that score in [−1, 1].

    rounds : at most
    score_range : the range of h, [−1, 1] as in section 5.1 or [0, 1] as in figure 2; without thresholds they
        differ in the step only
    step : `bound` is eq 2 with |r| clipped, which for [−1, 1] is no longer the minimiser of an upper bound;
        `exact` minimises the loss itself along the chosen model
    tolerance : stop when the loss, relative to n₊n₋, changes by less
    """

    rounds: int = 200
    score_range: ScoreRange = "symmetric"
    step: Step = "bound"
    tolerance: float = 1e-6
    models_: Positions = field(init=False, repr=False)
    weights_: Doubles = field(init=False, repr=False)
    losses_: Doubles = field(init=False, repr=False)
    plan_: Plan = field(init=False, repr=False)

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> RankBoost:
        """X : (n, models) scores in [−1, 1]; y : (n,) which items are relevant"""
        scores, relevant = require_scores(X, y)
        h = in_range(scores, self.score_range)
        all_examples = np.arange(len(h))
        f = np.zeros(len(h))
        chosen: list[tuple[int, float]] = []
        losses = [1.0]
        u, _ = distribution(f, relevant)
        for _ in range(self.rounds):
            r = rates(h, u)
            k = int(np.argmax(np.abs(r)))
            alpha = step_length(h[:, k], all_examples, u, r[k], self.score_range, self.step)
            if alpha == 0.0:
                break
            f += additive_gain(scores[:, k], alpha, self.score_range)
            u, loss = distribution(f, relevant)
            losses.append(loss)
            chosen.append((k, alpha))
            if abs(losses[-2] - losses[-1]) < self.tolerance:
                break
        self.models_ = np.array([k for k, _ in chosen], dtype=np.intp)
        self.weights_ = np.array([alpha for _, alpha in chosen])
        self.losses_ = np.array(losses)
        self.plan_ = additive_plan(self.models_, self.weights_, np.full(len(chosen), -np.inf), self.score_range)
        return self

    def predict(self, X: Floats) -> Doubles:
        return self.plan_.score(X)


def require_scores(X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Checked input of a learner over model scores: float32 rows in [−1, 1], and both relevant and other items."""
    scores = np.ascontiguousarray(X, dtype=np.float32)
    relevant = np.asarray(y) > 0
    if scores.ndim != 2 or relevant.shape != (len(scores),):
        raise DataError(f"Scores of shape {scores.shape} can't be learned from with labels of shape {relevant.shape}.")
    if not (relevant.any() and not relevant.all()):
        raise DataError(
            f"{int(relevant.sum())} of {len(relevant)} items are relevant, but a ranker needs both relevant and "
            "other items. Leave this concept out, or label more items of the role that rankers are fitted on."
        )
    if not (np.abs(scores) <= 1).all():  # NaN fails too
        raise DataError("Model scores must lie in [−1, 1]; normalise them as SVMPool.normalised does.")
    return scores, relevant


def in_range(scores: Floats, score_range: ScoreRange) -> Floats:
    return scores if score_range == "symmetric" else (scores + 1) * np.float32(0.5)


def additive_gain(scores: Floats, alpha: float, score_range: ScoreRange) -> Doubles:
    """`α h` of scores in [−1, 1], by the same operations as in a walk.

    So a threshold equal to an example's score keeps that example when the plan is carried out.
    """
    offset, weight = _affine(np.float64(alpha), score_range)
    return np.asarray(offset + weight * scores, dtype=np.float64)


def additive_plan(models: Positions, weights: Doubles, thresholds: Doubles, score_range: ScoreRange) -> Plan:
    """One model per step."""
    offsets, slopes = _affine(weights, score_range)
    return Plan(thresholds, offsets, np.arange(len(models) + 1), models, slopes)


def _affine(weights: Any, score_range: ScoreRange) -> tuple[Any, Any]:
    """Offset and slope on scores x in [−1, 1]; for [0, 1] it is `α h = α (x + 1)/2`."""
    return (0.0 * weights, weights) if score_range == "symmetric" else (0.5 * weights, 0.5 * weights)


def distribution(f: Doubles, relevant: npt.NDArray[np.bool_]) -> tuple[Doubles, float]:
    """Signed weights u (n,) of the examples, and the loss `Σ exp(f(x1) − f(x0))` relative to n₊n₋.

    C_t(x0, x1) factorises into v(x0) v(x1) (eq 13), each summing to 1 over its kind; u is v on relevant examples
    and −v on the others, so that r = Σ u h (eq 14 with s = +1 on relevant ones).
    """
    u = np.where(relevant, -f, f)
    top, bottom = u[relevant].max(), u[~relevant].max()
    u -= np.where(relevant, top, bottom)
    np.exp(u, out=u)
    z0, z1 = u[relevant].sum(), u[~relevant].sum()
    loss = float(np.exp(top + bottom + np.log(z0 / relevant.sum()) + np.log(z1 / (~relevant).sum())))
    u /= np.where(relevant, z0, -z1)
    return u, loss


def rates(h: Floats, u: Doubles) -> Doubles:
    """r of every model, (models,): how much more weight it gives relevant examples (eq 14)."""
    return np.asarray(_rates(h, u))


def step_length(h: Floats, active: Positions, u: Doubles, rate: float, score_range: ScoreRange, step: Step) -> float:
    """α for the chosen model, `h` (n,), which counts as 0 outside `active`."""
    limit = float(np.arctanh(RATE_LIMIT))
    if step == "bound":
        return float(np.arctanh(np.clip(rate, -RATE_LIMIT, RATE_LIMIT)))  # eqs 2, 11
    outside = np.ones(2)
    outside[0] -= u[active][u[active] > 0].sum()
    outside[1] += u[active][u[active] < 0].sum()
    return float(_exact_step(h, active, u, np.maximum(outside, 0), limit))


@njit(cache=True)
def _rates(h: Any, u: Any) -> Any:
    totals = np.zeros(h.shape[1])
    for n in range(h.shape[0]):
        weight = u[n]
        for k in range(h.shape[1]):
            totals[k] += weight * h[n, k]
    return totals


@njit(cache=True)
def _exact_step(h: Any, active: Any, u: Any, outside: Any, limit: float) -> float:
    """Minimise `log Z(α) = log Σ v0 e^{−αh} + log Σ v1 e^{αh}`, which is convex, by Newton within a shrinking bracket.

    outside : weight of relevant and of other examples that are not active, whose h is 0
    """
    low, high = -limit, limit
    alpha = 0.0
    for _ in range(60):
        z0, a0, b0 = outside[0], 0.0, 0.0
        z1, a1, b1 = outside[1], 0.0, 0.0
        for i in range(len(active)):
            n = active[i]
            x = float(h[n])
            if u[n] > 0:
                w = u[n] * np.exp(-alpha * x)
                z0 += w
                a0 += w * x
                b0 += w * x * x
            else:
                w = -u[n] * np.exp(alpha * x)
                z1 += w
                a1 += w * x
                b1 += w * x * x
        slope = a1 / z1 - a0 / z0
        curvature = b1 / z1 - (a1 / z1) ** 2 + b0 / z0 - (a0 / z0) ** 2
        if slope > 0:
            high = alpha
        else:
            low = alpha
        if slope == 0 or high - low < 1e-10:
            break
        newton = alpha - slope / curvature if curvature > 1e-12 else limit + 1
        alpha = newton if low < newton < high else 0.5 * (low + high)
    return alpha
