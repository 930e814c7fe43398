"""How the stages' own work on tables grows, without a picture: processor time over drawn tables; part of scale.py."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mediarank import store
from mediarank.content_cache import ContentCache
from mediarank.evaluation.measured import EvaluationConfig, measure_rankings
from mediarank.evaluation.ranking_collector import Answers
from mediarank.labels import Labels
from mediarank.media.files import Held
from mediarank.media.shards import Media, ShardWriter
from mediarank.similarity.near_duplicates import near_duplicate_groups
from mediarank.stages.manifest import reconcile
from mediarank.stages.splits import SplitsConfig, assign_roles
from mediarank.types import FeatureMatrix, Manifest

CLASSES = 100
QUERIES = 20


def measure(folder: Path, items: int) -> dict[str, float]:
    """What is done -> processor seconds for this many items."""
    rng = np.random.default_rng(0)
    ids = [f"a{k // 1000:05d}/{k:08d}.jpg" for k in range(items)]
    hashes = [f"{value:016x}" for value in rng.integers(0, 2**63, items, dtype=np.uint64).tolist()]
    labels = Labels({"classes": pd.DataFrame({"item": ids, "class": [f"kind{k % CLASSES:02d}" for k in range(items)]})})
    content = rng.bytes(3000 + items)
    spent: dict[str, float] = {}

    def timed(what: str, work: Callable[[], Any]) -> Any:
        began = time.process_time()
        found = work()
        spent[what] = round(time.process_time() - began, 2)
        return found

    def pack() -> None:
        with ShardWriter(folder / "shards") as shards:
            for k, item in enumerate(ids):
                own = content[k : k + 3000]
                shards.add(item, Held(item, own), len(own), hashlib.sha256(own).hexdigest())

    timed("write shards", pack)
    media = timed("open shards", lambda: Media(folder / "shards"))
    timed("read shards", lambda: sum(len(media[item].read_bytes()) for item in ids))
    cache = ContentCache(folder / "cache")
    keys = [hashlib.sha256(item.encode()).hexdigest() for item in ids]

    def remember() -> None:
        for start in range(0, items, 1024):
            cache.write("drawn", dict.fromkeys(keys[start : start + 1024], content[:1000]))

    timed("write the cache", remember)
    timed("read the cache", lambda: [cache.read(keys[start : start + 1024]) for start in range(0, items, 1024)])
    columns = {"item_id": ids, "path": ids, "kind": "image", "width": 96, "height": 96, "seconds": 0.0, "fps": 0.0}
    rest = {"has_sound": False, "sha256": keys, "group_id": ids, "status": "ok", "reason": ""}
    manifest = timed("make the manifest", lambda: Manifest(pd.DataFrame({**columns, **rest})))
    timed("join labels", lambda: reconcile(labels, manifest))
    timed("near-duplicates", lambda: near_duplicate_groups(hashes, 4))
    table = pd.DataFrame({"item_id": ids, "kind": "image", "group_id": ids, "phash": hashes})
    timed("splits", lambda: assign_roles(table, labels, SplitsConfig()))
    values = rng.random((items, 64), np.float32)
    matrix = FeatureMatrix(np.array(ids), tuple(map(str, range(64))), values)
    timed("write features", lambda: store.write_features(folder / "features", matrix))
    timed("read features", lambda: store.read_features(folder / "features"))
    answers = Answers(ids)

    def rank() -> None:
        for k in range(QUERIES):
            answers.add(ids[k], k, values[:, k], np.arange(k % CLASSES, items, CLASSES))

    timed(f"rank {QUERIES} queries", rank)
    timed("evaluation", lambda: measure_rankings({"drawn": answers.finish()}, None, EvaluationConfig()))
    return spent
