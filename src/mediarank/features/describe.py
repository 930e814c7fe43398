"""Describe working copies by a feature type: the one way from media to vectors.

The stage `features` uses it for the collection, and every command that uses a file from outside uses it for that file,
so both get the same vectors, bit by bit. Vectors that the cache lacks are computed on all cores; only the result is
held in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby

import numpy as np
import pandas as pd

from mediarank.fanout import cluster
from mediarank.features.base import Extractor, Pool
from mediarank.features.cache import FeatureCache, cache_key
from mediarank.features.cached_rows import remembered
from mediarank.features.feature_type import FeatureType
from mediarank.features.units import Unit, list_units, read_unit
from mediarank.media.files import File
from mediarank.types import FeatureMatrix, Floats


def extract_rows(
    feature: FeatureType,
    frames: pd.DataFrame,
    sounds: pd.DataFrame,
    media: Mapping[str, File],
    cache: FeatureCache | None = None,
) -> FeatureMatrix:
    """One row per item that has the family's modality, or per frame where the family's pool is `none`.

    Image families see images and the frames of clips, clip families see clips, sound families see items with sound;
    other items have no row, and tables without the modality give a matrix without rows.

    frames, sounds : tables as the frames stage makes them
    media : the working copies that their paths name
    """
    family = feature.family
    units = list_units(family, frames, sounds)
    rows = [row for row, _ in groupby(units, key=lambda unit: unit.row)]
    names = family.names()
    values = np.zeros((len(rows), len(names)), dtype=np.float32)
    if rows:
        extractor = feature.extractor()
        if cache and not cluster():  # workers elsewhere do not have this folder
            extractor = extractor.kept_in(cache.folder / "graphs")
        source = extractor.basis() or extractor
        identity = source.identity()
        keys = [cache_key(identity, unit.sha256) for unit in units]
        jobs = [(unit, tuple(media[path] for path in unit.paths)) for unit in units]
        found = remembered(type(family).__name__, keys, jobs, partial(_extract, source), cache)
        vectors = found if source is extractor else map(extractor.from_basis, found)
        pairs = zip(units, vectors, strict=True)
        for row, (_, group) in enumerate(groupby(pairs, key=lambda pair: pair[0].row)):
            values[row] = _pooled([vector for _, vector in group], family.pooling())
    matrix = FeatureMatrix(np.asarray(rows, dtype=str), names, values)
    matrix.require_finite()
    return matrix


def _extract(extractor: Extractor, job: tuple[Unit, tuple[File, ...]]) -> Floats:
    return extractor.extract(read_unit(extractor.modality, *job))


def _pooled(vectors: Sequence[Floats], pool: Pool) -> Floats:
    if len(vectors) == 1:
        return vectors[0]
    stacked = np.stack(vectors)
    pooled = stacked.max(axis=0) if pool == "max" else stacked.mean(axis=0, dtype=np.float64)
    return np.asarray(pooled, dtype=np.float32)
