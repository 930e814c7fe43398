"""Stage `check_features`: refuse leaking splits and broken features, before anything is fitted to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from mediarank.features.base import Extractor, LocalExtractor
from mediarank.features.summary import summarise
from mediarank.labels import Labels
from mediarank.ops import checks
from mediarank.ops.checks import CheckResult, FeatureCheckConfig, FeaturesSummary, SplitCheckConfig
from mediarank.types import FeatureMatrix, Manifest, Roles

REQUIRED_ROLES = SplitCheckConfig(required_roles=("base", "test"))


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
    """baseline : the result of the version to compare with, or `{}`"""
    expected = {name: expected_rows(family, frames, sounds) for name, family in families.items()}
    # A family that sees none of this collection (sound, where all is silent) has nothing to be judged by.
    seeing = {name: matrix for name, matrix in matrices.items() if len(matrix) or expected[name]}
    lost = set(manifest.usable["item_id"]) - {*frames["item_id"], *sounds["item_id"]}
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
    """The rows that a family's matrix should have: what it sees of the working copies."""
    if family.modality == "sound":
        return sorted(sounds["item_id"])
    seen = frames[frames["kind"] == "clip"] if family.modality == "clip" else frames
    return sorted(set(seen["frame_id" if family.modality == "image" and family.pooling() == "none" else "item_id"]))
