"""Stage `check_manifest`: refuse a collection that can't be right, before anything is computed from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from mediarank.labels import Labels
from mediarank.ops import checks
from mediarank.ops.checks import CheckResult, ManifestCheckConfig, ManifestSummary
from mediarank.types import Manifest


def check_manifest(
    manifest: Manifest,
    labels: Labels,
    quarantine: pd.DataFrame,
    baseline: Mapping[str, Any],
    config: ManifestCheckConfig,
) -> CheckResult:
    """baseline : the result of the version to compare with, or `{}`"""
    return checks.check_manifest(manifest, labels, quarantine, ManifestSummary.from_result(baseline), config)
