"""How the methods of `attributes` are learned, with their numbers chosen by cross-validation over images.

`learn_methods` gives each method that the settings name, as numbers that a `Model` keeps: one ranker per attribute on
kernels (`rankmkl`, `equal_weights`, `only_…`) or on features (`concatenation`), the expected strength from class
posteriors and its average with RankMKL, the expected standing from posteriors over levels, and the local order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np
from sklearn.base import clone

from mediarank.fanout import share_out
from mediarank.learners.kernels.class_posterior import fit_posterior
from mediarank.learners.kernels.kernel_stack import GramStack, KernelStack, MapStack
from mediarank.learners.kernels.level_posterior import fit_levels
from mediarank.learners.kernels.local_order import fit_local
from mediarank.learners.kernels.rankmkl import RankMKL
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs
from mediarank.learners.pairwise.pair_validation import held_out_scores, share_in_order, shares_in_order
from mediarank.learners.pairwise.supervision import supervise
from mediarank.similarity.fitted_kernel import fit_kernel
from mediarank.similarity.unit_range import UnitRange
from mediarank.systems.attributes.config import Config, MethodName
from mediarank.systems.attributes.prepare import Prepared, ranksvm
from mediarank.systems.contract import Inputs
from mediarank.types import Doubles

AVERAGES: Final[Mapping[str, tuple[MethodName, MethodName]]] = {"posterior_mkl": ("posterior", "rankmkl")}
CHANCE = 0.5
"""The validation of a method where no pair could be held out."""


@dataclass(frozen=True)
class Learned:
    """One attribute's ranker, the share of held-out pairs that it orders, and its held-out scores (items,)."""

    ranker: RankMKL
    share: float
    held_out: Doubles


@dataclass(frozen=True, eq=False)
class Method:
    """A learned method.

    kind : how a model scores with it: "kernels", "linear", "posterior", "levels", "local" or "average"
    arrays : what its scores are computed from: for a kernel k of `kernels` "coefficients_k" (anchors, attributes,
        classes or levels), for a feature type f "direction_f" (dimensions, attributes), "standing" (anchors,
        attributes), and smaller ones
    facts : attribute -> how it was learned, with the share of held-out pairs in order
    held_out (attributes, items) : scores of training items by what was learned from the other folds
    settings : numbers that all attributes share
    """

    kind: str
    kernels: tuple[int, ...]
    arrays: Mapping[str, np.ndarray[Any, Any]]
    facts: Mapping[str, Any]
    held_out: Doubles
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def validation(self) -> float:
        """The share of held-out pairs in the right order, as a mean over attributes."""
        shares = [found["held_out_accuracy"] for found in self.facts.values() if found["held_out_accuracy"] is not None]
        return float(np.mean(shares)) if shares else CHANCE


def learn_methods(inputs: Inputs, prepared: Prepared, config: Config) -> dict[str, Method]:
    """The methods in the order of the settings; `each_kernel` stands for one method per kernel.

    Posteriors need a strength of every class for every attribute, and the local order needs Gram matrices; where they
    are missing these methods are left out.
    """
    learned: dict[str, Method] = {}
    needed = [*config.methods, *(part for name in config.methods for part in AVERAGES.get(name, ()))]
    for name in sorted(dict.fromkeys(needed), key=AVERAGES.__contains__):  # averages come after their parts
        learned |= dict(_learn(name, inputs, prepared, config, learned))
    listed = [f"only_{kernel}" for kernel in config.kernel_names]
    order = [own for name in config.methods for own in (listed if name == "each_kernel" else [name])]
    return {name: learned[name] for name in [*order, *learned] if name in learned}


def _learn(
    name: str, inputs: Inputs, prepared: Prepared, config: Config, before: Mapping[str, Method]
) -> Iterator[tuple[str, Method]]:
    every = tuple(range(len(prepared.kernels)))
    if name == "rankmkl":
        settings = [{"sigma": sigma, "C": C} for sigma, C in product(config.sigma, sorted(config.cost))]
        learner = RankMKL(regularizer=config.regularizer, loss=config.loss, seed=config.seed)
        yield name, _on_kernels(prepared, every, learn(prepared.stack, prepared, learner, settings))
    elif name == "equal_weights":
        yield name, _on_kernels(prepared, every, learn(prepared.stack, prepared, *ranksvm(config)))
    elif name == "each_kernel":
        for k, kernel in enumerate(config.kernel_names):
            own = learn(prepared.stack.only(k), prepared, *ranksvm(config))
            yield f"only_{kernel}", _on_kernels(prepared, (k,), own)
    elif name == "concatenation":
        yield name, _concatenation(inputs, prepared, config)
    elif name == "posterior":
        found = _posterior(inputs, prepared, config)
        if found is not None:
            yield name, found
    elif name == "levels":
        yield name, _levels(prepared, config)
    elif name == "local":
        if isinstance(prepared.stack, GramStack):
            yield name, _local(prepared, prepared.stack, config)
    elif all(part in before for part in AVERAGES[name]):
        yield name, _average(AVERAGES[name], before, prepared)


def learn(
    stack: KernelStack, prepared: Prepared, learner: RankMKL, settings: Sequence[Mapping[str, float]]
) -> dict[str, Learned]:
    """One ranker per attribute, with the setting that orders held-out pairs best."""
    pairs = list(prepared.pairs.values())
    scores = held_out_scores(stack, pairs, prepared.fold_of, learner, settings)
    shares = shares_in_order(scores, pairs, prepared.fold_of)
    best = [int(np.nanargmax(own)) if np.isfinite(own).any() else 0 for own in shares]
    chosen = [(clone(learner).set_params(**settings[k]), own) for k, own in zip(best, pairs, strict=True)]
    rankers = share_out(partial(_fitted, stack), chosen)
    return {
        attribute: Learned(ranker, float(shares[row, k]), scores[row, k])
        for row, (attribute, ranker, k) in enumerate(zip(prepared.pairs, rankers, best, strict=True))
    }


def _fitted(stack: KernelStack, chosen: tuple[RankMKL, OrderedPairs]) -> RankMKL:
    learner, pairs = chosen
    return learner.fit(stack, pairs)


def _on_kernels(prepared: Prepared, kernels: tuple[int, ...], learned: Mapping[str, Learned]) -> Method:
    stack = prepared.stack if len(kernels) == len(prepared.kernels) else prepared.stack.only(kernels[0])
    parts = [stack.by_kernel(found.ranker.weights_, found.ranker.coef_) for found in learned.values()]
    own = [np.stack([part[place] for part in parts], axis=1) for place in range(len(kernels))]
    return Method("kernels", kernels, _coefficients(prepared, kernels, own), _facts(learned), _held_out(learned))


def _coefficients(prepared: Prepared, kernels: Sequence[int], own: Sequence[Doubles]) -> dict[str, Any]:
    """The coefficient of each anchor; with landmarks, computed from those of their columns."""
    return {
        f"coefficients_{k}": (part if prepared.roots is None else prepared.roots[k] @ part).astype(np.float32)
        for k, part in zip(kernels, own, strict=True)
    }


def _concatenation(inputs: Inputs, prepared: Prepared, config: Config) -> Method:
    """Linear RankSVM on all features in one vector, each type scaled to [0, 1]; kept as one direction per type."""
    rows = [inputs.feature(name).rows(prepared.items) for name in config.features]
    scaler = UnitRange.fit(rows)
    scaled = scaler.transform(rows)
    [(kernel, gram)] = fit_kernel("linear", scaled)
    exact = prepared.roots is None
    stack = GramStack([gram]) if exact else MapStack([scaled / np.float32(np.sqrt(kernel.scale))])
    learned = learn(stack, prepared, *ranksvm(config))
    directions = []
    for found in learned.values():
        [coef] = stack.by_kernel(found.ranker.weights_, found.ranker.coef_)
        toward = scaled.T.astype(np.float64) @ coef / kernel.scale if exact else coef / kernel.scale**0.5
        directions.append(toward / scaler.span)
    direction = np.stack(directions, axis=1)
    ends = np.cumsum([part.shape[1] for part in rows])[:-1]
    arrays = {f"direction_{name}": part for name, part in zip(config.features, np.split(direction, ends), strict=True)}
    arrays["offset"] = -(scaler.low.astype(np.float64) @ direction)
    return Method("linear", (), arrays, _facts(learned), _held_out(learned))


def _posterior(inputs: Inputs, prepared: Prepared, config: Config) -> Method | None:
    """The posterior method; None where some class of the training items has an unknown strength in some attribute."""
    class_of = [inputs.labels.class_of.get(item) for item in prepared.items]
    classes = sorted({name for name in class_of if name is not None})
    memberships = np.array([[name == own for name in classes] for own in class_of], dtype=np.float64)
    strengths = np.full((len(classes), len(prepared.pairs)), np.nan)
    known = supervise(inputs.labels, prepared.items)
    for column, attribute in enumerate(prepared.pairs):
        for row in range(len(classes)):
            own = known[attribute].strengths[memberships[:, row] > 0]
            strengths[row, column] = own.mean() if np.isfinite(own).all() else np.nan
    if len(classes) < 2 or not np.isfinite(strengths).all():
        return None
    found = fit_posterior(
        prepared.stack,
        memberships,
        strengths,
        prepared.pairs,
        prepared.fold_of,
        sorted(config.penalties),
        sorted(config.temperatures),
    )
    every = tuple(range(len(prepared.kernels)))
    arrays = _coefficients(prepared, every, prepared.stack.by_kernel(found.weights, found.coef))
    arrays |= {"shares": found.shares, "strengths": strengths}
    settings = {"penalty": found.penalty, "temperature": found.temperature, "classes": classes}
    return Method("posterior", every, arrays, _shares(found.validation), found.held_out, settings)


def _levels(prepared: Prepared, config: Config) -> Method:
    found = fit_levels(
        prepared.stack,
        prepared.pairs,
        prepared.fold_of,
        sorted(config.penalties),
        sorted(config.temperatures),
        config.levels,
    )
    every = tuple(range(len(prepared.kernels)))
    arrays = _coefficients(prepared, every, prepared.stack.by_kernel(found.weights, found.coef))
    arrays |= {"shares": found.levels.shares, "standings": found.levels.standings, "starts": found.levels.starts}
    settings = {"penalty": found.penalty, "temperature": found.temperature}
    return Method("levels", every, arrays, _shares(found.validation), found.held_out, settings)


def _local(prepared: Prepared, stack: GramStack, config: Config) -> Method:
    mean = np.asarray(np.mean(stack.grams, axis=0, dtype=np.float64))
    found = fit_local(mean, prepared.pairs, prepared.fold_of, sorted(config.local_temperatures))
    arrays = {"standing": found.standing, "temperatures": found.temperatures}
    every = tuple(range(len(prepared.kernels)))
    return Method("local", every, arrays, _shares(found.validation), found.held_out)


def _average(of: Sequence[str], before: Mapping[str, Method], prepared: Prepared) -> Method:
    """The sum of two methods' scores, each divided by the deviation of its held-out scores."""
    parts = [before[name] for name in of]
    units = np.array([[_deviation(row) for row in part.held_out] for part in parts])
    held_out = np.sum([part.held_out / unit[:, None] for part, unit in zip(parts, units, strict=True)], axis=0)
    shares = {
        attribute: share_in_order(held_out[row], pairs, prepared.fold_of)
        for row, (attribute, pairs) in enumerate(prepared.pairs.items())
    }
    return Method("average", (), {"units": units}, _shares(shares), held_out, {"of": list(of)})


def _shares(validation: Mapping[str, float]) -> dict[str, Any]:
    return {name: {"held_out_accuracy": None if np.isnan(share) else share} for name, share in validation.items()}


def _deviation(scores: Doubles) -> float:
    known = scores[np.isfinite(scores)]
    spread = float(known.std()) if len(known) else 0.0
    return spread if spread > 0 else 1.0


def _held_out(learned: Mapping[str, Learned]) -> Doubles:
    return np.stack([found.held_out for found in learned.values()])


def _facts(learned: Mapping[str, Learned]) -> dict[str, Any]:
    return {
        attribute: {
            "C": found.ranker.C,
            "sigma": found.ranker.sigma,
            "weights": found.ranker.weights_.tolist(),
            "held_out_accuracy": None if np.isnan(found.share) else found.share,
            "converged": bool(found.ranker.converged_),
            "objectives": [step.objective for step in found.ranker.history_],
        }
        for attribute, found in learned.items()
    }
