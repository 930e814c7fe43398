"""What learned similarities and the pretrained network add to paper 003, on the folds of `retrieval_protocol.py`.

Three variants of φ: the nine hand-made types that the fold picked (`learned_similarity`), the network alone
(`network`) and both (`all`). Each is fitted by the system's own code, with the training, validation and test items of
the fold. `served` is the method that the system would serve. A second run leaves every fifth class out of everything
that is learned or chosen and asks with the items of just these classes: it shows what class probabilities do for
classes that were never seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from retrieval_protocol import FOLDS, Protocol, queries_of
from retrieval_results import SERVED, FoldRows, Row
from retrieval_types import Described

from mediarank.evaluation.metrics import measure as measure_metric
from mediarank.evaluation.protocols import rank_methods
from mediarank.labels import Labels
from mediarank.systems.contract import Inputs
from mediarank.systems.retrieval.config import Config
from mediarank.systems.retrieval.fit import fit
from mediarank.systems.retrieval.learned_methods import LEARNED_METHODS
from mediarank.types import Judgments, Roles

METHODS = ("uni_con", "opar2", *LEARNED_METHODS)
ROLE_COLUMNS = ["item_id", "group_id", "role", "fold"]
Sets = Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
"""Variant -> its hand-made types, and those of a network."""


def feature_sets(hand_made: Sequence[str], network: Sequence[str]) -> Sets:
    """Without a network there is one variant."""
    sets: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {"learned_similarity": (tuple(hand_made), ())}
    both = {"network": ((), tuple(network)), "all": (tuple(hand_made), tuple(network))}
    return sets | (both if network else {})


def run_learned(
    described: Described, fold_of: Mapping[str, int], fold: int, sets: Sets, protocol: Protocol
) -> FoldRows:
    """All classes known; the queries are those of the fold."""
    choosing, test = queries_of(fold_of, fold, protocol, described.reserved)
    roles = {item: _role(own, fold) for item, own in fold_of.items()}
    return _measured(described, roles, fold, choosing, test, sets, protocol)


def run_held_out(
    described: Described, fold_of: Mapping[str, int], fold: int, sets: Sets, protocol: Protocol
) -> FoldRows:
    """A fifth of the classes is never seen: their items are ranked, and asked with, and nothing else."""
    classes = described.classes
    names = sorted({classes[i] for i in classes if i not in described.clutter})
    out = {name for k, name in enumerate(names) if k % FOLDS == fold}
    choosing = [i for i in queries_of(fold_of, fold, protocol, described.reserved)[0] if classes[i] not in out]
    able = [i for i in classes if classes[i] in out and fold_of[i] == fold and i not in described.reserved]
    rng = np.random.default_rng([protocol.seed, fold, 1])
    test = sorted(rng.permutation(sorted(able))[: protocol.test_queries].tolist())
    roles = {i: "test" if classes[i] in out else _role(own, fold) for i, own in fold_of.items()}
    return _measured(described, roles, fold, choosing, test, sets, protocol)


def _role(own: int, fold: int) -> str:
    return "test" if own == fold else "valid" if own == (fold + 1) % FOLDS else "base"


def _measured(
    described: Described,
    roles: Mapping[str, str],
    fold: int,
    choosing: Sequence[str],
    test: Sequence[str],
    sets: Sets,
    protocol: Protocol,
) -> FoldRows:
    """Fit the system with every choice of types; clutter teaches nothing, so it has the role of test items."""
    classes = dict(sorted(described.classes.items()))
    given = {item: "test" if item in described.clutter else role for item, role in roles.items()}
    labels = Labels(
        {
            "classes": pd.DataFrame(sorted(classes.items()), columns=["item", "class"]),
            "queries": pd.DataFrame({"item": sorted([*choosing, *test])}),
        }
    )
    table = Roles(pd.DataFrame([(i, i, given[i], 0) for i in classes], columns=ROLE_COLUMNS))
    rows: list[Row] = []
    facts = {}
    for name, (hand_made, network) in sets.items():
        types = (*hand_made, *network)
        config = Config(
            features=types,
            methods=METHODS,
            class_scores=types,
            unlabelled=network,
            scaling_pairs=protocol.scaling_pairs,
            instances=min(protocol.instances, Config.instances),
            negatives=protocol.negatives,
            validation_queries=protocol.validation_queries,
            test_queries=len(test),
            seed=protocol.seed,
        )
        fitted = fit(Inputs({t: described.matrices[t] for t in types}, labels, table), config)
        ranked = rank_methods(fitted.scores, Judgments.from_classes(classes, test))
        found = {method: measure_metric(ranks, "ap").tolist() for method, ranks in ranked.items()}
        model = fitted.model
        rows += [Row(name, m, ap, model.validation[m], chosen=model.parameters[m]) for m, ap in found.items()]
        rows.append(Row(name, SERVED, found[model.served]))
        facts[name] = {"served": model.served, **model.learned_types.facts()}
    return FoldRows(fold, list(test), rows, facts)
