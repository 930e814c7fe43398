"""Stage `check_manifest`: stop at a collection that can't be right, before anything is computed from it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from mediarank import store
from mediarank.labels import Labels
from mediarank.ops import checks
from mediarank.ops.checks import CheckResult, ManifestCheckConfig, ManifestSummary
from mediarank.types import Manifest


def run(config: ManifestCheckConfig, data: Path, baseline: Path) -> str:
    """Write `check_manifest/result.json`, and `passed` if no check fails; later stages depend on `passed` only."""
    folder = data / "manifest"
    result = check_manifest(
        store.read_manifest(folder / "manifest.parquet"),
        store.read_labels(folder / "labels"),
        store.read_quarantine(folder / "quarantine.csv"),
        store.read_json(baseline / "check_manifest.json"),
        config,
    )
    return checks.record(result, data / "check_manifest")


def check_manifest(
    manifest: Manifest,
    labels: Labels,
    quarantine: pd.DataFrame,
    baseline: Mapping[str, Any],
    config: ManifestCheckConfig,
) -> CheckResult:
    """Run all checks. baseline : the result of the version to compare with, or `{}`"""
    return checks.check_manifest(manifest, labels, quarantine, ManifestSummary.from_result(baseline), config)
