"""Search by example on Corel 5K, to compare feature types: nothing is learned.

Each of the 499 test pictures is a query, the 4500 training pictures are ranked by a distance, and those of the query's
class are relevant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mediarank.collections.sources import open_collection
from mediarank.evaluation.metrics import average_precision
from mediarank.types import Roles


@dataclass(frozen=True, eq=False)
class Corel:
    """
    files : of the pictures, in the order of the rows of `frames`
    query : which rows are queries
    relevant : (queries, others)
    """

    folder: Path
    files: list[Path]
    frames: pd.DataFrame
    sounds: pd.DataFrame
    roles: Roles
    query: np.ndarray
    relevant: np.ndarray

    def mean_ap(self, values: np.ndarray, distance: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
        """values : one row per picture"""
        distances = distance(values[self.query], values[~self.query])
        return float(np.mean([average_precision(r, -d) for r, d in zip(self.relevant, distances, strict=True)]))


def read_corel(folder: Path, every: int = 1) -> Corel:
    """every : take each second, third ... picture only"""
    listing = open_collection(folder)
    classes = {item: name for item, name in listing.labels.class_of.items() if item in listing.files}
    role_of = dict(listing.labels["splits"][["item", "role"]].itertuples(index=False))
    items = sorted(classes)[::every]
    frames = pd.DataFrame({"frame_id": items, "item_id": items, "kind": "image", "index": 0})
    frames["path"] = [str(listing.files[item].relative_to(folder)) for item in items]
    frames["sha256"] = [hashlib.sha256(listing.files[item].read_bytes()).hexdigest() for item in items]
    roles = Roles(pd.DataFrame({"item_id": items, "group_id": items, "role": [role_of[i] for i in items], "fold": 0}))
    sounds = pd.DataFrame(columns=["item_id", "path", "sha256"])
    query = np.array([role_of[item] == "test" for item in items])
    kinds = np.array([classes[item] for item in items])
    relevant = kinds[query][:, None] == kinds[~query][None]
    return Corel(folder, [listing.files[i] for i in items], frames, sounds, roles, query, relevant)
