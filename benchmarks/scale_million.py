"""Search, feedback and finding over a million items whose vectors are drawn; parts of benchmarks/scale.py."""

from __future__ import annotations

import resource
import time
from pathlib import Path
from typing import Any

import asking
import numpy as np

from mediarank import store
from mediarank.asking.workspace import Workspace
from mediarank.similarity.phi import weighted_phi
from mediarank.similarity.shortlist import Shortlist
from mediarank.systems.model import Parts
from mediarank.systems.retrieval.live import Feedback, LiveRanker
from mediarank.systems.retrieval.model import Model
from mediarank.types import FeatureMatrix

FITTED = 4000
"""Items that the models are fitted to; the million is only searched."""
QUERIES = 7


def drawn(items: int, seed: int = 1) -> dict[str, FeatureMatrix]:
    """Vectors in 2,000 clusters, as real ones are: of vectors without structure no index finds the nearest."""
    rng = np.random.default_rng(seed)
    ids = np.array([f"i{k:07d}" for k in range(items)])
    found = {}
    for name, width in asking.TYPES.items():
        centres = np.abs(rng.normal(size=(2000, width))).astype(np.float32)
        values = np.empty((items, width), np.float32)
        for start in range(0, items, 50_000):
            rows = slice(start, min(items, start + 50_000))
            noise = rng.random((rows.stop - rows.start, width), np.float32) - np.float32(0.5)
            values[rows] = np.abs(centres[rng.integers(0, len(centres), len(noise))] + noise)
        found[name] = FeatureMatrix(ids, tuple(map(str, range(width))), values)
    return found


def measure(folder: Path, items: int, parts: list[str]) -> dict[str, Any]:
    data = folder / "million"
    wanted = ["retrieval", *(["concepts"] if "find" in parts else [])]
    if not (data / "manifest/labels").exists():
        asking.make(data, FITTED, 20)
    asking.fit(data, [name for name in wanted if not (data / "systems" / name / "model.json").exists()])
    space = Workspace(data, asking.Copying)
    matrices = drawn(items)
    arrays, facts = store.open_arrays(data / "systems/retrieval/model.npz"), space.facts("retrieval")
    model = Model.from_arrays(arrays, facts, Parts(matrices))
    live = LiveRanker(model, "arow")
    queries = [live.vectors(live.ids[k]) for k in range(0, items, items // QUERIES)][:QUERIES]
    found: dict[str, Any] = {}
    if "search" in parts:
        found |= searched(live, queries)
    if "index" in parts:
        found |= indexed(live, queries)
    if "find" in parts:
        concepts = space.model("concepts")
        name = concepts.names[-1]
        described = {kind: matrices[kind] for kind in concepts.needs.features}
        began = time.perf_counter()
        answer = concepts.ask(described, list(live.ids), name)
        found[f"find_s_{items}"] = round(time.perf_counter() - began, 2)
        found["find_evaluations_share"] = round(answer.evaluations / answer.possible, 3)
    found["peak_mb_million"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
    return found


def searched(live: LiveRanker, queries: list[Any]) -> dict[str, float]:
    """Exact search, against reading the vectors once; then what a click costs."""
    live.search(queries[0])
    rows = live.model.rows
    v, offset = live.model.scaler.unscaled(live.ranking_weights)
    search, spent, phi, read, feedback = [], [], [], [], []
    for vectors in queries:
        search.append(seconds(lambda vectors=vectors: live.search(vectors)))
        spent.append(seconds(lambda vectors=vectors: live.search(vectors), time.process_time))
        phi.append(seconds(lambda vectors=vectors: weighted_phi(vectors, rows, v, offset), time.process_time))
        read.append(seconds(lambda: [float(matrix.sum()) for matrix in rows], time.process_time))
    hits = live.search(queries[0], 20)
    names = [hit.item for hit in hits]
    for k in range(1, 8):
        said = Feedback(names[0], (names[k],), (names[k + 8],))

        def click(said: Feedback = said) -> None:
            live.learn(said)
            live.search(queries[0], 20)

        feedback.append(seconds(click))
    return {
        "search_ms_1m": round(1000 * min(search), 1),
        "search_processor_ms_1m": round(1000 * float(np.median(spent)), 1),
        "phi_vs_read": round(float(np.median(phi) / np.median(read)), 2),  # processor time of both
        "feedback_ms_1m": round(1000 * min(feedback), 1),
    }


def indexed(live: LiveRanker, queries: list[Any]) -> dict[str, float]:
    """Search by shortlist: building it, asking it, and how much of the exact answer it finds."""
    began = time.perf_counter()
    short = Shortlist.build(list(live.model.rows))
    built = time.perf_counter() - began
    live.search(queries[0], shortlist=short)
    times = [seconds(lambda vectors=vectors: live.search(vectors, shortlist=short)) for vectors in queries]
    return {
        "index_build_s": round(built, 1),
        "shortlist_ms_1m": round(1000 * float(np.median(times)), 2),
        "shortlist_recall": round(live.recall(short, queries=10), 3),
    }


def seconds(work: Any, clock: Any = time.perf_counter) -> float:
    began = clock()
    work()
    return float(clock() - began)
