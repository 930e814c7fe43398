"""Settings of `attributes`: the kernels, the methods, and the numbers that cross-validation chooses from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

from pydantic import Field

from mediarank.types import ConfigError

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
MethodName = Literal[
    "rankmkl", "equal_weights", "each_kernel", "concatenation", "posterior", "posterior_mkl", "levels", "local"
]
METHODS: Final[tuple[MethodName, ...]] = get_args(MethodName)


@dataclass(frozen=True)
class KernelChoice:
    """A kernel on one feature type."""

    feature: str
    kernel: Literal["linear", "rbf", "intersection", "exponential_chi2"] = "exponential_chi2"
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


@dataclass(frozen=True)
class Config:
    """Settings of `attributes`.

    kernels : the paper's five feature types by default; none has negative values, so exponential χ² suits each
    methods : `rankmkl`, and what the paper compares it with: the plain mean of the kernels (`equal_weights`), each
        kernel alone (`each_kernel`, fitted as `only_<feature type>`), all features in one vector (`concatenation`);
        beyond it, the expected strength from class posteriors (`posterior`, which uses class labels and is left out
        where classes have no strengths) and its average with RankMKL (`posterior_mkl`, which fits both its parts);
        from pairs alone, the expected standing from posteriors over levels (`levels`) and the mean standing of the
        items that look alike (`local`, which needs Gram matrices and is left out where there are landmarks)
    serve : the fitted method that answers by default; without it, the one that is best on validation
    gamma_factors : γ is one of these divided by the mean distance; cross-validation chooses among several
    cost, sigma : C and σ of RankMKL, chosen by cross-validation; only C/σ^⅓ matters, so one sigma is enough
    svm_cost : C of RankSVM, for the other methods and for the choice of γ
    penalties, temperatures : of the posteriors over classes and levels, chosen by cross-validation
    levels : of standing, at most
    local_temperatures : of the local order, chosen by cross-validation
    max_pairs : ordered pairs per attribute to learn from; with many items, five per item
    exact_up_to : with more training items than this, kernels are approximated from `landmarks` of them
    """

    kernels: tuple[KernelChoice, ...] = (
        KernelChoice("gist"),
        KernelChoice("lab_thirds"),
        KernelChoice("lbp"),
        KernelChoice("hog"),
        KernelChoice("gabor"),
    )
    methods: tuple[MethodName, ...] = METHODS
    serve: str | None = None
    gamma_factors: tuple[Positive, ...] = (1.0,)
    cost: tuple[Positive, ...] = (0.003, 0.01, 0.03, 0.1)
    svm_cost: tuple[Positive, ...] = (0.01, 0.03, 0.1, 0.3)
    sigma: tuple[Positive, ...] = (1.0,)
    penalties: tuple[Positive, ...] = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
    temperatures: tuple[Positive, ...] = (0.02, 0.05, 0.1, 0.2, 0.4)
    local_temperatures: tuple[Positive, ...] = (0.005, 0.01, 0.02, 0.04, 0.08)
    levels: Annotated[int, Field(ge=2)] = 8
    loss: Literal["l1", "l2"] = "l2"
    regularizer: Literal["l1", "l2"] = "l2"
    folds: Annotated[int, Field(ge=2)] = 10
    max_pairs: Count = 25_000
    exact_up_to: Count = 5_000
    landmarks: Count = 1_000
    seed: int = 7
    curve_axes: ClassVar[tuple[str, str]] = ("attribute", "accuracy")
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if not self.kernels or len(set(self.kernels)) < len(self.kernels):
            raise ConfigError("systems.attributes.kernels: name at least one kernel, and each of them once.")
        if not self.methods or len(set(self.methods)) < len(self.methods):
            raise ConfigError("systems.attributes.methods: name at least one method, and each of them once.")

    @property
    def features(self) -> tuple[str, ...]:
        """The feature types that are needed, each once."""
        return tuple(dict.fromkeys(choice.feature for choice in self.kernels))

    @property
    def kernel_names(self) -> tuple[str, ...]:
        return kernel_names([(choice.feature, choice.kernel) for choice in self.kernels])


def kernel_names(kernels: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """A name for each (feature type, kernel): the feature type, and the kernel too where a type has several.

    >>> kernel_names([("gist", "linear"), ("hog", "linear"), ("gist", "rbf")])
    ('gist_linear', 'hog', 'gist_rbf')
    """
    counts = Counter(name for name, _ in kernels)
    return tuple(name if counts[name] == 1 else f"{name}_{kind}" for name, kind in kernels)
