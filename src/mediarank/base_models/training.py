"""A pool from a feature matrix and judgments: draw bags, fit SVMs on all cores, gather them, normalise.

Everything here is fitted on the items that are given, which must not be test items; rankers learn from the
held-out scores that `TrainedPool.score` gives them.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from mediarank.base_models.bags import balanced_bags, shared_sample
from mediarank.base_models.calibration import fit_sigmoid
from mediarank.base_models.pool import SVMPool
from mediarank.base_models.ridge import fit_ridges
from mediarank.base_models.svm import Bag, FittedSVM, SVMConfig, fit_svm
from mediarank.fanout import fan_out
from mediarank.similarity.kernels import DISTANCES
from mediarank.types import Doubles, FeatureMatrix, Floats, Judgments, NotApplicable

NORMALISING_ITEMS: Final = 2048
"""The range of an SVM's decisions is measured on at most this many training items."""


def trainable_concepts(judgments: Judgments, items: Sequence[str], config: SVMConfig) -> list[str]:
    """The concepts that have enough examples among `items`; a warning names each that does not."""
    kept = []
    for concept, grades in judgments:
        positives = sum(item in grades for item in items)
        if positives < config.minimum_positives:
            warnings.warn(
                f"Concept {concept!r} is skipped: it has {positives} positives among the {len(items)} training items "
                f"(roles {', '.join(config.roles)}), and base models need {config.minimum_positives}.",
                stacklevel=2,
            )
        elif positives == len(items):
            warnings.warn(
                f"Concept {concept!r} is skipped: all {positives} training items are positives.", stacklevel=2
            )
        else:
            kept.append(concept)
    if not kept:
        raise NotApplicable(
            f"No concept has {config.minimum_positives} positives and a negative among the {len(items)} training items "
            f"(roles {', '.join(config.roles)}); label more items or lower minimum_positives."
        )
    return kept


@dataclass(frozen=True)
class Preparation:
    """The data that the SVMs of a feature type are fitted to.

    values, prepared : (items, D) features of the training items, as they are and standardised
    mean, scale : (D,) of the standardisation
    labels : which items are relevant, by concept
    bags : one per SVM
    """

    values: Floats
    prepared: Floats
    mean: Floats
    scale: Floats
    labels: Mapping[str, npt.NDArray[np.bool_]]
    bags: tuple[Bag, ...]


@dataclass(frozen=True, eq=False)
class TrainedPool:
    """A pool, and how its SVMs score their own training examples in cross-validation.

    items : the training items, sorted
    rows : by SVM, the positions of its bag's examples among the items
    held_out : by SVM, decisions on these examples by SVMs that were trained without them
    """

    pool: SVMPool
    items: tuple[str, ...]
    rows: tuple[npt.NDArray[np.intp], ...]
    held_out: tuple[Doubles, ...]

    def score(self, matrix: FeatureMatrix, items: Sequence[str]) -> FeatureMatrix:
        """Normalised scores of `items`; where an item is in the bag of an SVM, its held-out score.

        So rankers can learn from the training items too: no SVM scores an item that it was trained on.
        """
        place = {item: row for row, item in enumerate(items)}
        present = np.array([place.get(item, -1) for item in self.items], dtype=np.intp)
        values = np.full((len(items), len(self.pool)), np.nan, dtype=np.float32)
        for column, (rows, decisions) in enumerate(zip(self.rows, self.held_out, strict=True)):
            known = present[rows] >= 0
            span = max(float(self.pool.high[column] - self.pool.low[column]), 1e-12)
            scores = np.clip((decisions[known] - self.pool.low[column]) * (2 / span) - 1, -1, 1)
            values[present[rows][known], column] = scores
        new = np.flatnonzero(np.isnan(values).any(axis=1))
        if len(new):
            seen = values[new]
            values[new] = np.where(np.isnan(seen), self.pool.score_rows(matrix, matrix.positions(items)[new]), seen)
        return FeatureMatrix(np.asarray(items, dtype=str), self.pool.names, values)


def train_pool(
    name: str,
    matrix: FeatureMatrix,
    judgments: Judgments,
    base: Sequence[str],
    config: SVMConfig,
    groups: Mapping[str, str] | None = None,
) -> TrainedPool:
    """The SVMs, or regressions, of one feature type for every concept that has enough positives.

    name : of the feature type; it seeds the bags, so that types draw different ones
    base : the items to train on; judgments of other items are ignored
    groups : item -> its group, such as near-duplicates, held out as a whole; by default each item is its own group
    """
    if config.learner == "ridge":
        return _train_ridges(matrix, judgments, base, config, groups)
    preparation = prepare(name, matrix, judgments, base, config, groups)
    svms = fan_out(partial(fit_svm, config=config), preparation.bags, what=f"base models on {name}")
    pool = normalised_by(gather(preparation, svms, config), preparation.values)
    rows, held_out = tuple(bag.rows for bag in preparation.bags), tuple(svm.held_out for svm in svms)
    return TrainedPool(pool, tuple(sorted(base)), rows, held_out)


def _train_ridges(
    matrix: FeatureMatrix,
    judgments: Judgments,
    base: Sequence[str],
    config: SVMConfig,
    groups: Mapping[str, str] | None,
) -> TrainedPool:
    items = sorted(base)
    labels = {concept: judgments.grades(concept, items) > 0 for concept in trainable_concepts(judgments, items, config)}
    priors = np.array([relevant.mean() for relevant in labels.values()])
    rows = shared_sample(list(labels.values()), config.ridge_limit, np.random.default_rng(config.seed))
    values = matrix.rows([items[row] for row in rows])
    mean, scale = standardisation(values, config)
    prepared: Floats = (values - mean) * scale
    together = np.unique([(groups or {}).get(items[row], items[row]) for row in rows], return_inverse=True)[1]
    sample = {concept: relevant[rows] for concept, relevant in labels.items()}
    gammas = _gammas(prepared, config)
    pool, held_out = fit_ridges(prepared, (mean, scale), sample, priors, together, gammas, config)
    return TrainedPool(pool, tuple(items), (rows,) * len(pool), tuple(held_out.T))


def prepare(
    name: str,
    matrix: FeatureMatrix,
    judgments: Judgments,
    base: Sequence[str],
    config: SVMConfig,
    groups: Mapping[str, str] | None = None,
) -> Preparation:
    """Standardise the features and draw every bag."""
    items = sorted(base)
    labels = {concept: judgments.grades(concept, items) > 0 for concept in trainable_concepts(judgments, items, config)}
    values = matrix.rows(items)
    mean, scale = standardisation(values, config)
    prepared: Floats = (values - mean) * scale
    together = np.unique([(groups or {}).get(item, item) for item in items], return_inverse=True)[1]
    bags = tuple(_bags(name, prepared, labels, together, _gammas(prepared, config), config))
    return Preparation(values, prepared, mean, scale, labels, bags)


def gather(preparation: Preparation, svms: Sequence[FittedSVM], config: SVMConfig) -> SVMPool:
    """One pool of many SVMs: every support vector once, the dual coefficients as a matrix."""
    bags = preparation.bags
    full = np.zeros((len(preparation.prepared), len(bags)), dtype=np.float32)
    sigmoids = []
    for column, (bag, svm) in enumerate(zip(bags, svms, strict=True)):
        full[bag.rows[svm.support], column] = svm.coefficients
        prior = float(preparation.labels[bag.name[0]].mean())
        sigmoids.append(fit_sigmoid(svm.held_out, bag.labels, prior))
    used = full.any(axis=1)
    vectors, coefficients = preparation.prepared[used], full[used]
    if config.kernel == "linear":
        vectors = np.ascontiguousarray((coefficients.astype(np.float64).T @ vectors).astype(np.float32))
        coefficients = np.eye(len(bags), dtype=np.float32)
    slopes, offsets = np.array(sigmoids, dtype=np.float32).T
    unknown = np.zeros(len(bags), dtype=np.float32)
    return SVMPool(
        config.kernel,
        tuple(bag.name for bag in bags),
        preparation.mean,
        preparation.scale,
        vectors,
        coefficients,
        np.array([svm.intercept for svm in svms], dtype=np.float32),
        np.array([svm.gamma for svm in svms], dtype=np.float32),
        low=unknown,
        high=unknown,
        slopes=slopes,
        offsets=offsets,
    )


def normalised_by(pool: SVMPool, values: Floats) -> SVMPool:
    """The pool with [−1, 1] as the range of its decisions on the training items, or on an even sample of them."""
    decisions = pool.decisions(values[:: -(-len(values) // NORMALISING_ITEMS)])
    return replace(pool, low=decisions.min(axis=0), high=decisions.max(axis=0))


def standardisation(values: Floats, config: SVMConfig) -> tuple[Floats, Floats]:
    """Mean and inverse deviation of each column; a constant column becomes 0. Histograms are left as they are."""
    dimension = values.shape[1]
    if config.kernel in ("intersection", "exponential_chi2"):
        return np.zeros(dimension, dtype=np.float32), np.ones(dimension, dtype=np.float32)
    deviation = values.std(axis=0, dtype=np.float64)
    scale = np.divide(1.0, deviation, out=np.zeros(dimension), where=deviation > 1e-8)
    return values.mean(axis=0, dtype=np.float64).astype(np.float32), scale.astype(np.float32)


def _gammas(prepared: Floats, config: SVMConfig) -> tuple[float, ...]:
    if config.kernel not in DISTANCES:
        return (1.0,)
    sample = prepared[:: max(1, len(prepared) // 500)]
    between = DISTANCES[config.kernel](sample)[np.triu_indices(len(sample), 1)]
    median = float(np.median(between)) if len(between) else 1.0
    return tuple(width / (median or 1.0) for width in config.widths)


def _bags(
    name: str,
    prepared: Floats,
    labels: dict[str, npt.NDArray[np.bool_]],
    groups: npt.NDArray[np.intp],
    gammas: tuple[float, ...],
    config: SVMConfig,
) -> Iterable[Bag]:
    """Seeds come from the names, so a bag does not depend on which other concepts or types there are."""
    for concept, relevant in labels.items():
        seed = (config.seed, zlib.crc32(name.encode()), zlib.crc32(concept.encode()))
        drawn = balanced_bags(
            relevant,
            bags=config.bags,
            limit=config.bag_limit,
            rng=np.random.default_rng(seed),
            negatives_per_positive=config.negatives_per_positive,
        )
        for number, rows in enumerate(drawn):
            numbers = np.unique(groups[rows], return_inverse=True)[1]
            yield Bag((concept, number), rows, prepared[rows], relevant[rows], numbers, gammas, (*seed, number))
