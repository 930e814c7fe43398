"""A learned ranker as data: a plan of steps, and the walk that carries it out.

A step adds a weighted sum of model scores to every remaining item; an item is pruned for good when its score
so far is below the threshold of a step. RankBoost, Imbalanced RankBoost, the cascades, stacking and mean fusion are
all fitted to such a plan, so one walk ranks with any of them, evaluates a model only on the items that need it, and
counts the evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mediarank.types import DataError, Doubles

Positions = npt.NDArray[np.intp]
Evaluate = Callable[[int, Positions], npt.NDArray[Any]]
"""`evaluate(model, items)`: the scores of one model for some items, in their order."""


@dataclass(frozen=True)
class Plan:
    """T steps over the models of a pool.

    thresholds : (T,) what an item's score so far must reach to take the step; −inf lets all items in
    offsets : (T,) added to the score of the items that take the step
    starts : (T + 1,) step t uses the entries starts[t] to starts[t + 1] of:
    models, weights : which models, and how much each counts
    layered : items that took more steps rank above items that took fewer, whatever their scores
    """

    thresholds: Doubles
    offsets: Doubles
    starts: Positions
    models: Positions
    weights: Doubles
    layered: bool = False

    def __post_init__(self) -> None:
        steps = len(self.thresholds)
        shapes = (len(self.offsets), len(self.starts) - 1, len(self.models))
        if shapes != (steps, steps, len(self.weights)) or self.starts[0] != 0 or self.starts[-1] != len(self.models):
            raise DataError(f"A plan of {steps} steps has arrays that do not fit together: {shapes}.")

    @classmethod
    def of_steps(
        cls,
        steps: Sequence[Mapping[int, float]],
        thresholds: Sequence[float] | None = None,
        offsets: Sequence[float] | None = None,
        layered: bool = False,
    ) -> Plan:
        """From one mapping of models to weights per step.

        >>> Plan.of_steps([{3: 1.0}, {0: 0.5, 3: -0.25}], thresholds=[-np.inf, 0.2]).models.tolist()
        [3, 0, 3]
        """
        counts = [len(step) for step in steps]
        return cls(
            np.full(len(steps), -np.inf) if thresholds is None else np.asarray(thresholds, dtype=np.float64),
            np.zeros(len(steps)) if offsets is None else np.asarray(offsets, dtype=np.float64),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.intp),
            np.array([model for step in steps for model in step], dtype=np.intp),
            np.array([weight for step in steps for weight in step.values()], dtype=np.float64),
            layered,
        )

    def __len__(self) -> int:
        return len(self.thresholds)

    @property
    def prunes(self) -> bool:
        """Whether any step leaves items out."""
        return bool((self.thresholds > -np.inf).any())

    @property
    def distinct_models(self) -> list[int]:
        """Every model that the plan may evaluate, in the order of its first use."""
        return list(dict.fromkeys(self.models.tolist()))

    def first(self, steps: int) -> Plan:
        """The plan that stops after `steps` steps."""
        end = self.starts[steps]
        return Plan(
            self.thresholds[:steps],
            self.offsets[:steps],
            self.starts[: steps + 1],
            self.models[:end],
            self.weights[:end],
            self.layered,
        )

    def score(self, X: npt.NDArray[Any]) -> Doubles:
        """(n,) scores of items whose model scores are all known, (n, models)."""
        scores = np.zeros(len(X))
        for state in walk(self, lambda model, items: X[items, model], len(X)):
            scores = state.scores
        return scores


def pack_plans(plans: Sequence[Plan]) -> dict[str, npt.NDArray[Any]]:
    """Plans as a few arrays, one after another; `unpack_plan` takes one of them out."""
    joined = {name: [getattr(plan, name) for plan in plans] for name in ("thresholds", "offsets", "models", "weights")}
    return {
        **{name: np.concatenate(values) if values else np.zeros(0) for name, values in joined.items()},
        "counts": np.concatenate([np.zeros(0, np.intp), *(np.diff(plan.starts) for plan in plans)]),
        "steps": np.array([len(plan) for plan in plans], dtype=np.intp),
        "layered": np.array([plan.layered for plan in plans], dtype=bool),
    }


def unpack_plan(arrays: Mapping[str, npt.NDArray[Any]], number: int) -> Plan:
    """The plan with this number of those that `pack_plans` was given."""
    missing = sorted(set(_PACKED) - set(arrays))
    if missing:
        raise DataError(f"An archive of plans lacks {', '.join(missing)}; delete it and fit the rankers again.")
    ends = np.cumsum(arrays["steps"])
    steps = slice(int(ends[number] - arrays["steps"][number]), int(ends[number]))
    starts = np.concatenate([[0], np.cumsum(arrays["counts"])]).astype(np.intp)[steps.start : steps.stop + 1]
    entries = slice(int(starts[0]), int(starts[-1]))
    return Plan(
        arrays["thresholds"][steps],
        arrays["offsets"][steps],
        starts - starts[0],
        arrays["models"][entries],
        arrays["weights"][entries],
        bool(arrays["layered"][number]),
    )


_PACKED: Final = ("thresholds", "offsets", "models", "weights", "counts", "steps", "layered")


@dataclass(frozen=True)
class State:
    """The state of a walk after a step.

    scores : (n,) of all items; higher is better
    active : the items that took the step
    evaluations : (model, items) evaluated so far, summed
    """

    step: int
    scores: Doubles
    active: Positions
    evaluations: int


def walk(plan: Plan, evaluate: Evaluate, items: int) -> Iterator[State]:
    """Carry out a plan on items 0 … items − 1, one step at a time.

    A model is evaluated at most once per item, and never on a pruned item.
    """
    sums, layers = np.zeros(items), np.zeros(items, dtype=np.intp)
    active: Positions = np.arange(items)
    known: dict[int, npt.NDArray[Any]] = {}
    evaluations = 0
    for step in range(len(plan)):
        if plan.thresholds[step] > -np.inf:
            active = active[sums[active] >= plan.thresholds[step]]
        gain = np.full(len(active), plan.offsets[step])
        for entry in range(plan.starts[step], plan.starts[step + 1]):
            model = int(plan.models[entry])
            if model not in known:
                known[model] = np.zeros(items, dtype=np.float32)
                if len(active):
                    known[model][active] = evaluate(model, active)
                evaluations += len(active)
            gain += plan.weights[entry] * known[model][active]
        sums[active] += gain
        layers[active] = step
        yield State(step, _layered(sums, layers) if plan.layered else sums.copy(), active, evaluations)


def _layered(sums: Doubles, layers: Positions) -> Doubles:
    """Each layer gets an interval of length 1, in which its scores keep their order."""
    return layers + 0.5 + np.arctan(sums) / np.pi
