"""Search in a collection without labels, before and after clicks.

    python benchmarks/unlabelled.py --data FOLDER

The collection's classes are hidden from the system, which is fitted without any label. They only say which results a
person would have wanted: P@10 over queries of all similarities alike (`p10_uniform`), of the network's alone
(`p10_network`), and of what is served after 20 clicks per query (`p10_after_20_clicks`). A click says of one result,
from the first on, whether it is of the query's class; only the learned weights change the order, clicked results are
not put first. Since clicked results are part of that figure, `p10_unclicked_before` and `p10_unclicked_after` give P@10
of the other items alone, without and with learning. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from retrieval_types import NETWORK, TYPES, describe

from mediarank.labels import Labels
from mediarank.systems.contract import Inputs
from mediarank.systems.retrieval.config import Config
from mediarank.systems.retrieval.fit import fit
from mediarank.systems.retrieval.live import Feedback, LiveRanker
from mediarank.systems.retrieval.model import Model
from mediarank.types import FeatureMatrix, Floats, Roles

HAND_MADE = ("lab", "autocorrelogram", "gist", "hog", "lbp", "gabor")
CLICKS = 20
SHOWN = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of a collection with classes")
    parser.add_argument("--cache", type=Path, default=Path(".mediarank/cache/benchmarks"), help="for features")
    parser.add_argument("--types", nargs="+", default=[*HAND_MADE, *NETWORK], choices=list(TYPES))
    parser.add_argument("--per-class", type=int, help="a sample of so many items per class")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    described = describe(options.data, options.cache, options.seed, options.types, options.per_class)
    model = without_labels(described.matrices, tuple(options.types))
    able = sorted(set(described.classes) - described.reserved)
    queries = np.random.default_rng(options.seed).permutation(able)[: options.queries].tolist()
    print(f"{len(model.names)} items, {len(queries)} queries; {model.served} is served")
    print(json.dumps(measured(model, described.classes, queries)))


def without_labels(matrices: Mapping[str, FeatureMatrix], types: tuple[str, ...]) -> Model:
    """The system, fitted on a collection that has no label."""
    items = sorted(next(iter(matrices.values())).ids.tolist())
    roles = Roles(pd.DataFrame({"item_id": items, "group_id": items, "role": "base", "fold": 0}))
    network = tuple(name for name in types if name in NETWORK)
    fitted = fit(Inputs(matrices, Labels({}), roles), Config(features=types, unlabelled=network))
    assert isinstance(fitted.model, Model)
    return fitted.model


def measured(model: Model, classes: Mapping[str, str], queries: list[str]) -> dict[str, float]:
    names = np.array([classes[item] for item in model.names])
    figures: dict[str, list[float]] = {}
    for query in queries:
        for key, method in (("p10_uniform", "uni_con"), ("p10_network", model.served)):
            live = LiveRanker(model, method)
            order, wanted = ranked(live, query), names == classes[query]
            figures.setdefault(key, []).append(float(wanted[order[:SHOWN]].mean()))
        seen, rest = order[:CLICKS], np.isin(order, order[:CLICKS], invert=True)
        figures.setdefault("p10_unclicked_before", []).append(float(wanted[order[rest][:SHOWN]].mean()))
        good = tuple(model.names[k] for k in seen if wanted[k])
        bad = tuple(model.names[k] for k in seen if not wanted[k])
        if good and bad:
            live.learn(Feedback(query, good, bad))
        again = ranked(live, query)
        figures.setdefault("p10_after_20_clicks", []).append(float(wanted[again[:SHOWN]].mean()))
        again = again[np.isin(again, seen, invert=True)]
        figures.setdefault("p10_unclicked_after", []).append(float(wanted[again[:SHOWN]].mean()))
    return {key: round(float(np.mean(values)), 4) for key, values in figures.items()}


def ranked(live: LiveRanker, query: str) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Positions of all other items, best first."""
    scores: Floats = live.scores(live.vectors(query)).copy()
    own = int(live.model.places([query])[0])
    order = np.argsort(-scores, kind="stable")
    return order[order != own]


if __name__ == "__main__":
    main()
