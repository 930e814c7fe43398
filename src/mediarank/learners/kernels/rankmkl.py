"""RankMKL: RankSVM that also learns how much each of several kernels counts (paper 004, section 3.3).

Eq. 8, read so that it has a minimum (as printed it is unbounded): minimise over d ≥ 0

    T(d) = r(d) + max over 0 ≤ α ≤ C of 1ᵀα − ½ αᵀQ_dα,    Q_d = Σ_k d_k A K_k Aᵀ

with r(d) = σ/2 ‖d‖² ("l2", the paper's) or σ Σ d_k ("l1", sparse). T is convex, its gradient is r'(d) − ½ αᵀQ_kα at the
α of the inner problem, and projected gradient descent with a line search (generalised MKL of Varma & Babu, 2009) finds
the minimum; every inner problem starts from the last one's α. With "l2" a step of 1/σ goes to d_k = αᵀQ_kα / 2σ, which
at the optimum is d itself: it is the first step tried, and the test of convergence. "fixed" keeps d at its start:
RankSVM on the mean of the kernels, the baseline for learned weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from mediarank.learners.kernels.kernel_stack import GramStack, KernelStack
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs
from mediarank.learners.pairwise.ranksvm import Descent, DualSolution, Loss
from mediarank.types import ConfigError, Doubles

Regularizer = Literal["l1", "l2", "fixed"]


@dataclass(frozen=True)
class Step:
    """One accepted step of the outer descent: T(d), how far d is from its optimality conditions, the step's length."""

    objective: float
    residual: float
    length: float
    weights: tuple[float, ...]


class RankMKL(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Learn kernel weights and a ranking together.

    `C` and `sigma` set one trade-off, not two: the optimal scores depend on `C/σ^⅓` ("l2") or `C/σ^½` ("l1") alone, so
    leave `sigma` at 1 and search over `C`.

    tol : largest change, relative to the largest weight, that the optimality conditions still ask of a weight
    weights_ : d; `coef_` : β (or v for a MapStack); `alpha_` : the pairs' multipliers, a warm start
    history_ : the accepted steps, from the start; `converged_` : whether `tol` was met within `max_steps`
    """

    def __init__(
        self,
        C: float = 1.0,
        sigma: float = 1.0,
        regularizer: Regularizer = "l2",
        loss: Loss = "l1",
        tol: float = 1e-2,
        max_steps: int = 100,
        inner_tol: float = 1e-3,
        max_sweeps: int = 1000,
        seed: int = 0,
    ) -> None:
        self.C = C
        self.sigma = sigma
        self.regularizer = regularizer
        self.loss = loss
        self.tol = tol
        self.max_steps = max_steps
        self.inner_tol = inner_tol
        self.max_sweeps = max_sweeps
        self.seed = seed

    def fit(
        self,
        kernels: KernelStack | npt.NDArray[np.floating],
        pairs: OrderedPairs,
        weights: Doubles | None = None,
        alpha: Doubles | None = None,
    ) -> RankMKL:
        """Learn from Gram matrices (t, n, n), or a KernelStack, and ordered pairs; warm starts may be given."""
        stack = _stack(kernels)
        outer = _Outer(stack, pairs, self.sigma, self.regularizer, self._descent())
        d = np.full(len(stack), 1 / len(stack)) if weights is None else np.asarray(weights, dtype=np.float64)
        here = outer.at(d, alpha)
        if weights is None and self.regularizer != "fixed":
            here = outer.at(outer.alternated(here), here.inner.alpha)
        length = 1.0 / self.sigma
        self.history_ = [here.step(0.0)]
        self.converged_ = here.residual <= self.tol
        while not self.converged_ and len(self.history_) <= self.max_steps:
            there, length = outer.line_search(here, length)
            if there is None:
                break  # no step lowers T: d is as good as the inner tolerance allows
            moved, turned = there.weights - here.weights, there.gradient - here.gradient
            self.history_.append(there.step(length))
            self.converged_ = there.residual <= self.tol
            here = there
            if moved @ turned > 0:
                length = float(moved @ moved / (moved @ turned))  # Barzilai & Borwein
        self.weights_, self.coef_, self.alpha_ = here.weights, here.inner.coef, here.inner.alpha
        self.objective_, self.gap_ = here.objective, here.inner.gap
        return self

    def predict(self, kernels: KernelStack | npt.NDArray[np.floating]) -> Doubles:
        """Scores of m items from kernels (t, m, n) with the training items; a higher score shows more."""
        return _stack(kernels).scores(self.weights_, self.coef_)

    def _descent(self) -> Descent:
        if not self.sigma > 0:
            raise ConfigError(f"sigma must be positive, or the kernel weights grow without end; it is {self.sigma}.")
        if self.regularizer not in ("l1", "l2", "fixed"):
            raise ConfigError(f"regularizer must be 'l1', 'l2' or 'fixed', not {self.regularizer!r}.")
        return Descent(self.C, self.loss, self.inner_tol, self.max_sweeps, self.seed)


def _stack(kernels: KernelStack | npt.NDArray[np.floating]) -> KernelStack:
    return GramStack(kernels) if isinstance(kernels, np.ndarray) else kernels


@dataclass(frozen=True)
class _Point:
    """T and its derivatives at one d."""

    weights: Doubles
    inner: DualSolution
    objective: float
    gradient: Doubles
    residual: float

    def step(self, length: float) -> Step:
        return Step(self.objective, self.residual, length, tuple(self.weights.tolist()))


@dataclass(frozen=True)
class _Outer:
    """The outer problem: T(d), its gradient, and steps downhill."""

    stack: KernelStack
    pairs: OrderedPairs
    sigma: float
    regularizer: Regularizer
    descent: Descent

    def at(self, d: Doubles, alpha: Doubles | None) -> _Point:
        inner = self.stack.solve(d, self.pairs, self.descent, alpha)
        if self.regularizer == "fixed":
            return _Point(d, inner, inner.objective, np.zeros_like(d), 0.0)
        pull = 0.5 * self.stack.energies(inner.coef)
        if self.regularizer == "l2":
            value, gradient = 0.5 * self.sigma * float(d @ d), self.sigma * d - pull
        else:
            value, gradient = self.sigma * float(d.sum()), self.sigma - pull
        moved = np.abs(d - np.maximum(d - gradient / self.sigma, 0.0)).max()
        scale = max(float(d.max()), float(pull.max()) / self.sigma, 1e-12) if self.regularizer == "l2" else 1.0
        return _Point(d, inner, value + inner.objective, gradient, float(moved) / scale)

    def alternated(self, here: _Point) -> Doubles:
        """The best d for the w that belongs to `here`, in closed form.

        With ‖w_k‖² = d_k² αᵀQ_kα fixed, `Σ ‖w_k‖²/2d_k + r(d)` is least at `d_k³ = ‖w_k‖²/2σ` ("l2") or
        `d_k² = ‖w_k‖²/2σ` ("l1"). It never raises T, and brings a start of the wrong magnitude to the right one.
        """
        squared_norms = here.weights**2 * self.stack.energies(here.inner.coef)
        power = 1 / 3 if self.regularizer == "l2" else 1 / 2
        return np.asarray((squared_norms / (2 * self.sigma)) ** power)

    def line_search(self, here: _Point, length: float) -> tuple[_Point | None, float]:
        """Halve the step along the projected gradient until T falls enough (Armijo); None if no step makes it fall."""
        for _ in range(20):
            d = np.maximum(here.weights - length * here.gradient, 0.0)
            there = self.at(d, here.inner.alpha)
            if there.objective <= here.objective - 1e-4 / length * float((d - here.weights) @ (d - here.weights)):
                return there, length
            length /= 2
        return None, length
