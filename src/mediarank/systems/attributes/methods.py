"""How the methods of `attributes` are learned: a ranker per attribute, with C chosen by cross-validation over images.

`learn_methods` gives each method that the settings name, as numbers that a `Model` keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from mediarank.learners.kernels.kernel_stack import GramStack, KernelStack, MapStack
from mediarank.learners.kernels.rankmkl import RankMKL
from mediarank.learners.pairwise.pair_validation import held_out_shares
from mediarank.similarity.fitted_kernel import fit_kernel
from mediarank.similarity.unit_range import UnitRange
from mediarank.systems.attributes.config import Config
from mediarank.systems.attributes.prepare import Prepared, ranksvm
from mediarank.systems.contract import Inputs

Learned = Mapping[str, tuple[RankMKL, float]]
"""Attribute -> its ranker, and the share of held-out pairs that it orders."""
CHANCE = 0.5
"""The validation of a method where no pair could be held out."""


@dataclass(frozen=True, eq=False)
class Method:
    """A learned method.

    arrays : what its scores are computed from: for a kernel k in `kernels` "coefficients_k" (anchors, attributes), for
        a feature type f of the linear method "direction_f" (dimensions, attributes), and its "offset" (attributes,)
    validation : the share of held-out pairs that it orders, as a mean over the attributes
    facts : attribute -> how it was learned
    """

    kernels: tuple[int, ...]
    arrays: Mapping[str, np.ndarray[Any, Any]]
    validation: float
    facts: Mapping[str, Any]


def learn_methods(inputs: Inputs, prepared: Prepared, config: Config) -> Iterator[tuple[str, Method]]:
    """The methods in the order of the settings; `each_kernel` stands for one method per kernel."""
    every = tuple(range(len(prepared.kernels)))
    for name in config.methods:
        if name == "rankmkl":
            settings = [{"sigma": sigma, "C": C} for sigma, C in product(config.sigma, sorted(config.cost))]
            learner = RankMKL(regularizer=config.regularizer, loss=config.loss, seed=config.seed)
            yield name, _on_kernels(prepared, every, learn(prepared.stack, prepared, learner, settings))
        elif name == "equal_weights":
            yield name, _on_kernels(prepared, every, learn(prepared.stack, prepared, *ranksvm(config)))
        elif name == "each_kernel":
            for k, kernel in enumerate(config.kernel_names):
                learned = learn(prepared.stack.only(k), prepared, *ranksvm(config))
                yield f"only_{kernel}", _on_kernels(prepared, (k,), learned)
        else:
            yield name, _concatenation(inputs, prepared, config)


def learn(stack: KernelStack, prepared: Prepared, learner: RankMKL, settings: Sequence[Mapping[str, float]]) -> Learned:
    """A ranker per attribute, with the setting that orders held-out pairs best."""
    learned = {}
    for attribute, pairs in prepared.pairs.items():
        shares = held_out_shares(stack, pairs, prepared.fold_of, learner, settings)
        best = int(np.nanargmax(shares)) if np.isfinite(shares).any() else 0
        learned[attribute] = clone(learner).set_params(**settings[best]).fit(stack, pairs), float(shares[best])
    return learned


def _on_kernels(prepared: Prepared, kernels: tuple[int, ...], learned: Learned) -> Method:
    stack = prepared.stack if len(kernels) == len(prepared.kernels) else prepared.stack.only(kernels[0])
    parts = [stack.by_kernel(ranker.weights_, ranker.coef_) for ranker, _ in learned.values()]
    arrays = {}
    for place, k in enumerate(kernels):
        own = np.stack([part[place] for part in parts], axis=1)
        own = own if prepared.roots is None else prepared.roots[k] @ own
        arrays[f"coefficients_{k}"] = own.astype(np.float32)
    return Method(kernels, arrays, _validation(learned), _facts(learned))


def _concatenation(inputs: Inputs, prepared: Prepared, config: Config) -> Method:
    """Linear RankSVM on all features in one vector, scaled to [0, 1]; it is kept as a direction per feature type."""
    rows = [inputs.feature(name).rows(prepared.items) for name in config.features]
    scaler = UnitRange.fit(rows)
    scaled = scaler.transform(rows)
    [(kernel, gram)] = fit_kernel("linear", scaled)
    stack = GramStack([gram]) if prepared.roots is None else MapStack([scaled / np.float32(np.sqrt(kernel.scale))])
    learned = learn(stack, prepared, *ranksvm(config))
    directions = []
    for ranker, _ in learned.values():
        [coef] = stack.by_kernel(ranker.weights_, ranker.coef_)
        toward = (
            scaled.T.astype(np.float64) @ coef / kernel.scale if prepared.roots is None else coef / kernel.scale**0.5
        )
        directions.append(toward / scaler.span)
    direction = np.stack(directions, axis=1)
    ends = np.cumsum([part.shape[1] for part in rows])[:-1]
    arrays = {f"direction_{name}": part for name, part in zip(config.features, np.split(direction, ends), strict=True)}
    arrays["offset"] = -(scaler.low.astype(np.float64) @ direction)
    return Method((), arrays, _validation(learned), _facts(learned))


def _validation(learned: Learned) -> float:
    shares = [share for _, share in learned.values() if np.isfinite(share)]
    return float(np.mean(shares)) if shares else CHANCE


def _facts(learned: Learned) -> dict[str, Any]:
    return {
        attribute: {
            "C": ranker.C,
            "sigma": ranker.sigma,
            "weights": ranker.weights_.tolist(),
            "held_out_accuracy": None if np.isnan(share) else share,
            "converged": bool(ranker.converged_),
            "objectives": [step.objective for step in ranker.history_],
        }
        for attribute, (ranker, share) in learned.items()
    }
