"""How many pictures a codebook should be fitted on: mean average precision of search by example on Corel 5K.

Each of the 499 test pictures is a query, the 4500 training pictures are ranked by the L1 distance of their bags, and
those of the query's class are relevant. Codebooks differ in the number of pictures and in the seed.
"""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from mediarank.collections.sources import open_collection
from mediarank.evaluation.metrics import average_precision
from mediarank.fanout import fan_out
from mediarank.features.bag_of_words import BagOfWords
from mediarank.features.base import LocalExtractor
from mediarank.features.fitting import fit
from mediarank.features.hue import Hue
from mediarank.features.sift import Sift
from mediarank.media.working import read_picture
from mediarank.similarity.distances import l1_distances
from mediarank.types import Roles

ITEMS = (16, 400)
DESCRIPTORS = (16_000, 40_000)
"""Of all items together; the first was the sample of the former default, 16 items."""
SEEDS = (0, 1, 2)


def families(items: int, descriptors: int, seed: int) -> dict[str, LocalExtractor]:
    common = {"items": items, "descriptors": descriptors, "seed": seed, "normalisation": "sqrt"}
    return {"sift": Sift(step=16, **common), "hue": Hue(**common)}


def codebook_quality(folder: Path) -> dict[str, dict[str, float]]:
    """Family and number of items -> mean and spread of mAP over seeds."""
    listing = open_collection(folder)
    classes = {item: name for item, name in listing.labels.class_of.items() if item in listing.files}
    role_of = dict(listing.labels["splits"][["item", "role"]].itertuples(index=False))
    items = sorted(classes)
    frames = pd.DataFrame({"frame_id": items, "item_id": items, "kind": "image", "index": 0})
    frames["path"] = [str(listing.files[item].relative_to(folder)) for item in items]
    frames["sha256"] = [hashlib.sha256(item.encode()).hexdigest() for item in items]
    roles = Roles(pd.DataFrame({"item_id": items, "group_id": items, "role": [role_of[i] for i in items], "fold": 0}))
    sounds = pd.DataFrame(columns=["item_id", "path", "sha256"])
    query = np.array([role_of[item] == "test" for item in items])
    kinds = np.array([classes[item] for item in items])
    relevant = kinds[query][:, None] == kinds[~query][None]
    report = {}
    for name in families(1, 1, 0):
        settings = [(i, d, s) for i, d in zip(ITEMS, DESCRIPTORS, strict=True) for s in SEEDS]
        types = [fit(families(*chosen)[name], frames, sounds, folder, roles) for chosen in settings]
        bags = [BagOfWords(t.family, t.codebook) for t in types]  # type: ignore[arg-type]
        rows = np.stack(fan_out(partial(_encoded, bags), [listing.files[i] for i in items], f"{name} bags"))
        found: dict[int, list[float]] = {}
        for (count, _, _), values in zip(settings, rows.transpose(1, 0, 2), strict=True):
            distances = l1_distances(values[query], values[~query])
            scores = [average_precision(r, -d) for r, d in zip(relevant, distances, strict=True)]
            found.setdefault(count, []).append(float(np.mean(scores)))
        for count, maps in found.items():
            shown = ", ".join(f"{value:.4f}" for value in maps)
            print(f"{name:6}{count:5} pictures: mAP {np.mean(maps):.4f} (seeds: {shown})")
            report[f"{name}_{count}"] = {"map": round(float(np.mean(maps)), 4), "spread": round(float(np.std(maps)), 4)}
    return report


def _encoded(bags: list[BagOfWords], path: Path) -> np.ndarray:
    """One row per codebook; the picture is described once."""
    described = bags[0].local.describe(read_picture(path))
    return np.stack([bag.encode(described) for bag in bags])
