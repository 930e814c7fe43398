"""The rows of the concepts benchmark: which feature types and base models each has.

| row | base models per concept |
|---|---|
| paper | two SVMs on balanced bags of each of fifty hand-made types, as in the paper |
| ridge | ours: one kernel ridge regression on all training items of each of the fifty types |
| network | a regression and two SVMs on a pretrained network, which sees the picture at two sizes |
| all | those of `ridge` and of `network` |

Regressions have the exponential χ² kernel where no value of a type is below 0, else the RBF kernel. The network's
vectors are those of annotation_types.py and are cached like there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from annotation_types import NETWORK
from annotation_types import describe as describe_pictures
from concepts_data import Described

from mediarank.base_models.svm import SVMConfig
from mediarank.types import FeatureMatrix

ROWS = ("paper", "ridge", "network", "all")
TRAINED = ("base", "rank")
SVMS = "_svm"
"""Ends the names under which the network's SVMs stand beside its regressions."""
WIDTHS = (1.5,)
PENALTIES = (10.0,)
"""Of the regressions: one setting for all, near the best for five of the types on half of the training part of split
10, by left-out scores."""


def with_network(described: Described, folder: Path, cache: Path) -> Described:
    """The pictures described by the network too; each size stands twice, for regressions and for SVMs."""
    pictures = describe_pictures(folder, cache, NETWORK)
    ids = next(iter(described.features.values())).ids
    found = {name: FeatureMatrix(ids, m.names, m.rows(ids.tolist())) for name, m in pictures.features.items()}
    found |= {f"{name}{SVMS}": matrix for name, matrix in found.items()}
    return replace(described, features=dict(described.features) | found)


def configs(described: Described, row: str, seed: int, roles: tuple[str, ...] = TRAINED) -> Mapping[str, SVMConfig]:
    """Feature type -> how its base models are trained."""
    svms = SVMConfig(seed=seed, roles=roles)  # type: ignore[arg-type]
    handmade = [kind for kind in described.features if not kind.startswith("network")]
    network = [kind for kind in described.features if kind.startswith("network")]
    kinds = {"paper": handmade, "ridge": handmade, "network": network, "all": handmade + network}[row]
    return {
        kind: svms if row == "paper" or kind.endswith(SVMS) else ridge(described.features[kind], seed, roles)
        for kind in kinds
    }


def ridge(matrix: FeatureMatrix, seed: int, roles: tuple[str, ...]) -> SVMConfig:
    kernel = "exponential_chi2" if matrix.values.min() >= 0 else "rbf"
    return SVMConfig("ridge", kernel, roles, penalties=PENALTIES, widths=WIDTHS, seed=seed)  # type: ignore[arg-type]
