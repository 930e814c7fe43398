"""A version of the collection against the champion's: what drifted, by how much, and whether it is too much.

`version_summary` is what a version keeps for later comparison: the summaries that the data checks wrote, and the
distribution of the served method's scores. `movements` compares two of them. Scores are first scaled to median 0 and
interquartile range 1, because a refitted model may score on another scale and rank the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mediarank import store
from mediarank.ops.checks.baseline_drift import ManifestSummary, drift_suites
from mediarank.ops.checks.features import FeaturesSummary, mean_shift
from mediarank.ops.models.promotion_config import PromotionConfig
from mediarank.types import FeatureMatrix

QUANTILES: Final = 101
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Movement:
    """One comparison.

    value : how far it moved
    limit : how far it may move
    detail : what moved most
    """

    what: str
    measure: str
    value: float
    limit: float
    detail: str = ""

    @property
    def too_far(self) -> bool:
        return self.value > self.limit

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "too_far": self.too_far}


def version_summary(data: Path, system: str, method: str, features: Sequence[str]) -> dict[str, Any]:
    """The summary of the version in the workspace, for one system and the feature types that it uses."""
    checks = {name: store.read_json(data / name / "result.json") for name in ("check_manifest", "check_features")}
    moments = checks["check_features"]["summary"]["features"]
    found = store.read_method(data / "systems" / system / "scores" / method)
    scores = found.values if isinstance(found, FeatureMatrix) else found.scores[found.best >= 0]
    return {
        "check_manifest": checks["check_manifest"]["summary"],
        "check_features": {"features": {name: moments[name] for name in features if name in moments}},
        "scores": [float(f"{q:.6g}") for q in np.quantile(scores, np.linspace(0, 1, QUANTILES))],
    }


def movements(before: Mapping[str, Any], now: Mapping[str, Any], config: PromotionConfig) -> list[Movement]:
    """What moved between two `version_summary`, in the order manifest, features, scores."""
    return [
        *_of_manifest(_manifest(before), _manifest(now), config),
        *_of_features(_features(before), _features(now), config),
        Movement(
            "scores",
            "Kolmogorov-Smirnov distance",
            score_distance(np.array(before["scores"]), np.array(now["scores"])),
            config.max_score_drift,
        ),
    ]


def score_distance(one: Numbers, other: Numbers) -> float:
    """The largest difference of two distribution functions, each given by its quantiles at even steps."""
    one, other = _standard(one), _standard(other)
    points = np.concatenate([one, other])
    shares = [np.searchsorted(sample, points, side="right") / len(sample) for sample in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


def _standard(quantiles: Numbers) -> Numbers:
    low, middle, high = np.interp([0.25, 0.5, 0.75], np.linspace(0, 1, len(quantiles)), quantiles)
    spread = high - low or float(np.ptp(quantiles)) or 1.0  # if half of the scores are equal, the whole range
    scaled = (quantiles - middle) / spread
    return np.round(scaled, 6)  # equal values stay equal


def _of_manifest(before: ManifestSummary, now: ManifestSummary, config: PromotionConfig) -> list[Movement]:
    suites = drift_suites(
        now,
        before,
        max_lost_share=config.max_lost_share,
        max_label_drift=config.max_label_drift,
        max_resolution_drift=config.max_resolution_drift,
        on_vanished="warning",
        on_drift="warning",
    )
    tables = {suite.subject: suite.table for suite in suites}
    lost = float(tables["number of items"]["lost_share"].iloc[0])
    change = f"{before.items} before, {now.items} now"
    found = [Movement("items", "share lost", lost, config.max_lost_share, change)]
    limits = {"label distributions": config.max_label_drift, "resolutions": config.max_resolution_drift}
    for subject, limit in limits.items():
        for what, drift, most in tables[subject][["what", "drift", "most_changed"]].itertuples(index=False):
            name = f"resolution of {what}s" if subject == "resolutions" else str(what)
            found.append(Movement(name, "Bray-Curtis dissimilarity", float(drift), limit, str(most)))
    return found


def _of_features(before: FeaturesSummary, now: FeaturesSummary, config: PromotionConfig) -> list[Movement]:
    found = []
    measure = f"share of dimensions moved by {config.mean_shift:g} deviations"
    for name in sorted(before.features.keys() | now.features.keys()):
        old, new = before.features.get(name), now.features.get(name)
        if old is None or new is None or old.dimensions != new.dimensions:
            detail = "added" if old is None else "removed" if new is None else "has other dimensions"
            found.append(Movement(name, measure, 1.0, config.max_feature_drift, detail))
            continue
        shift = mean_shift(*map(_array, (old.mean, old.std, new.mean, new.std)))
        share = float((shift > config.mean_shift).mean()) if len(shift) else 0.0
        detail = f"dimension {int(shift.argmax())} by {shift.max():.2g}" if len(shift) else ""
        found.append(Movement(name, measure, share, config.max_feature_drift, detail))
    return found


def _manifest(summary: Mapping[str, Any]) -> ManifestSummary:
    found = ManifestSummary.from_result({"summary": summary["check_manifest"]})
    assert found is not None  # noqa: S101 - only an empty result has none
    return found


def _features(summary: Mapping[str, Any]) -> FeaturesSummary:
    found = FeaturesSummary.from_result({"summary": summary["check_features"]})
    assert found is not None  # noqa: S101 - only an empty result has none
    return found


def _array(values: tuple[float | None, ...]) -> Numbers:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
