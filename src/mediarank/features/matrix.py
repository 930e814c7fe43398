"""Working copies -> a FeatureMatrix: what the cache lacks is computed on all cores, then put in order by id.

`build` lists the units of work (a picture, a sound, or a clip's frames) in the order of the output's rows, takes
their vectors from a stream, and pools the frames of clips: only the output is ever whole in memory. `fit` makes the
codebook that a family of local descriptors needs, from items of role `base` alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mediarank.features.bag_of_words import BagOfWords
from mediarank.features.base import Extractor, LocalExtractor, Modality, Pool, fingerprint
from mediarank.features.cache import FeatureCache, cache_key
from mediarank.features.cached_rows import remembered
from mediarank.features.codebook import Codebook, fit_codebook
from mediarank.features.pixels import resized
from mediarank.media.working import read_picture, read_sound
from mediarank.types import DataError, FeatureMatrix, Floats, Roles, lot, require_columns


@dataclass(frozen=True)
class _Unit:
    """What one call of `extract` sees: a picture, a sound, or all frames of a clip.

    row : the id of the output's row it belongs to
    paths : below the folder of working copies
    """

    row: str
    item_id: str
    paths: tuple[str, ...]
    sha256: str


def build(
    family: Extractor | LocalExtractor,
    frames: pd.DataFrame,
    sounds: pd.DataFrame,
    folder: Path,
    roles: Roles,
    cache: FeatureCache | None = None,
    codebook: Codebook | None = None,
) -> FeatureMatrix:
    """One row an item that has the family's modality, or a frame where the family's pool is `none`.

    Image families see images and the frames of clips, clip families see clips, sound families see what has sound;
    the others have no row, and a collection without the modality gives a matrix without rows.

    frames, sounds : the tables of the frames stage; `folder` holds the working copies that their paths name
    codebook : for local families, one that was fitted before; by default it is fitted here, on role `base`
    """
    units = _units(family.modality, family.pooling(), frames, sounds)
    rows = [row for row, _ in groupby(units, key=lambda unit: unit.row)]
    names = family.names()
    values = np.zeros((len(rows), len(names)), dtype=np.float32)
    if rows:
        extractor = _ready(family, codebook, lambda local: fit(local, frames, sounds, folder, roles, cache))
        identity = extractor.identity()
        keys = [cache_key(identity, unit.sha256) for unit in units]
        vectors = remembered(type(family).__name__, keys, units, partial(_extract, extractor, folder), cache)
        pairs = zip(units, vectors, strict=True)
        for row, (_, group) in enumerate(groupby(pairs, key=lambda pair: pair[0].row)):
            values[row] = _pooled([vector for _, vector in group], family.pooling())
    matrix = FeatureMatrix(np.asarray(rows, dtype=str), names, values)
    matrix.require_finite()
    return matrix


def fit(
    local: LocalExtractor,
    frames: pd.DataFrame,
    sounds: pd.DataFrame,
    folder: Path,
    roles: Roles,
    cache: FeatureCache | None = None,
) -> Codebook:
    """A codebook from a bounded sample of the items of role `base`: those that drew the least.

    Splits deal roles out by the same draw, `base` first, so these items stay in it when the collection grows, and with
    them the words and every vector that was made with them.
    """
    base = set(roles.items("base"))
    units = [u for u in _units(local.modality, local.pooling(), frames, sounds) if u.item_id in base]
    order = sorted({u.item_id for u in units}, key=lambda i: lot(i, local.seed))
    chosen = set(order[: local.items])
    units = [u for u in units if u.item_id in chosen]
    if not units:
        raise DataError(
            f"{type(local).__name__} needs a codebook, but no item of role base has the modality {local.modality}: "
            "change the splits, or take this feature out of params.yaml."
        )
    in_item = Counter(u.item_id for u in units)
    bounds = [-(-local.per_item // in_item[u.item_id]) for u in units]
    identity = fingerprint("sample", local.description_identity(), local.seed)
    keys = [cache_key(identity, f"{u.sha256}:{bound}") for u, bound in zip(units, bounds, strict=True)]
    name, width = type(local).__name__, len(local.descriptor_names())

    whole = fingerprint("codebook", local.words, local.seed, local.standardise, keys)
    kept = cache.get([whole]) if cache else {}
    if whole in kept:
        return Codebook.of_flat(kept[whole], local.words, width)
    jobs = list(zip(units, bounds, strict=True))
    samples = remembered(f"{name} codebook", keys, jobs, partial(_sample, local, folder), cache)
    descriptors = np.concatenate([s.reshape(-1, width) for s in samples])
    codebook = fit_codebook(descriptors, local.words, local.seed, local.standardise)
    if cache:
        cache.put(f"{name} codebook", {whole: codebook.flat()})
    return codebook


def _ready(
    family: Extractor | LocalExtractor, codebook: Codebook | None, fitted: Callable[[LocalExtractor], Codebook]
) -> Extractor:
    return BagOfWords(family, codebook or fitted(family)) if isinstance(family, LocalExtractor) else family


def _units(modality: Modality, pool: Pool, frames: pd.DataFrame, sounds: pd.DataFrame) -> list[_Unit]:
    """In the order of the output's rows; frames of a clip in theirs."""
    if modality == "sound":
        require_columns(sounds, ("item_id", "path", "sha256"), "the table of sounds")
        table = sounds.sort_values("item_id", kind="stable")
        return [_Unit(i, i, (p,), s) for i, p, s in table[["item_id", "path", "sha256"]].itertuples(index=False)]
    columns = ["frame_id", "item_id", "kind", "index", "path", "sha256"]
    require_columns(frames, columns, "the table of frames")
    if modality == "clip":
        clips = frames[frames["kind"] == "clip"].sort_values(["item_id", "index"], kind="stable")
        return [
            _Unit(str(item), str(item), tuple(group["path"]), fingerprint("clip", list(group["sha256"])))
            for item, group in clips.groupby("item_id", sort=True)
        ]
    row = "frame_id" if pool == "none" else "item_id"
    table = frames.assign(row=frames[row]).sort_values(["row", "index"], kind="stable")
    chosen = table[["row", "item_id", "path", "sha256"]]
    return [_Unit(r, i, (p,), s) for r, i, p, s in chosen.itertuples(index=False)]


def _extract(extractor: Extractor, folder: Path, unit: _Unit) -> Floats:
    return extractor.extract(_read(extractor.modality, folder, unit))


def _sample(local: LocalExtractor, folder: Path, job: tuple[_Unit, int]) -> Floats:
    """At most so many of a unit's descriptors, drawn by a generator of its own: the order of work can't matter."""
    unit, bound = job
    values = local.describe(_read(local.modality, folder, unit)).values
    if len(values) <= bound:
        return values
    rng = np.random.default_rng([local.seed, int(unit.sha256[:16], 16)])
    return values[np.sort(rng.choice(len(values), bound, replace=False))]


def _read(modality: Modality, folder: Path, unit: _Unit) -> Any:
    if modality == "sound":
        return read_sound(folder / unit.paths[0])
    pictures = [read_picture(folder / path) for path in unit.paths]
    if modality == "image":
        return pictures[0]
    height, width = pictures[0].shape[:2]
    return np.stack([resized(picture, height, width) for picture in pictures])


def _pooled(vectors: Sequence[Floats], pool: Pool) -> Floats:
    if len(vectors) == 1:
        return vectors[0]
    stacked = np.stack(vectors)
    pooled = stacked.max(axis=0) if pool == "max" else stacked.mean(axis=0, dtype=np.float64)
    return np.asarray(pooled, dtype=np.float32)
