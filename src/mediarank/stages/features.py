"""Stage `features`: one feature type over all working copies."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mediarank import store
from mediarank.features.base import Extractor, LocalExtractor
from mediarank.features.cache import FeatureCache
from mediarank.features.matrix import build
from mediarank.types import FeatureMatrix, Roles


def run(name: str, family: Extractor | LocalExtractor, data: Path, cache: Path) -> str:
    """Write `features/<name>`."""
    folder = data / "frames"
    frames, sounds = store.read_table(folder / "frames.parquet"), store.read_table(folder / "sounds.parquet")
    roles = store.read_roles(data / "splits/roles.parquet")
    matrix = extract(family, frames, sounds, folder / "media", roles, FeatureCache(cache / "features"))
    store.write_features(data / "features" / name, matrix)
    return f"{name}: {len(matrix)} rows of {len(matrix.names)} dimensions"


def extract(
    family: Extractor | LocalExtractor,
    frames: pd.DataFrame,
    sounds: pd.DataFrame,
    folder: Path,
    roles: Roles,
    cache: FeatureCache,
) -> FeatureMatrix:
    """One row per item that has what the family looks at; vectors already in the cache are not computed again.

    A collection without any such item gives a matrix without rows, so that one params.yaml serves many collections.
    """
    matrix = build(family, frames, sounds, folder, roles, cache)
    matrix.require_finite()
    return matrix
