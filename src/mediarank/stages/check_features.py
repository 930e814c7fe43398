"""Stage `check_features`: stop at leaking splits and broken features, before anything is fitted to them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from mediarank import store
from mediarank.features.base import Extractor, LocalExtractor
from mediarank.features.summary import summarise
from mediarank.labels import Labels
from mediarank.ops import checks
from mediarank.ops.checks import CheckResult, FeatureCheckConfig, FeaturesSummary, SplitCheckConfig
from mediarank.types import FeatureMatrix, Manifest, Roles

REQUIRED_ROLES = SplitCheckConfig(required_roles=("base", "test"))


def run(
    families: Mapping[str, Extractor | LocalExtractor], config: FeatureCheckConfig, data: Path, baseline: Path
) -> str:
    """Write `check_features/result.json`, and `passed` if no check fails; later stages depend on `passed` only."""
    result = check_features(
        {name: store.read_features(data / "features" / name) for name in families},
        families,
        store.read_table(data / "frames/frames.parquet"),
        store.read_table(data / "frames/sounds.parquet"),
        store.read_roles(data / "splits/roles.parquet"),
        store.read_manifest(data / "manifest/manifest.parquet"),
        store.read_labels(data / "manifest/labels"),
        store.read_json(baseline / "check_features.json"),
        config,
    )
    return checks.record(result, data / "check_features")


def check_features(
    matrices: Mapping[str, FeatureMatrix],
    families: Mapping[str, Extractor | LocalExtractor],
    frames: pd.DataFrame,
    sounds: pd.DataFrame,
    roles: Roles,
    manifest: Manifest,
    labels: Labels,
    baseline: Mapping[str, Any],
    config: FeatureCheckConfig,
) -> CheckResult:
    """Run all checks. baseline : the result of the version to compare with, or `{}`"""
    expected = {name: expected_rows(family, frames, sounds) for name, family in families.items()}
    # A family that finds nothing to describe (sound, in a collection of pictures) is not judged.
    seeing = {name: matrix for name, matrix in matrices.items() if len(matrix) or expected[name]}
    lost = set(manifest.usable["item_id"].tolist()) - {*frames["item_id"].tolist(), *sounds["item_id"].tolist()}
    about_splits = checks.check_splits(roles, manifest, labels, REQUIRED_ROLES, lost)
    about_features = checks.check_features(
        {name: summarise(matrix).assign(feature=name) for name, matrix in seeing.items()},
        {name: matrix.ids.tolist() for name, matrix in seeing.items()},
        {name: expected[name] for name in seeing},
        FeaturesSummary.from_result(baseline),
        config,
    )
    return CheckResult(about_features.check, (*about_splits.outcomes, *about_features.outcomes), about_features.summary)


def expected_rows(family: Extractor | LocalExtractor, frames: pd.DataFrame, sounds: pd.DataFrame) -> list[str]:
    """The rows that a family's matrix should have, given the working copies."""
    if family.modality == "sound":
        return sorted(sounds["item_id"].tolist())
    seen = frames[frames["kind"] == "clip"] if family.modality == "clip" else frames
    row = "frame_id" if family.modality == "image" and family.pooling() == "none" else "item_id"
    return sorted(set(seen[row].tolist()))
