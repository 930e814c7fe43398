"""Gates: expectations that a collection, its splits and its features must meet before the run goes on.

`rules` defines an expectation, `judge` lets Great Expectations judge it, `result` is the result. The suites are
`manifest` (with `labels` and, against the last version, `baseline_drift`), `splits` and `features`. Every check is a
pure function of tables; importing this package does not import Great Expectations.
"""

from mediarank.ops.checks.baseline_drift import ManifestSummary, summary_of
from mediarank.ops.checks.features import FeatureCheckConfig, FeaturesSummary, check_features, summary_of_features
from mediarank.ops.checks.manifest import ManifestCheckConfig, check_manifest
from mediarank.ops.checks.result import CheckResult, Outcome, record
from mediarank.ops.checks.splits import SplitCheckConfig, check_splits

__all__ = [
    "CheckResult",
    "FeatureCheckConfig",
    "FeaturesSummary",
    "ManifestCheckConfig",
    "ManifestSummary",
    "Outcome",
    "SplitCheckConfig",
    "check_features",
    "check_manifest",
    "check_splits",
    "record",
    "summary_of",
    "summary_of_features",
]
