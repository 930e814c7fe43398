"""Rank new files with the champions: described with their codebooks, ranked with their weights, without fitting.

A file is new if the champion's collection did not have it: another id, or another content under the same id. The stages
up to `frames` have made its working copies. Scores go to `.mediarank/ingested/<system>`: they are no version of the
collection, and the next full run includes the new files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from mediarank import store
from mediarank.asking.describe import describe_copies
from mediarank.asking.scores import best
from mediarank.features.cache import FeatureCache
from mediarank.media.shards import Media
from mediarank.ops.models.model_registry import CHAMPION, Registry, Version
from mediarank.ops.models.packing import Packed, unpack
from mediarank.ops.runs.results import INGESTED
from mediarank.systems.registry import SYSTEMS
from mediarank.types import FeatureMatrix

BEST: Final = 10
"""How many of an item's best results are listed in `best.csv`; `scores` holds all."""


@dataclass(frozen=True)
class Ingested:
    """New items of one system.

    scores : one row per item, one column per name that the champion ranks
    """

    champion: Version
    scores: FeatureMatrix

    def summary(self) -> str:
        return (
            f"{self.champion.system}: {len(self.scores)} new item(s) ranked by version {self.champion.number} "
            f"({self.champion.method})."
        )


def ingest(root: Path, uri: str | None = None, say: Callable[[str], None] = print) -> list[Ingested]:
    """Rank new files, for every system that has a champion."""
    root = root.resolve()
    registry = Registry(root, uri)
    found = []
    for system in SYSTEMS:
        champion = registry.bearing(system, CHAMPION)
        if champion is None:
            say(f"{system}: there is no champion to rank with; mediarank promote makes one.")
            continue
        packed = unpack(registry.verified(champion))
        found.append(Ingested(champion, rank_new(packed, root / "data", root / ".mediarank/cache/features")))
        _write(root / INGESTED / system, found[-1].scores)
        say(found[-1].summary())
    return found


def rank_new(packed: Packed, data: Path, cache: Path) -> FeatureMatrix:
    """Scores of the items that the packed model's collection did not have."""
    manifest = store.read_manifest(data / "manifest/manifest.parquet").usable[["item_id", "sha256"]]
    before = set(packed.items.itertuples(index=False, name=None))
    new = [item for item, sha256 in manifest.itertuples(index=False, name=None) if (item, sha256) not in before]
    tables = (store.read_table(data / f"frames/{name}.parquet") for name in ("frames", "sounds"))
    frames, sounds = (table[table["item_id"].isin(new)].reset_index(drop=True) for table in tables)
    types = packed.model.needs.features
    media = Media(data / "frames/media")
    described = describe_copies(packed.workspace, frames, sounds, media, types, FeatureCache(cache))
    items = packed.model.able(described)
    scores = packed.model.rank(described, items).astype(np.float32)
    return FeatureMatrix(np.array(items, dtype=str), packed.model.names, scores)


def _write(folder: Path, scores: FeatureMatrix) -> None:
    with store.atomic_folder(folder) as temporary:
        store.write_features(temporary / "scores", scores)
        listed: pd.DataFrame = best(scores.values, scores.names, scores.ids.tolist(), BEST)
        store.write_csv(temporary / "best.csv", listed)
