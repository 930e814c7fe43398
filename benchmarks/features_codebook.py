"""How many pictures a codebook should be fitted on: mean average precision of search by example on Corel 5K.

Codebooks differ in the number of pictures and in the seed; bags are compared by their L1 distance.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from features_corel import read_corel

from mediarank.fanout import fan_out
from mediarank.features.bag_of_words import BagOfWords
from mediarank.features.base import LocalExtractor
from mediarank.features.fitting import fit
from mediarank.features.hue import Hue
from mediarank.features.sift import Sift
from mediarank.media.working import read_picture
from mediarank.similarity.distances import l1_distances

ITEMS = (16, 400)
DESCRIPTORS = (16_000, 40_000)
"""Of all items together; the first was the sample of the former default, 16 items."""
SEEDS = (0, 1, 2)


def families(items: int, descriptors: int, seed: int) -> dict[str, LocalExtractor]:
    common = {"items": items, "descriptors": descriptors, "seed": seed, "normalisation": "sqrt"}
    return {"sift": Sift(step=16, **common), "hue": Hue(**common)}


def codebook_quality(folder: Path) -> dict[str, dict[str, float]]:
    """Family and number of items -> mean and spread of mAP over seeds."""
    corel = read_corel(folder)
    report = {}
    for name in families(1, 1, 0):
        settings = [(i, d, s) for i, d in zip(ITEMS, DESCRIPTORS, strict=True) for s in SEEDS]
        types = [fit(families(*chosen)[name], corel.frames, corel.sounds, folder, corel.roles) for chosen in settings]
        bags = [BagOfWords(t.family, t.codebook) for t in types]  # type: ignore[arg-type]
        rows = np.stack(fan_out(partial(_encoded, bags), corel.files, f"{name} bags"))
        found: dict[int, list[float]] = {}
        for (count, _, _), values in zip(settings, rows.transpose(1, 0, 2), strict=True):
            found.setdefault(count, []).append(corel.mean_ap(values, l1_distances))
        for count, maps in found.items():
            shown = ", ".join(f"{value:.4f}" for value in maps)
            print(f"{name:6}{count:5} pictures: mAP {np.mean(maps):.4f} (seeds: {shown})")
            report[f"{name}_{count}"] = {"map": round(float(np.mean(maps)), 4), "spread": round(float(np.std(maps)), 4)}
    return report


def _encoded(bags: list[BagOfWords], path: Path) -> np.ndarray:
    """One row per codebook; the picture is described once."""
    described = bags[0].local.describe(read_picture(path))
    return np.stack([bag.encode(described) for bag in bags])
