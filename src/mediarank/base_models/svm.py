"""One SVM on one bag: C and γ by cross-validation, then a fit on the whole bag.

The distances within the bag are computed once; the kernel matrix of each γ is made from them and given to
scikit-learn's SVC. Parameters are chosen by the mean area under the ROC curve over the folds, of equals the smoother
SVM: first γ at the middle C, then C at that γ, which needs half the fits of the whole grid. The held-out decisions of
the chosen parameters are kept, because calibration needs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from mediarank.similarity.chi2 import chi2_distances
from mediarank.similarity.kernels import DISTANCES, intersection
from mediarank.types import Doubles, Floats

Kernel = Literal["rbf", "exponential_chi2", "intersection", "linear"]


GRIDS: Final[Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]] = {
    "svm": ((0.5, 2.0, 8.0), (0.25, 1.0, 4.0)),
    "ridge": ((2.0, 10.0, 50.0), (0.5, 1.5)),
}
"""learner -> penalties and widths to choose from"""


@dataclass(frozen=True)
class SVMConfig:
    """How base models are trained.

    learner : svm, or ridge: one kernel ridge regression per concept on all training items, for which `bags`,
        `bag_limit`, `negatives_per_positive` and `folds` say nothing and λ is 1/C; see `ridge.py`
    ridge_limit : training items of a ridge, at most; of more, a sample with positives of every concept
    kernel : exponential_chi2 and intersection take histograms as they are; the others see standardised features
    roles : whose items SVMs are trained on; rankers learn from held-out scores of these items. The paper has `base`
    bags : SVMs per concept and feature type
    bag_limit : examples in a bag
    negatives_per_positive : 1 is the paper's balanced bag; other ratios are balanced by class weights
    minimum_positives : concepts with fewer are skipped
    penalties : values of C to choose from; empty stands for those of `GRIDS`, by learner
    widths : values of γ to choose from, in units of 1 / the median distance (rbf: squared; exponential_chi2: χ²);
        empty as above
    """

    learner: Literal["svm", "ridge"] = "svm"
    kernel: Kernel = "rbf"
    roles: tuple[Literal["base", "rank"], ...] = ("base", "rank")
    bags: Annotated[int, Field(ge=1)] = 2
    bag_limit: Annotated[int, Field(ge=2)] = 800
    ridge_limit: Annotated[int, Field(ge=2)] = 4000
    negatives_per_positive: Annotated[float, Field(gt=0)] = 1.0
    minimum_positives: Annotated[int, Field(ge=1)] = 3
    folds: Annotated[int, Field(ge=2)] = 3
    penalties: tuple[float, ...] = ()
    widths: tuple[float, ...] = ()
    seed: int = 7
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if not self.roles:
            raise ValueError("roles must name base, rank or both")
        if self.learner == "ridge" and self.kernel not in DISTANCES:
            raise ValueError(f"the learner ridge has a kernel of distances ({', '.join(DISTANCES)}), not {self.kernel}")
        for name, usual in zip(("penalties", "widths"), GRIDS[self.learner], strict=True):
            object.__setattr__(self, name, getattr(self, name) or usual)
        if min(self.penalties + self.widths) <= 0:
            raise ValueError("penalties and widths must all be above 0")


@dataclass(frozen=True)
class Bag:
    """The training examples of one SVM; values are standardised where the kernel needs it.

    name : concept and number of the bag
    rows : positions of the examples among the training items
    groups : (n,) numbers of the groups that are held out together in cross-validation
    gammas : values of γ to choose from; a single one, which is ignored, where the kernel has none
    """

    name: tuple[str, int]
    rows: npt.NDArray[np.intp]
    values: Floats = field(repr=False)
    labels: npt.NDArray[np.bool_] = field(repr=False)
    groups: npt.NDArray[np.intp] = field(repr=False)
    gammas: tuple[float, ...]
    seed: tuple[int, ...]


@dataclass(frozen=True)
class FittedSVM:
    """`decision(x) = Σ_i coefficients_i · k(x, support_i) + intercept`, and how it was chosen.

    support : positions in the bag
    held_out : (n,) cross-validated decisions of the bag's examples
    area : their mean area under the ROC curve
    """

    support: npt.NDArray[np.intp]
    coefficients: Doubles
    intercept: float
    penalty: float
    gamma: float
    held_out: Doubles
    area: float


def fit_svm(bag: Bag, config: SVMConfig) -> FittedSVM:
    """Choose C and γ by cross-validation on the bag, then fit the whole bag."""
    closeness = _closeness(config.kernel, bag.values)
    folds = grouped_folds(bag.labels, bag.groups, config.folds, np.random.default_rng(bag.seed))
    penalties = sorted(config.penalties)
    middle = penalties[len(penalties) // 2]

    def try_out(penalty: float, gamma: float) -> _Trial:
        held_out = _held_out(_gram(config.kernel, closeness, gamma), bag.labels, folds, penalty, config)
        return _Trial(_mean_area(held_out, bag.labels, folds), penalty, gamma, held_out)

    import sklearn  # takes more than a second, and scoring does not need it

    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        best = _best([try_out(middle, gamma) for gamma in sorted(bag.gammas)])
        best = _best([best if penalty == middle else try_out(penalty, best.gamma) for penalty in penalties])
        svm = _svc(best.penalty, config).fit(_gram(config.kernel, closeness, best.gamma), bag.labels)
    return FittedSVM(
        np.asarray(svm.support_, dtype=np.intp),
        np.asarray(svm.dual_coef_[0], dtype=np.float64),
        float(svm.intercept_[0]),
        best.penalty,
        best.gamma,
        best.held_out,
        best.area,
    )


def stratified_folds(labels: npt.NDArray[np.bool_], folds: int, rng: np.random.Generator) -> list[npt.NDArray[np.intp]]:
    """The examples of each fold: positives and negatives dealt out evenly, in random order.

    There are no more folds than the rarer kind has examples, so that every fold can be measured; with a single
    example of a kind there are none.
    """
    kinds = [rng.permutation(np.flatnonzero(labels)), rng.permutation(np.flatnonzero(~labels))]
    count = min(folds, *(len(kind) for kind in kinds))
    if count < 2:
        return []
    return [np.sort(np.concatenate([kind[number::count] for kind in kinds])) for number in range(count)]


def grouped_folds(
    labels: npt.NDArray[np.bool_], groups: npt.NDArray[np.intp], folds: int, rng: np.random.Generator
) -> list[npt.NDArray[np.intp]]:
    """The examples of each fold, groups kept together; example by example if all positives are in one group.

    groups : (n,) the group of each example, numbered from 0
    """
    shown = np.zeros(int(groups.max()) + 1, dtype=bool)
    np.logical_or.at(shown, groups, labels)
    whole = stratified_folds(shown, folds, rng)
    return [np.flatnonzero(np.isin(groups, of_fold)) for of_fold in whole] or stratified_folds(labels, folds, rng)


def area_under_roc(decisions: Doubles, labels: npt.NDArray[np.bool_]) -> float:
    """How often a relevant example beats an irrelevant one; a tie counts half."""
    relevant, other = decisions[labels][:, None], decisions[~labels][None, :]
    return float(((relevant > other) + 0.5 * (relevant == other)).mean())


@dataclass(frozen=True)
class _Trial:
    area: float
    penalty: float
    gamma: float
    held_out: Doubles


def _best(trials: Sequence[_Trial]) -> _Trial:
    """The largest area; the first, which is the smoothest, among equals."""
    return max(trials, key=lambda trial: round(trial.area, 9))


def _closeness(kernel: Kernel, values: Floats) -> Doubles:
    """What a kernel matrix is made of: distances where the kernel decays with one, else the kernel itself."""
    if kernel == "intersection":
        return intersection(values).astype(np.float64)
    if kernel == "exponential_chi2":
        return chi2_distances(values).astype(np.float64)
    doubles = values.astype(np.float64)
    products = doubles @ doubles.T
    if kernel == "linear":
        return products
    squares = np.diag(products)
    distances: Doubles = np.maximum(squares[:, None] + squares[None, :] - 2 * products, 0.0)
    return distances


def _gram(kernel: Kernel, closeness: Doubles, gamma: float) -> Doubles:
    return np.exp(-gamma * closeness) if kernel in DISTANCES else closeness


def _svc(penalty: float, config: SVMConfig) -> Any:
    from sklearn.svm import SVC

    weights = None if config.negatives_per_positive == 1 else "balanced"
    return SVC(C=penalty, kernel="precomputed", class_weight=weights)


def _held_out(
    gram: Doubles,
    labels: npt.NDArray[np.bool_],
    folds: Sequence[npt.NDArray[np.intp]],
    penalty: float,
    config: SVMConfig,
) -> Doubles:
    decisions = np.zeros(len(labels))
    for held in folds:
        kept = np.setdiff1d(np.arange(len(labels)), held, assume_unique=True)
        svm = _svc(penalty, config).fit(gram[np.ix_(kept, kept)], labels[kept])
        support = kept[svm.support_]
        decisions[held] = gram[np.ix_(held, support)] @ svm.dual_coef_[0] + svm.intercept_[0]
    return decisions


def _mean_area(decisions: Doubles, labels: npt.NDArray[np.bool_], folds: Sequence[npt.NDArray[np.intp]]) -> float:
    """Fold by fold, since the scales of SVMs of different folds may differ."""
    return float(np.mean([area_under_roc(decisions[held], labels[held]) for held in folds])) if folds else 0.5
