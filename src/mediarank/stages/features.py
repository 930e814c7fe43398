"""Stage `features`: one feature type over all working copies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from mediarank import store
from mediarank.features.base import Extractor, LocalExtractor
from mediarank.features.cache import FeatureCache
from mediarank.features.describe import extract_blocks
from mediarank.features.feature_type import FeatureType
from mediarank.features.fitting import fit
from mediarank.media.files import File
from mediarank.media.shards import Media
from mediarank.types import FeatureBlocks, Roles


def run(name: str, family: Extractor | LocalExtractor, data: Path, cache: Path) -> str:
    """Write `features/<name>`: the vectors, the settings they were made with, and what was fitted."""
    folder = data / "frames"
    frames, sounds = store.read_table(folder / "frames.parquet"), store.read_table(folder / "sounds.parquet")
    roles = store.read_roles(data / "splits/roles.parquet")
    feature, rows = extract(family, frames, sounds, Media(folder / "media"), roles, FeatureCache(cache / "features"))
    store.write_features(data / "features" / name, rows, *feature.to_stored())
    return f"{name}: {len(rows.ids)} rows of {len(rows.names)} dimensions"


def extract(
    family: Extractor | LocalExtractor,
    frames: pd.DataFrame,
    sounds: pd.DataFrame,
    media: Mapping[str, File],
    roles: Roles,
    cache: FeatureCache,
) -> tuple[FeatureType, FeatureBlocks]:
    """What was fitted, and one row per item that the family can describe; cached vectors are not computed again.

    A collection without any such item gives no rows, so one params.yaml serves many collections.
    """
    feature = fit(family, frames, sounds, media, roles, cache)
    return feature, extract_blocks(feature, frames, sounds, media, cache)
