"""Which base models each row of the concepts benchmark has.

`paper` is the paper's: two SVMs on balanced bags of each of the fifty types. `ridge` is ours: one kernel ridge
regression on all training items of each type, with the exponential χ² kernel where no value of the type is below 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from concepts_data import Described

from mediarank.base_models.svm import SVMConfig

TRAINED = ("base", "rank")
WIDTHS = (1.0, 2.0)
PENALTIES = (5.0, 10.0, 20.0)
"""Of the regressions: what was best for five of the types, on half of the training part of the first split."""


def configs(described: Described, row: str, seed: int, roles: tuple[str, ...] = TRAINED) -> Mapping[str, SVMConfig]:
    """Feature type -> how its base models are trained."""
    if row == "paper":
        return dict.fromkeys(described.features, SVMConfig(seed=seed, roles=roles))  # type: ignore[arg-type]
    return {kind: ridge(matrix.values.min() >= 0, seed, roles) for kind, matrix in described.features.items()}


def ridge(histogram: bool, seed: int, roles: tuple[str, ...] = TRAINED) -> SVMConfig:
    kernel = "exponential_chi2" if histogram else "rbf"
    return SVMConfig("ridge", kernel, roles, penalties=PENALTIES, widths=WIDTHS, seed=seed)  # type: ignore[arg-type]
