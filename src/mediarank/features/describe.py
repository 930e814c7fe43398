"""Describe working copies by a feature type: the one way from media to vectors.

The stage `features` uses it for the collection, and every command that uses a file from outside uses it for that file,
so both get the same vectors, bit by bit. Vectors that the cache lacks are computed on all cores. `extract_rows` gives
one matrix, `extract_blocks` the same rows a block at a time, for a collection whose matrix is larger than memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Final

import numpy as np
import pandas as pd

from mediarank.fanout import cluster
from mediarank.features.base import Extractor, LocalExtractor, Pool
from mediarank.features.cache import FeatureCache, cache_key
from mediarank.features.cached_rows import remembered
from mediarank.features.feature_type import FeatureType
from mediarank.features.units import Unit, list_units, read_unit
from mediarank.media.files import File
from mediarank.types import FeatureBlocks, FeatureMatrix, Floats

BLOCK_BYTES: Final = 4 << 20


def extract_rows(
    feature: FeatureType,
    frames: pd.DataFrame,
    sounds: pd.DataFrame,
    media: Mapping[str, File],
    cache: FeatureCache | None = None,
) -> FeatureMatrix:
    """The rows of `extract_blocks` in one matrix."""
    found = extract_blocks(feature, frames, sounds, media, cache)
    values = np.empty((len(found.ids), len(found.names)), dtype=np.float32)
    start = 0
    for block in found.checked():
        values[start : start + len(block)] = block
        start += len(block)
    return FeatureMatrix(found.ids, found.names, values)


def extract_blocks(
    feature: FeatureType,
    frames: pd.DataFrame,
    sounds: pd.DataFrame,
    media: Mapping[str, File],
    cache: FeatureCache | None = None,
) -> FeatureBlocks:
    """One row per item that has the family's modality, or per frame where the family's pool is `none`.

    Image families see images and the frames of clips, clip families see clips, sound families see items with sound;
    other items have no row, and tables without the modality give no rows.

    frames, sounds : tables as the frames stage makes them
    media : the working copies that their paths name
    """
    family = feature.family
    units = list_units(family, frames, sounds)
    rows = [row for row, _ in groupby(units, key=lambda unit: unit.row)]
    vectors = _vectors(feature, units, media, cache) if rows else iter(())
    return FeatureBlocks(np.asarray(rows, dtype=str), family.names(), _blocks(units, vectors, len(rows), family))


def _vectors(
    feature: FeatureType, units: Sequence[Unit], media: Mapping[str, File], cache: FeatureCache | None
) -> Iterator[Floats]:
    """One vector per unit, in order."""
    extractor = feature.extractor()
    if cache and not cluster():  # workers elsewhere do not have this folder
        extractor = extractor.kept_in(cache.folder / "graphs")
    source = extractor.basis() or extractor
    identity = source.identity()
    keys = [cache_key(identity, unit.sha256) for unit in units]

    def job(number: int) -> tuple[Unit, tuple[File, ...]]:
        return units[number], tuple(media[path] for path in units[number].paths)

    found = remembered(type(feature.family).__name__, keys, job, partial(_extract, source), cache)
    return found if source is extractor else map(extractor.from_basis, found)


def _blocks(
    units: Sequence[Unit], vectors: Iterator[Floats], count: int, family: Extractor | LocalExtractor
) -> Iterator[Floats]:
    """The rows, which hold the vectors of their units pooled, a few megabytes at a time."""
    width, pool = len(family.names()), family.pooling()
    groups = groupby(zip(units, vectors, strict=True), key=lambda pair: pair[0].row)
    most = max(1, BLOCK_BYTES // (4 * width))
    for start in range(0, count, most):
        block = np.empty((min(most, count - start), width), dtype=np.float32)
        for row, (_, group) in zip(block, groups, strict=False):  # of more groups than rows
            row[:] = _pooled([vector for _, vector in group], pool)
        yield block


def _extract(extractor: Extractor, job: tuple[Unit, tuple[File, ...]]) -> Floats:
    return extractor.extract(read_unit(extractor.modality, *job))


def _pooled(vectors: Sequence[Floats], pool: Pool) -> Floats:
    if len(vectors) == 1:
        return vectors[0]
    stacked = np.stack(vectors)
    pooled = stacked.max(axis=0) if pool == "max" else stacked.mean(axis=0, dtype=np.float64)
    return np.asarray(pooled, dtype=np.float32)
