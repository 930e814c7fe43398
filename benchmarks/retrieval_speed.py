"""How fast retrieval learns and searches, as ratios within one run.

Learning: one pass over the triplets against scikit-learn's SGDClassifier (hinge loss, one pass, its defaults otherwise)
on the same float32 arrays, both on one thread, timed in turns by processor time, best of several. Searching: φ and the
first 50 of a million made-up images in memory-mapped files against reading the same bytes once through the same maps,
blocks and threads. Then what a shortlist in front of φ gains and loses.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from sklearn.linear_model import SGDClassifier

from mediarank.fanout import jobs
from mediarank.learners.online.first_order import OGDR, OPAR1, OPAR2, OPR
from mediarank.learners.online.second_order import AROW, SCW
from mediarank.learners.pairwise.lambdamart import LambdaMART
from mediarank.learners.pairwise.triplet_ranksvm import RankSVM
from mediarank.learners.pairwise.triplets import Triplets
from mediarank.similarity.nearest import nearest
from mediarank.similarity.phi import BLOCK
from mediarank.similarity.shortlist import Shortlist, recall

TYPES, WIDTH = 9, 128
RELEVANT, IRRELEVANT = 5, 15
ONLINE = {"opr": OPR(), "opar1": OPAR1(C=0.01), "opar2": OPAR2(C=0.01), "ogdr": OGDR(eta=0.001)}


def made_triplets(count: int, d: int = 4 * TYPES) -> Triplets:
    """Queries with 5 relevant and 15 other items, all 75 pairs of each; relevance follows half of φ, and noise."""
    rng = np.random.default_rng(0)
    queries, items = -(-count // (RELEVANT * IRRELEVANT)), RELEVANT + IRRELEVANT
    phi = rng.standard_normal((queries * items, d), dtype=np.float32)
    relevant = np.tile(np.arange(items) < RELEVANT, queries)
    phi[relevant, : d // 2] += 0.4
    pairs = np.stack(np.meshgrid(np.arange(RELEVANT), np.arange(RELEVANT, items), indexing="ij"), -1).reshape(-1, 2)
    places = (items * np.arange(queries)[:, None, None] + pairs).reshape(-1, 2)[rng.permutation(queries * len(pairs))]
    return Triplets(phi, np.repeat(np.arange(queries), items), relevant, places[:count, 0], places[:count, 1])


def learning(count: int, rounds: int) -> dict[str, Any]:
    """Ratios of one pass, and seconds of the batch methods on the same data."""
    data = made_triplets(count)
    y = np.where(np.random.default_rng(1).random(count) < 0.5, 1, -1).astype(np.float32)
    rows = data.differences * y[:, None]
    sgd = SGDClassifier(loss="hinge", max_iter=1, tol=None)
    passes: dict[str, Callable[[], Any]] = {"sgd": lambda: sgd.fit(rows, y)}
    passes |= {name: lambda ranker=ranker: ranker.fit(rows, y) for name, ranker in ONLINE.items()}
    for ranker in ONLINE.values():
        ranker.fit(rows[:10], y[:10])  # compiles
    best = dict.fromkeys(passes, np.inf)
    for _ in range(rounds):
        for name, work in passes.items():
            best[name] = min(best[name], _seconds(work))
    passes = {"arow": lambda: AROW().fit(rows, y), "scw": lambda: SCW().fit(rows, y)}
    passes |= {"ranksvm": lambda: RankSVM().fit_triplets(data), "lambdamart": lambda: LambdaMART().fit_triplets(data)}
    AROW().fit(rows[:10], y[:10])
    SCW().fit(rows[:10], y[:10])
    best |= {name: _seconds(work) for name, work in passes.items()}
    print(f"\n{count} triplets × {rows.shape[1]}, processor seconds (table 3)")
    for name, seconds in best.items():
        print(f"  {name:12}{seconds:9.3f}  {best['sgd'] / seconds:8.2f} × SGD's speed")
    ratios = {f"{name}_ratio": round(best["sgd"] / best[name], 2) for name in ONLINE}
    return {**ratios, "train_3m_s": {name: round(seconds, 3) for name, seconds in best.items()}}


def searching(images: int, rounds: int, folder: Path | None) -> dict[str, Any]:
    """One query over so many images: φ and its first 50 against reading their features."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        matrices = made_features(images, Path(temporary))
        queries = [np.array(rows[images // 2]) for rows in matrices]
        weights = np.ones(4 * TYPES, np.float32)
        exact = nearest(queries, matrices, weights, 50)[0]  # compiles, and fills the page cache
        read_all(matrices)
        before = _anonymous_mib()
        read, search = np.inf, np.inf
        for _ in range(rounds):
            read = min(read, _wall(lambda: read_all(matrices)))
            search = min(search, _wall(lambda: nearest(queries, matrices, weights, 50)))
        after = _anonymous_mib()
        print(f"\n{images} images × {TYPES * WIDTH} float32, {jobs()} threads")
        print(f"  read once {read:.3f} s, φ and the first 50 {search:.3f} s: {search / read:.2f} ×")
        print(f"  {after - before:.0f} MiB more in memory beyond the page cache; peak {_peak_mib():.0f} MiB with it")
        started = time.perf_counter()
        shortlist = Shortlist.build(matrices, cells=1024)
        built = time.perf_counter() - started
        recalls, quick = [], np.inf
        for k in range(20):
            queries = [np.array(rows[k * images // 20]) for rows in matrices]
            exact = nearest(queries, matrices, weights, 50)[0]
            recalls.append(recall(exact, shortlist.candidates(queries, 2500)))
            quick = min(quick, _wall(lambda q=queries: short_search(shortlist, q, matrices, weights)))
        print(f"  shortlist of 2500: built in {built:.0f} s, {search / quick:.0f} × as fast, ", end="")
        print(f"finds {np.mean(recalls):.1%} of the first 50")
    return {
        "phi_vs_read": round(search / read, 2),
        "phi_s": round(search, 3),
        "phi_resident_mib": round(after - before),
        "shortlist_recall": round(float(np.mean(recalls)), 4),
        "shortlist_speedup": round(search / quick, 1),
    }


def short_search(shortlist: Shortlist, queries: list[Any], matrices: list[Any], weights: Any) -> Any:
    return nearest(queries, matrices, weights, 50, among=shortlist.candidates(queries, 2500))


def made_features(images: int, folder: Path) -> list[Any]:
    """Histograms around two thousand centres, one file per feature type, written and mapped a block at a time."""
    rng = np.random.default_rng(0)
    matrices = []
    centre_of = rng.integers(2000, size=images)
    for k in range(TYPES):
        centres = rng.gamma(0.5, size=(2000, WIDTH)).astype(np.float32)
        rows = np.lib.format.open_memmap(folder / f"{k}.npy", mode="w+", dtype=np.float32, shape=(images, WIDTH))
        for start in range(0, images, 1 << 16):
            members = centre_of[start : start + (1 << 16)]
            rows[start : start + (1 << 16)] = centres[members] * rng.random((len(members), WIDTH), dtype=np.float32)
        rows.flush()
        matrices.append(np.load(folder / f"{k}.npy", mmap_mode="r"))
    return matrices


def read_all(matrices: list[Any]) -> float:
    """Every byte once, through the same maps, in the same blocks, on the same threads as φ."""

    def total(start: int) -> float:
        return sum(_sum(rows[start : start + BLOCK]) for rows in matrices)

    with ThreadPoolExecutor(jobs()) as pool:
        return sum(pool.map(total, range(0, len(matrices[0]), BLOCK)))


@njit(cache=True, nogil=True, fastmath=True)
def _sum(rows: Any) -> float:
    total = np.float32(0)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            total += rows[i, j]
    return total


def _seconds(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _wall(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _anonymous_mib() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 1024


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
