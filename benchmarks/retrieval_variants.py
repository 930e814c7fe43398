"""What learned similarities and the pretrained network add to paper 003, on the folds of `retrieval_protocol.py`.

Three variants of φ: the nine hand-made types that the fold picked (`learned_similarity`), the network alone
(`network`) and both (`all`). Each is fitted by the system's own code, with the training, validation and test items of
the fold. A second run leaves every fifth class out of everything that is learned or chosen and asks with the items of
just these classes: it shows what class probabilities do for classes that were never seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from retrieval_protocol import FOLDS, Prepared, Protocol

from mediarank.evaluation.metrics import mean_over_queries
from mediarank.evaluation.metrics import measure as measure_metric
from mediarank.evaluation.protocols import rank_methods
from mediarank.labels import Labels
from mediarank.systems.contract import Inputs
from mediarank.systems.retrieval.config import Config
from mediarank.systems.retrieval.fit import fit
from mediarank.systems.retrieval.learned_methods import LEARNED_METHODS
from mediarank.types import Doubles, FeatureMatrix, Judgments, Roles

METHODS = ("uni_con", "opar2", "ranksvm", *LEARNED_METHODS)
ROLE_COLUMNS = ["item_id", "group_id", "role", "fold"]


@dataclass(frozen=True)
class Variant:
    """How every method does with one choice of feature types.

    served, best : the method that the system would serve, with and without regard for classes never seen
    """

    validation: Mapping[str, float]
    average_precision: Mapping[str, Doubles]
    served: str
    best: str

    def mean(self, method: str) -> float:
        return mean_over_queries(self.average_precision[method])[0]


def feature_sets(prepared: Prepared, names: Sequence[str], network: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Variant -> its feature types; without a network there is one variant."""
    picked = tuple(names[k] for k in prepared.picked)
    sets = {"learned_similarity": picked}
    return sets | ({"network": tuple(network), "all": (*picked, *network)} if network else {})


def run_variants(
    matrices: Mapping[str, FeatureMatrix],
    classes: Mapping[str, str],
    fold_of: Mapping[str, int],
    prepared: Prepared,
    sets: Mapping[str, tuple[str, ...]],
    protocol: Protocol,
) -> dict[str, Variant]:
    """All classes known; the queries are those of the fold."""
    roles = {item: _role(fold_of[item], prepared.fold) for item in classes}
    asked = [*prepared.test, *prepared.validation.queries]
    return {
        name: _fitted(matrices, classes, roles, asked, prepared.test, types, protocol) for name, types in sets.items()
    }


def run_held_out(
    matrices: Mapping[str, FeatureMatrix],
    classes: Mapping[str, str],
    fold_of: Mapping[str, int],
    prepared: Prepared,
    sets: Mapping[str, tuple[str, ...]],
    protocol: Protocol,
    never_asked: frozenset[str],
) -> dict[str, Variant]:
    """A fifth of the classes is never seen: their items are ranked, and asked with, and nothing else."""
    names = sorted(set(classes.values()))
    out = {name for k, name in enumerate(names) if k % FOLDS == prepared.fold}
    roles = {i: "test" if classes[i] in out else _role(fold_of[i], prepared.fold) for i in classes}
    able = [i for i in classes if classes[i] in out and fold_of[i] == prepared.fold and i not in never_asked]
    rng = np.random.default_rng([protocol.seed, prepared.fold, 1])
    test = sorted(rng.permutation(sorted(able))[: protocol.test_queries].tolist())
    choosing = [i for i in prepared.validation.queries if classes[i] not in out]
    return {
        name: _fitted(matrices, classes, roles, [*test, *choosing], test, types, protocol)
        for name, types in sets.items()
    }


def _role(own: int, fold: int) -> str:
    return "test" if own == fold else "valid" if own == (fold + 1) % FOLDS else "base"


def _fitted(
    matrices: Mapping[str, FeatureMatrix],
    classes: Mapping[str, str],
    roles: Mapping[str, str],
    asked: Sequence[str],
    test: Sequence[str],
    types: tuple[str, ...],
    protocol: Protocol,
) -> Variant:
    inputs = Inputs(
        {name: matrices[name] for name in types},
        Labels(
            {
                "classes": pd.DataFrame(sorted(classes.items()), columns=["item", "class"]),
                "queries": pd.DataFrame({"item": sorted(asked)}),
            }
        ),
        Roles(pd.DataFrame([(i, i, roles[i], 0) for i in sorted(classes)], columns=ROLE_COLUMNS)),
    )
    config = Config(
        features=types,
        methods=METHODS,
        class_scores=types,
        scaling_pairs=protocol.scaling_pairs,
        instances=protocol.instances,
        negatives=protocol.negatives,
        validation_queries=protocol.validation_queries,
        test_queries=len(test),
        seed=protocol.seed,
    )
    fitted = fit(inputs, config)
    ranked = rank_methods(fitted.scores, Judgments.from_classes(dict(sorted(classes.items())), test))
    found = {method: measure_metric(ranks, "ap") for method, ranks in ranked.items()}
    validation = fitted.model.validation
    return Variant(validation, found, fitted.model.served, max(validation, key=lambda method: validation[method]))
