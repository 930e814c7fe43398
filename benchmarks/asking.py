"""What an answer costs: finding one of many concepts, opening a model, searching by example.

A workspace is made of drawn vectors with 100 rare concepts, written by the stages' own functions. Finding one concept
is timed against scoring every model of every concept and keeping one column, which is what asking for all names costs.
Both sides are timed in turns, best of several.

    python benchmarks/asking.py
    python benchmarks/asking.py --items 9144 --concepts 102
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mediarank import store
from mediarank.asking.describe import Copying
from mediarank.asking.find import find
from mediarank.asking.workspace import Workspace
from mediarank.base_models.svm import SVMConfig
from mediarank.labels import Labels
from mediarank.stages import base_models, systems
from mediarank.systems.concepts.config import Config as ConceptsConfig
from mediarank.systems.model import Needs
from mediarank.systems.retrieval.config import Config as RetrievalConfig
from mediarank.systems.retrieval.live import LiveRanker
from mediarank.systems.retrieval.model import Model
from mediarank.types import FeatureMatrix, Roles

TYPES = {"colour": 64, "shape": 128, "texture": 96}
RATE = 0.02


def make(data: Path, items: int, concepts: int, seed: int = 7) -> None:
    """A collection whose vectors show its concepts, more or less."""
    rng = np.random.default_rng(seed)
    ids = np.array([f"i{k:06d}" for k in range(items)])
    shown = rng.random((items, concepts)) < RATE
    for name, width in TYPES.items():
        directions = rng.normal(size=(concepts, width)) * rng.uniform(0.3, 1.2, (concepts, 1))
        values = np.abs(rng.normal(size=(items, width)) + shown @ directions).astype(np.float32)
        store.write_features(data / "features" / name, FeatureMatrix(ids, tuple(map(str, range(width))), values))
    rows, columns = np.nonzero(shown)
    labels = pd.DataFrame({"item": ids[rows], "concept": [f"concept{c:03d}" for c in columns], "relevant": True})
    rest = pd.DataFrame({"item": ids, "concept": "concept000", "relevant": shown[:, 0]})
    both = pd.concat([labels, rest]).drop_duplicates(["item", "concept"], ignore_index=True)
    classes = pd.DataFrame({"item": ids, "class": [f"class{k % 20}" for k in range(items)]})
    store.write_labels(data / "manifest/labels", Labels({"concepts": both, "classes": classes}))
    role = rng.choice(["base", "rank", "valid", "test"], items, p=[0.4, 0.2, 0.1, 0.3])
    roles = pd.DataFrame({"item_id": ids, "group_id": ids, "role": role, "fold": 0})
    store.write_roles(data / "splits/roles.parquet", Roles(roles))


def fit(data: Path, wanted: Sequence[str] = ("concepts", "retrieval")) -> None:
    types = tuple(TYPES)
    if "concepts" in wanted:
        for name in types:
            base_models.run(name, SVMConfig(penalties=(2.0,), widths=(1.0,), bags=2), data)
        config = ConceptsConfig(
            base_models=types, methods=("mean_fusion", "forward_cascade"), serve="forward_cascade", lambdas=()
        )
        systems.run("concepts", config, Needs(types, base_models=types), data)
    if "retrieval" in wanted:
        search = RetrievalConfig(features=types, methods=("uni_con", "arow"), instances=5000, test_queries=10)
        systems.run("retrieval", search, Needs(types), data)


def seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def measure(data: Path, repeats: int) -> dict[str, Any]:
    def workspace() -> Workspace:
        return Workspace(data, Copying)

    space = workspace()
    model = space.model("concepts")
    described = {kind: space.matrices[kind] for kind in model.needs.features}
    items = model.able(described)
    name = model.names[-1]
    finds = find(space, name, 20)  # warm
    everything, one, opened = [], [], []
    for _ in range(repeats):
        everything.append(seconds(lambda: model.rank(described, items)[:, -1]))
        one.append(seconds(lambda: find(space, name, 20)))
        opened.append(seconds(lambda: workspace().model("concepts").names))
    retrieval = space.model("retrieval")
    assert isinstance(retrieval, Model)
    live = LiveRanker(retrieval)
    queries = [live.vectors(item) for item in live.ids[:50]]
    live.search(queries[0])
    search = [seconds(lambda vectors=vectors: live.search(vectors)) for vectors in queries]
    return {
        "items": len(items),
        "concepts": len(model.names),
        "find_everything_ms": 1000 * min(everything),
        "find_ms": 1000 * min(one),
        "find_ratio": min(everything) / min(one),
        "find_evaluations_share": finds.evaluations / finds.possible,
        "open_s": min(opened),
        "search_ms": 1000 * float(np.median(search)),
    }


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=4000)
    parser.add_argument("--concepts", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = Path(folder) / "data"
        make(data, given.items, given.concepts)
        fit(data)
        found = measure(data, given.repeats)
    print(f"{found['items']:,} items, {found['concepts']} concepts, {len(TYPES)} feature types")
    print(f"  find by asking everything {found['find_everything_ms']:9.1f} ms")
    print(f"  find NAME                 {found['find_ms']:9.1f} ms, {found['find_ratio']:.1f} times as fast")
    print(f"  evaluations made          {found['find_evaluations_share']:9.1%}")
    print(f"  opening the model         {1000 * found['open_s']:9.1f} ms")
    print(f"  search by example         {found['search_ms']:9.1f} ms")
    print(json.dumps({key: round(value, 4) for key, value in found.items()}))
    return found


if __name__ == "__main__":
    main()
