"""`attributes`: which of two shows more of it? (paper 004)

One RankMKL an attribute over kernels that all attributes share. First the configuration, then what is computed once on
the training items (`prepare`), a ranker an attribute with C chosen by cross-validation over images (`learn`), and both
together (`fit`); then what a system offers (`run`), with the baselines of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from sklearn.base import clone

from mediarank.labels import Labels
from mediarank.learners.kernels.attribute_model import AttributesModel, feature
from mediarank.learners.kernels.kernel_stack import GramStack, KernelStack, MapStack
from mediarank.learners.kernels.rankmkl import RankMKL
from mediarank.learners.pairwise.image_folds import deal_folds
from mediarank.learners.pairwise.ordered_pairs import OrderedPairs, Positions
from mediarank.learners.pairwise.pair_validation import held_out_shares
from mediarank.learners.pairwise.supervision import spoken_of, supervise
from mediarank.similarity.fitted_kernel import FittedKernel, fit_kernel
from mediarank.similarity.nystroem import draw_landmarks, inverse_root
from mediarank.similarity.unit_range import UnitRange
from mediarank.systems.attributes.report import kernel_names
from mediarank.systems.contract import Inputs, Outcome
from mediarank.types import ConfigError, FeatureMatrix, Floats, NotApplicable

__all__ = ["AttributesConfig", "AttributesModel", "Config", "KernelChoice", "fit", "run"]

TRAINING = ("base", "rank", "valid")
"""Roles that the ranker may learn from: C and γ are chosen by cross-validation inside them, so none is set apart."""
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class KernelChoice:
    """A kernel on one feature type."""

    feature: str
    kernel: Literal["linear", "rbf", "intersection", "exponential_chi2"] = "exponential_chi2"
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


@dataclass(frozen=True)
class AttributesConfig:
    """
    kernels : the paper's five feature types by default; none has negative values, so exponential χ² serves each
    gamma_factors : γ is one of these over the mean distance, chosen by cross-validation where there are several
    cost, sigma : C and σ, chosen from these by cross-validation; C/σ^⅓ is all that matters, so one sigma will do
    svm_cost : the same for RankSVM, in the baselines and for γ
    max_pairs : ordered pairs learned from, an attribute; with many items, five an item
    exact_up_to : beyond so many training items kernels are approximated from so many `landmarks`
    baselines : also rank by each kernel alone, by their plain mean and by the features laid end to end
    """

    kernels: tuple[KernelChoice, ...] = (
        KernelChoice("gist"),
        KernelChoice("lab_histogram"),
        KernelChoice("lbp"),
        KernelChoice("hog"),
        KernelChoice("gabor"),
    )
    gamma_factors: tuple[Positive, ...] = (1.0,)
    cost: tuple[Positive, ...] = (0.003, 0.01, 0.03, 0.1)
    svm_cost: tuple[Positive, ...] = (0.01, 0.03, 0.1, 0.3)
    sigma: tuple[Positive, ...] = (1.0,)
    loss: Literal["l1", "l2"] = "l2"
    regularizer: Literal["l1", "l2"] = "l2"
    folds: Annotated[int, Field(ge=2)] = 10
    max_pairs: Count = 25_000
    exact_up_to: Count = 5_000
    landmarks: Count = 1_000
    baselines: bool = True
    seed: int = 7
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if not self.kernels or len(set(self.kernels)) < len(self.kernels):
            raise ConfigError("systems.attributes.kernels: give one kernel at least, and none of them twice.")

    @property
    def features(self) -> tuple[str, ...]:
        """The feature types that are needed, each once."""
        return tuple(dict.fromkeys(choice.feature for choice in self.kernels))

    @property
    def kernel_names(self) -> tuple[str, ...]:
        return kernel_names([(choice.feature, choice.kernel) for choice in self.kernels])

    def mkl(self) -> tuple[RankMKL, list[dict[str, float]]]:
        """The learner, and the settings to choose from."""
        settings = [{"sigma": sigma, "C": C} for sigma, C in product(self.sigma, sorted(self.cost))]
        return RankMKL(regularizer=self.regularizer, loss=self.loss, seed=self.seed), settings

    def svm(self) -> tuple[RankMKL, list[dict[str, float]]]:
        """The same without learned weights."""
        return RankMKL(regularizer="fixed", loss=self.loss, seed=self.seed), [{"C": C} for C in sorted(self.svm_cost)]


Config = AttributesConfig


@dataclass(frozen=True, eq=False)
class Prepared:
    """All that the attributes share: kernels on the training items, what is to be learned, and the folds.

    roots : of the landmarks' kernels, where there are landmarks
    """

    features: tuple[str, ...]
    kernels: tuple[FittedKernel, ...]
    stack: KernelStack
    roots: tuple[Floats, ...] | None
    pairs: Mapping[str, OrderedPairs]
    fold_of: Positions

    def stack_of(self, columns: Sequence[Floats]) -> KernelStack:
        """Kernels of other items with the anchors, as a stack that a learned ranker can score."""
        if self.roots is None:
            return GramStack(columns)
        return MapStack([values @ root for values, root in zip(columns, self.roots, strict=True)])


def prepare(
    features: Mapping[str, FeatureMatrix],
    labels: Labels,
    items: Sequence[str],
    config: AttributesConfig,
    group_of: Mapping[str, str] | None = None,
) -> Prepared:
    """Fit the kernels on training items and collect what is known of them; attributes without a pair are left out.

    group_of : items of one group (near-duplicates) are held out together
    """
    limit = max(config.max_pairs, 5 * len(items))
    known = {name: found.ordered(limit, config.seed) for name, found in supervise(labels, items).items()}
    pairs = {name: ordered for name, ordered in known.items() if len(ordered)}
    if not pairs:
        raise NotApplicable(
            "attributes needs ordered pairs among the training items, and there are none: give orderings of classes or "
            "items with different strengths, or pairs."
        )
    classes = labels.class_of
    groups = None if group_of is None else [group_of[item] for item in items]
    fold_of = deal_folds([classes.get(item) for item in items], config.folds, config.seed, groups)
    count = config.exact_up_to if len(items) <= config.exact_up_to else config.landmarks
    drawn = draw_landmarks(len(items), count, config.seed)
    kernels, grams = [], []
    for choice in config.kernels:
        rows = feature(features, choice.feature).rows(items)
        candidates = fit_kernel(choice.kernel, rows[drawn], config.gamma_factors)
        kernel, gram = candidates[_best_gamma([gram for _, gram in candidates], pairs, drawn, fold_of, config)]
        kernels.append(kernel)
        grams.append(gram)
    names = tuple(choice.feature for choice in config.kernels)
    if len(drawn) == len(items):
        return Prepared(names, tuple(kernels), GramStack(grams), None, pairs, fold_of)
    roots = tuple(inverse_root(gram) for gram in grams)
    columns = [
        kernel.between(feature(features, name).rows(items)) @ root
        for name, kernel, root in zip(names, kernels, roots, strict=True)
    ]
    return Prepared(names, tuple(kernels), MapStack(columns), roots, pairs, fold_of)


def learn(
    stack: KernelStack, prepared: Prepared, learner: RankMKL, settings: Sequence[Mapping[str, float]]
) -> dict[str, tuple[RankMKL, float]]:
    """Attribute -> a ranker with the setting that orders held-out pairs best, and the share of them that it orders."""
    learned = {}
    for attribute, pairs in prepared.pairs.items():
        shares = held_out_shares(stack, pairs, prepared.fold_of, learner, settings)
        best = int(np.nanargmax(shares)) if np.isfinite(shares).any() else 0
        learned[attribute] = clone(learner).set_params(**settings[best]).fit(stack, pairs), float(shares[best])
    return learned


def fit(
    features: Mapping[str, FeatureMatrix],
    labels: Labels,
    items: Sequence[str],
    config: AttributesConfig,
    group_of: Mapping[str, str] | None = None,
) -> AttributesModel:
    """Learn every attribute that the labels name from the items, which must have all feature types."""
    prepared = prepare(features, labels, items, config, group_of)
    return _assembled(prepared, learn(prepared.stack, prepared, *config.mkl()))


def run(inputs: Inputs, config: AttributesConfig) -> Outcome:
    """Learn from the items that are ordered and not for testing, rank the ordered ones that are."""
    features = {name: inputs.feature(name) for name in config.features}
    ordered = {item for item in spoken_of(inputs.labels) if all(item in matrix for matrix in features.values())}
    items, asked = (sorted(ordered.intersection(inputs.roles.items(*roles))) for roles in (TRAINING, ("test",)))
    if not asked:
        raise NotApplicable(
            "attributes ranks items of role test that are ordered and have all its feature types; none is."
        )
    table = inputs.roles.table
    group_of = dict(zip(table["item_id"], table["group_id"], strict=True))
    prepared = prepare(features, inputs.labels, items, config, group_of)
    model = _assembled(prepared, learn(prepared.stack, prepared, *config.mkl()))
    scores = {"rankmkl": model.scores(features, asked)}
    if config.baselines:
        scores |= _baselines(prepared, features, items, asked, config)
    arrays, facts = model.to_arrays()
    return Outcome(arrays, facts, {method: _by_attribute(matrix) for method, matrix in scores.items()})


def _baselines(
    prepared: Prepared,
    features: Mapping[str, FeatureMatrix],
    items: Sequence[str],
    asked: Sequence[str],
    config: AttributesConfig,
) -> dict[str, FeatureMatrix]:
    """RankSVM on the plain mean of the kernels, on each alone, and on all features scaled to [0, 1] end to end."""
    svm, settings = config.svm()
    questions = prepared.stack_of(
        [
            kernel.between(features[name].rows(asked))
            for name, kernel in zip(prepared.features, prepared.kernels, strict=True)
        ]
    )
    stacks = {"equal_weights": (prepared.stack, questions)}
    for place, name in enumerate(config.kernel_names):
        stacks[f"only_{name}"] = prepared.stack.only(place), questions.only(place)
    if prepared.roots is None:  # with landmarks it would need some of its own
        known, unknown = ([features[name].rows(ids) for name in config.features] for ids in (items, asked))
        scaler = UnitRange.fit(known)
        [(joint, gram)] = fit_kernel("linear", scaler.transform(known))
        stacks["concatenation"] = GramStack([gram]), GramStack([joint.between(scaler.transform(unknown))])
    scores = {}
    for method, (stack, asked_stack) in stacks.items():
        learned = learn(stack, prepared, svm, settings)
        values = np.stack([ranker.predict(asked_stack) for ranker, _ in learned.values()], axis=1)
        scores[method] = FeatureMatrix(np.array(asked, dtype=str), tuple(learned), values.astype(np.float32))
    return scores


def _best_gamma(
    grams: Sequence[Floats],
    pairs: Mapping[str, OrderedPairs],
    drawn: Positions,
    fold_of: Positions,
    config: AttributesConfig,
) -> int:
    """Which of a kernel's γ orders held-out pairs best on its own, over all attributes; one γ serves them all.

    C is the middle one of its list: what it changes is little beside what γ does, and it is chosen anew afterwards.
    """
    if len(grams) == 1:
        return 0
    svm, settings = config.svm()
    usual = settings[len(settings) // 2 : len(settings) // 2 + 1]
    inside = [ordered.within(drawn) for ordered in pairs.values()]
    shares = np.array(
        [[held_out_shares(GramStack([g]), p, fold_of[drawn], svm, usual)[0] for p in inside if len(p)] for g in grams]
    )
    judged = np.isfinite(shares).all(axis=0)  # one training pair, say, leaves nothing to hold out
    return int(shares[:, judged].sum(axis=1).argmax())


def _assembled(prepared: Prepared, learned: Mapping[str, tuple[RankMKL, float]]) -> AttributesModel:
    rankers = [ranker for ranker, _ in learned.values()]
    parts = [prepared.stack.by_kernel(ranker.weights_, ranker.coef_) for ranker in rankers]
    coefficients = []
    for place in range(len(prepared.kernels)):
        own = np.stack([part[place] for part in parts], axis=1)
        coefficients.append((own if prepared.roots is None else prepared.roots[place] @ own).astype(np.float32))
    weights = np.stack([ranker.weights_ for ranker in rankers])
    facts = {
        "learned": {
            attribute: {
                "C": ranker.C,
                "weights": ranker.weights_.tolist(),
                "sigma": ranker.sigma,
                "held_out_accuracy": None if np.isnan(share) else share,
                "converged": bool(ranker.converged_),
                "objectives": [step.objective for step in ranker.history_],
            }
            for attribute, (ranker, share) in learned.items()
        }
    }
    return AttributesModel(tuple(learned), prepared.features, prepared.kernels, tuple(coefficients), weights, facts)


def _by_attribute(matrix: FeatureMatrix) -> FeatureMatrix:
    """Attributes as rows, items as columns: how every system hands over its scores."""
    values = np.ascontiguousarray(matrix.values.T)
    return FeatureMatrix(np.array(matrix.names, dtype=str), tuple(matrix.ids.tolist()), values)
