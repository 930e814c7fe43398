"""How probable each known class is for an item, to be compared between two items inside φ (see `learned_types.py`).

Paper 003 allows learned similarities in φ (section 2.1). Kernel ridge regression of class memberships, one class
against all others, on the mean of one kernel per feature type gives a score per class; a softmax with a temperature
makes probabilities of them. An item that was learned from has the scores of a fit without it. An item of a class that
nobody named is described by the known classes that it resembles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np
from scipy.special import softmax
from threadpoolctl import threadpool_limits

from mediarank.base_models.kernel_ridge import fit_ridge
from mediarank.evaluation.metrics import measure
from mediarank.evaluation.ranks import Relevance, rank_relevant
from mediarank.similarity.fitted_kernel import FittedKernel, fit_kernel
from mediarank.systems.retrieval.collection import Collection
from mediarank.types import FeatureMatrix, Floats, Judgments

PENALTIES: Final = (0.01, 0.03, 0.1)
TEMPERATURES: Final = (0.05, 0.07, 0.1)
BLOCK: Final = 1024
"""Items whose kernel values are held at a time."""


@dataclass(frozen=True, eq=False)
class ClassScores:
    """
    features : the feature types that are looked at; kernels : one for each
    classes : their names, in the order of the columns
    coef (anchors, classes), shares (classes,) : of the ridge; shares are those of the training items
    penalty, temperature : chosen by validation queries
    """

    features: tuple[str, ...]
    kernels: tuple[FittedKernel, ...]
    classes: tuple[str, ...]
    coef: Floats
    shares: Floats
    penalty: float
    temperature: float

    def probabilities(self, rows: Sequence[Floats]) -> Floats:
        """(items, classes) by their vectors, one matrix per feature type of `features`; each item on its own."""
        raw = raw_scores(self.kernels, self.coef, rows)
        return probabilities_of(raw, self.shares, self.temperature)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        anchors = {f"class_anchors_{k}": kernel.anchors for k, kernel in enumerate(self.kernels)}
        return {"class_coef": self.coef, "class_shares": self.shares, **anchors}

    def facts(self) -> dict[str, Any]:
        return {
            "features": list(self.features),
            "kernels": [[kernel.kernel, kernel.gamma, kernel.scale] for kernel in self.kernels],
            "classes": list(self.classes),
            "penalty": self.penalty,
            "temperature": self.temperature,
        }

    @classmethod
    def restored(cls, arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> ClassScores:
        """The scores whose `arrays` and `facts` these were."""
        kernels = tuple(
            FittedKernel(name, gamma, scale, arrays[f"class_anchors_{k}"])
            for k, (name, gamma, scale) in enumerate(facts["kernels"])
        )
        return cls(
            tuple(facts["features"]),
            kernels,
            tuple(facts["classes"]),
            arrays["class_coef"],
            arrays["class_shares"],
            facts["penalty"],
            facts["temperature"],
        )


def fit_class_scores(
    collection: Collection,
    features: Sequence[str],
    of_types: Sequence[str],
    learning: Sequence[str],
    pool: Sequence[str],
    choosing: Sequence[str],
    penalties: Sequence[float] = PENALTIES,
    temperatures: Sequence[float] = TEMPERATURES,
) -> tuple[ClassScores, Floats]:
    """The scores, and the probabilities (items, classes) of every item of the collection.

    features : the types of the collection's rows; of_types : those to learn from
    learning : items whose classes are learned; pool, choosing : the candidates and queries that choose the penalty
        and the temperature, by the mAP of the probability that query and candidate are of one class
    """
    rows = [np.asarray(collection.rows[list(features).index(name)], np.float32) for name in of_types]
    places = [collection.position[item] for item in learning]
    names = tuple(sorted({collection.classes[item] for item in learning}))
    members = np.array([[collection.classes[item] == name for name in names] for item in learning], np.float64)
    shares = members.mean(axis=0)
    fitted = [fit_kernel(_kernel_of(matrix), np.ascontiguousarray(matrix[places]))[0] for matrix in rows]
    kernels = tuple(kernel for kernel, _ in fitted)
    gram = sum(gram for _, gram in fitted) / len(fitted)
    others = np.setdiff1d(np.arange(len(collection.items)), places)
    solved = [fit_ridge(gram, members - shares, penalty) for penalty in penalties]
    found = _raw_of_all(kernels, [coef for coef, _ in solved], [matrix[others] for matrix in rows])
    raw = np.empty((len(penalties), len(collection.items), len(names)), np.float32)
    for k, (_, left_out) in enumerate(solved):
        raw[k, others], raw[k, places] = found[k], left_out
    chosen = _Choice(collection, pool, choosing)
    shares = shares.astype(np.float32)
    best, temperature = max(
        product(range(len(penalties)), temperatures),
        key=lambda tried: chosen.judge(probabilities_of(raw[tried[0]], shares, tried[1])),
    )
    scores = ClassScores(tuple(of_types), kernels, names, solved[best][0], shares, penalties[best], temperature)
    return scores, probabilities_of(raw[best], shares, temperature)


def left_out_classes(classes: Sequence[str]) -> frozenset[str]:
    """Every fifth class; none where there are fewer than five. They stand for classes that were never seen.

    >>> sorted(left_out_classes(["a", "b", "c", "d", "e", "f"]))
    ['a', 'f']
    """
    names = sorted(set(classes))
    return frozenset(names[::5]) if len(names) >= 5 else frozenset()


def raw_scores(kernels: Sequence[FittedKernel], coef: Floats, rows: Sequence[Floats]) -> Floats:
    """Ridge scores (items, classes), without the classes' shares."""
    return _raw_of_all(kernels, [coef], rows)[0]


def probabilities_of(raw: Floats, shares: Floats, temperature: float) -> Floats:
    return np.asarray(softmax((raw + shares) / np.float32(temperature), axis=1), dtype=np.float32)


def _raw_of_all(kernels: Sequence[FittedKernel], coefs: Sequence[Floats], rows: Sequence[Floats]) -> list[Floats]:
    """As `raw_scores` for several solutions. Item by item, so that the digits don't depend on what else is asked."""
    count = len(rows[0])
    found = [np.empty((count, coef.shape[1]), np.float32) for coef in coefs]
    for start in range(0, count, BLOCK):
        parts = [
            kernel.between(np.ascontiguousarray(matrix[start : start + BLOCK], dtype=np.float32))
            for kernel, matrix in zip(kernels, rows, strict=True)
        ]
        values = np.asarray(sum(parts) / np.float32(len(parts)), dtype=np.float32)
        with threadpool_limits(1, user_api="blas"):
            for k, row in enumerate(values):
                for out, coef in zip(found, coefs, strict=True):
                    out[start + k] = row @ coef
    return found


def _kernel_of(rows: Floats) -> str:
    """Exponential χ² for histograms and other values of 0 and above, else RBF."""
    return "exponential_chi2" if rows.size and rows.min() >= 0 else "rbf"


class _Choice:
    """Validation queries among the items of a pool."""

    def __init__(self, collection: Collection, pool: Sequence[str], choosing: Sequence[str]) -> None:
        self.items, self.queries = tuple(pool), tuple(choosing)
        self.places = [collection.position[item] for item in pool]
        self.asked = [collection.position[item] for item in choosing]
        classes = {item: collection.classes[item] for item in pool}
        self.relevance = Relevance.from_judgments(Judgments.from_classes(classes, choosing))

    def judge(self, probabilities: Floats) -> float:
        with threadpool_limits(1, user_api="blas"):
            alike = probabilities[self.asked] @ probabilities[self.places].T
        ranks = rank_relevant(FeatureMatrix(np.array(self.queries), self.items, alike), self.relevance)
        return float(measure(ranks, "ap")[ranks.total > 0].mean())
