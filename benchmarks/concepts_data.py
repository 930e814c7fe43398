"""What the concepts benchmark measures on: fifty feature types, and a collection's pictures described by them.

The paper's five families (colour histogram, correlogram, moments, wavelet texture, edge histogram) and local binary
patterns, each at five granularities, and five more. None needs a codebook, so one description serves every split.
Types were fixed before anything was measured.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from mediarank.collections.sources import open_collection
from mediarank.fanout import fan_out
from mediarank.features.autocorrelogram import Autocorrelogram
from mediarank.features.base import Extractor
from mediarank.features.colour_histogram import HsvHistogram, LabHistogram, RgbHistogram
from mediarank.features.colour_moments import ColourMoments
from mediarank.features.edge_direction import EdgeDirection
from mediarank.features.gabor import GaborBank
from mediarank.features.gist import Gist
from mediarank.features.granularity import Granularity
from mediarank.features.haar import HaarTexture
from mediarank.features.hog import Hog
from mediarank.features.lbp import Lbp
from mediarank.labels import Labels
from mediarank.media.image import decode_image
from mediarank.media.limits import Limits
from mediarank.media.working import fit_inside, phash
from mediarank.stages.splits import SplitsConfig, assign_roles
from mediarank.types import DataError, FeatureMatrix, Floats, Judgments, Roles

LONGEST_SIDE = 320
GRANULARITIES: tuple[Granularity, ...] = ("global", "centre", "2x2", "3x3", "thirds")


def feature_types() -> dict[str, Extractor]:
    """Fifty, by name."""
    types: dict[str, Extractor] = {}
    for where in GRANULARITIES:
        types |= {
            f"lab_{where}": LabHistogram(granularity=where, bins=(4, 4, 4)),
            f"rgb_{where}": RgbHistogram(granularity=where, bins=(4, 4, 4)),
            f"hsv_{where}": HsvHistogram(granularity=where, bins=(8, 3, 3)),
            f"correlogram_{where}": Autocorrelogram(granularity=where, bins=(3, 3, 3)),
            f"lab_moments_{where}": ColourMoments(granularity=where),
            f"hsv_moments_{where}": ColourMoments(granularity=where, space="hsv"),
            f"edges_{where}": EdgeDirection(granularity=where, bins=12),
            f"wavelets_{where}": HaarTexture(granularity=where),
            f"patterns_{where}": Lbp(granularity=where, radii=(1.0,)),
        }
    return types | {
        "lab_moments_4x4": ColourMoments(granularity="4x4"),
        "edges_4x4": EdgeDirection(granularity="4x4", bins=8),
        "gist": Gist(),
        "gradients": Hog(window=96, cell=24),
        "gabor": GaborBank(),
    }


@dataclass(frozen=True)
class Described:
    """A collection's pictures.

    features : by type; judgments : the concepts that are measured and the pictures that show them
    extraction : seconds per item, by type; looks : perceptual hashes, by item
    everything : judgments of all concepts, of which `judgments` may be a sample; roles are dealt out by these
    """

    features: Mapping[str, FeatureMatrix]
    judgments: Judgments
    extraction: Mapping[str, float]
    looks: Mapping[str, str]
    everything: Judgments

    def sample(self, limit: int) -> Described:
        """The same with `limit` of all concepts, evenly spread in the order of their names; 0 for all."""
        concepts = list(self.everything.queries)
        places = np.linspace(0, len(concepts) - 1, min(limit or len(concepts), len(concepts))).astype(int)
        wanted = {concepts[n] for n in places}
        pairs = [(concept, item) for concept, grades in self.everything if concept in wanted for item in grades]
        return replace(self, judgments=Judgments.from_pairs(pairs, list(self.everything.candidates)))

    def roles(self, seed: int) -> Roles:
        """50 % base, 20 % rank, 30 % test, concepts spread evenly, near-duplicates together; the same for a sample."""
        names = list(self.judgments.candidates)
        looks = [self.looks[name] for name in names]
        items = pd.DataFrame({"item_id": names, "kind": "image", "phash": looks})
        pairs = [(item, concept, True) for concept, grades in self.everything for item in grades]
        labels = Labels({"concepts": pd.DataFrame(pairs, columns=["item", "concept", "relevant"])})
        return assign_roles(items.assign(group_id=items["item_id"]), labels, SplitsConfig(seed=seed))[0]


def describe(folder: Path, cache: Path | None, fewest: int, most: int, quick: bool = False) -> Described:
    """Every picture of the collection by every type; kept in `cache`, since extraction takes minutes.

    fewest, most : pictures that may show a concept; quick : about a thousand pictures and ten types, evenly spread
    """
    listing = open_collection(folder)
    items = sorted(listing.labels.looked_at & set(listing.files))
    items = items[:: max(1, len(items) // 1000)] if quick else items
    judgments = chosen_concepts(listing.labels, items, fewest, most)
    types = dict(list(feature_types().items())[:: 5 if quick else 1])
    vectors, seconds, looks = _cached(types, [(item, listing.files[item]) for item in items], cache)
    ids = np.array(items)
    features = {
        name: FeatureMatrix(ids, tuple(map(str, range(values.shape[1]))), values) for name, values in vectors.items()
    }
    extraction = dict(zip(types, seconds.tolist(), strict=True))
    return Described(features, judgments, extraction, dict(zip(items, looks, strict=True)), judgments)


def chosen_concepts(labels: Labels, items: list[str], fewest: int, most: int) -> Judgments:
    """Judgments of the concepts that `fewest` to `most` of the items show."""
    kept = set(items)
    pairs = [(concept, item) for concept, item in labels.shown if item in kept]
    shown = Counter(concept for concept, _ in pairs)
    wanted = {concept for concept, count in shown.items() if fewest <= count <= most}
    if not wanted:
        raise DataError(f"The collection has no concept, keyword or class with {fewest} to {most} pictures.")
    return Judgments.from_pairs([pair for pair in pairs if pair[0] in wanted], items)


def _cached(
    types: Mapping[str, Extractor], files: list[tuple[str, Path]], cache: Path | None
) -> tuple[dict[str, Floats], np.ndarray, list[str]]:
    key = hashlib.sha256(repr(["with hashes", files, [e.identity() for e in types.values()]]).encode()).hexdigest()[:16]
    kept = cache / f"concepts-{key}.npz" if cache else None
    if kept and kept.exists():
        with np.load(kept) as archive:
            return {name: archive[name] for name in types}, archive["seconds"], archive["looks"].tolist()
    _extract(types, files[0][1])  # compiles the kernels, so that workers find them and costs are not theirs
    rows = fan_out(partial(_extract, types), [path for _, path in files], "features")
    vectors = {name: np.stack([row[name] for row, _, _ in rows]) for name in types}
    seconds = np.median([spent for _, spent, _ in rows], axis=0)
    looks = [look for _, _, look in rows]
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.savez(kept, seconds=seconds, looks=np.array(looks), **vectors)
    return vectors, seconds, looks


def _extract(types: Mapping[str, Extractor], path: Path) -> tuple[dict[str, Floats], list[float], str]:
    picture = fit_inside(decode_image(path, Limits()), LONGEST_SIDE)
    vectors, seconds = {}, []
    for name, extractor in types.items():
        started = time.perf_counter()
        vectors[name] = extractor.extract(picture)
        seconds.append(time.perf_counter() - started)
    return vectors, seconds, phash(picture)
