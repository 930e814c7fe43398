"""Stage `check_features`: are the vectors complete, finite, not constant, and like those of the last version?

Judged from one summary table per feature, one row per dimension, never from the matrices themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from mediarank.ops.checks.baseline_drift import IF_MEANT, NO_BASELINE, read_summary
from mediarank.ops.checks.judge import judge
from mediarank.ops.checks.result import CheckResult
from mediarank.ops.checks.rules import Rule, Severity, Suite, at_least, at_most, one_of, present, rows_at_least, unique
from mediarank.types import require_columns

SUMMARY_COLUMNS: Final = (
    "dimension", "n", "nan_share", "inf_share", "constant", "minimum", "maximum", "mean", "std",
)  # fmt: skip
"""A feature's summary: one row per dimension, statistics over its finite values."""

FIND_EXTRACTOR: Final = "Run tests/features for the family, fix it and raise its version, then run dvc repro."
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
Floats64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FeatureCheckConfig:
    """What stops a run before anything is fitted.

    max_constant_share : of a feature's dimensions (a histogram may have bins that stay empty)
    max_magnitude : of any value
    max_mean_shift : of a dimension's mean against the last version, in standard deviations
    max_drifted_share : of a feature's dimensions that shift by more
    on_drift : what such a feature is: `error` or `warning`
    """

    max_constant_share: Share = 0.9
    max_magnitude: Positive = 1e6
    max_mean_shift: Positive = 0.5
    max_drifted_share: Share = 0.1
    on_drift: Severity = "warning"
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


@dataclass(frozen=True)
class FeatureMoments:
    """Mean and standard deviation of each dimension; `dimensions` is a hash of their names, in order."""

    dimensions: str
    mean: tuple[float | None, ...]
    std: tuple[float | None, ...]


@dataclass(frozen=True)
class FeaturesSummary:
    """What is compared between versions: the moments of each feature, by its name."""

    features: Mapping[str, FeatureMoments]

    def to_json(self) -> dict[str, Any]:
        moments = self.features.items()
        return {
            "features": {
                name: {"dimensions": m.dimensions, "mean": list(m.mean), "std": list(m.std)} for name, m in moments
            }
        }

    @classmethod
    def from_result(cls, result: Mapping[str, Any]) -> FeaturesSummary | None:
        """The summary in an earlier result of the check; `{}` means that there is none."""
        return read_summary(cls, result)


def summary_of_features(summaries: Mapping[str, pd.DataFrame]) -> FeaturesSummary:
    return FeaturesSummary({name: _moments(summaries[name]) for name in sorted(summaries)})


def check_features(
    summaries: Mapping[str, pd.DataFrame],
    ids: Mapping[str, Iterable[str]],
    expected: Mapping[str, Iterable[str]],
    previous: FeaturesSummary | None,
    config: FeatureCheckConfig,
) -> CheckResult:
    """Judge feature matrices by their summaries.

    summaries : a table with SUMMARY_COLUMNS for each feature
    ids : the ids that each feature has a row for
    expected : the ids that it should have a row for: the usable items of its modality
    previous : the summary of the version to compare with, if there is one
    """
    suites = feature_suites(summaries, ids, expected, previous, config)
    return judge("check_features", suites, summary_of_features(summaries).to_json())


def feature_suites(
    summaries: Mapping[str, pd.DataFrame],
    ids: Mapping[str, Iterable[str]],
    expected: Mapping[str, Iterable[str]],
    previous: FeaturesSummary | None,
    config: FeatureCheckConfig,
) -> list[Suite]:
    """All expectations of features, as `check_features` judges them."""
    for name, table in summaries.items():
        require_columns(table, SUMMARY_COLUMNS, f"the summary of the feature {name}")
    return [
        _coverage(summaries, ids, expected, config),
        _dimensions(summaries, config),
        _drift(summaries, summary_of_features(summaries), previous, config),
    ]


def _coverage(
    summaries: Mapping[str, pd.DataFrame],
    ids: Mapping[str, Iterable[str]],
    expected: Mapping[str, Iterable[str]],
    config: FeatureCheckConfig,
) -> Suite:
    rows = []
    for name in sorted({*summaries, *ids, *expected}):
        has, should = set(ids.get(name, ())), set(expected.get(name, ()))
        missing, extra = sorted(should - has), sorted(has - should)
        table = summaries.get(name)
        dimensions = 0 if table is None else len(table)
        constant = 0 if table is None else int(table["constant"].astype(bool).sum())
        share = constant / dimensions if dimensions else 0.0
        rows.append((name, len(has), len(missing), ", ".join(missing[:3]), len(extra), dimensions, share))
    columns = ["feature", "rows", "missing_rows", "such_as", "unknown_rows", "dimensions", "constant_share"]
    return Suite(
        "features",
        pd.DataFrame(rows, columns=columns),
        tuple(columns),
        (
            Rule(
                "features_exist",
                rows_at_least(1),
                "There is a feature.",
                "List one under features in params.yaml.",
            ),
            Rule(
                "features_have_dimensions",
                at_least("dimensions", 1),
                "Every feature has a summary with at least one dimension.",
                "Run dvc repro: the feature's stage has not written its matrix.",
            ),
            Rule(
                "items_have_rows",
                at_most("missing_rows", 0),
                "Every usable item of a feature's modality has a row.",
                "Run dvc repro; if items are still missing, data/frames/quarantine.csv says why they have no frames.",
            ),
            Rule(
                "rows_are_of_known_items",
                at_most("unknown_rows", 0),
                "No row belongs to an item without a role.",
                "Delete the feature's folder in data/features and run dvc repro.",
                "warning",
            ),
            Rule(
                "few_dimensions_are_constant",
                at_most("constant_share", config.max_constant_share),
                f"At most {config.max_constant_share:.0%} of a feature's dimensions are the same for all items.",
                "Check whether all pictures are the same (blank, one colour) or the family's settings are too fine; "
                "or raise check_features.max_constant_share.",
            ),
        ),
    )


def _dimensions(summaries: Mapping[str, pd.DataFrame], config: FeatureCheckConfig) -> Suite:
    tables = [summaries[name][list(SUMMARY_COLUMNS)].assign(feature=name) for name in sorted(summaries)]
    empty = pd.DataFrame(columns=["feature", *SUMMARY_COLUMNS], dtype=float)
    table = pd.concat(tables, ignore_index=True) if tables else empty
    magnitude = np.maximum(table["minimum"].abs(), table["maximum"].abs())
    return Suite(
        "dimensions",
        table.assign(magnitude=magnitude),
        ("feature", "dimension", "n", "nan_share", "inf_share", "minimum", "maximum"),
        (
            Rule(
                "dimension_names_are_unique",
                unique("feature", "dimension"),
                "No feature has two dimensions with the same name.",
                FIND_EXTRACTOR,
            ),
            Rule("dimensions_have_values", at_least("n", 1), "Every dimension has at least one value.", FIND_EXTRACTOR),
            Rule("no_value_is_nan", one_of("nan_share", [0]), "No value is NaN.", FIND_EXTRACTOR),
            Rule("no_value_is_infinite", one_of("inf_share", [0]), "No value is infinite.", FIND_EXTRACTOR),
            Rule(
                "statistics_are_present",
                present("magnitude"),
                "Every dimension has a minimum and a maximum.",
                FIND_EXTRACTOR,
            ),
            Rule(
                "values_are_in_range",
                at_most("magnitude", config.max_magnitude),
                f"No value is beyond ±{config.max_magnitude:g}.",
                f"{FIND_EXTRACTOR} If such values are right, raise check_features.max_magnitude.",
            ),
        ),
        "" if len(table) else "there are no dimensions",
    )


def _drift(
    summaries: Mapping[str, pd.DataFrame],
    now: FeaturesSummary,
    before: FeaturesSummary | None,
    config: FeatureCheckConfig,
) -> Suite:
    rows = []
    former = {} if before is None else before.features
    for name in sorted(now.features.keys() & former.keys()):
        new, old = now.features[name], former[name]
        if new.dimensions != old.dimensions or not new.mean:
            continue  # another granularity or bin count: a new feature with an old name
        shift = mean_shift(_array(old.mean), _array(old.std), _array(new.mean), _array(new.std))
        worst = int(shift.argmax())
        drifted = float((shift > config.max_mean_shift).mean())
        rows.append((name, drifted, str(summaries[name]["dimension"].iloc[worst]), float(shift[worst])))
    skipped = (
        NO_BASELINE if before is None else "" if rows else "no feature of the last version has the same dimensions"
    )
    columns = ["feature", "drifted_share", "worst_dimension", "worst_shift"]
    return Suite(
        "drift of features",
        pd.DataFrame(rows, columns=columns),
        tuple(columns),
        (
            Rule(
                "features_have_not_drifted",
                at_most("drifted_share", config.max_drifted_share),
                f"The mean of at most {config.max_drifted_share:.0%} of a feature's dimensions has moved by more than "
                f"{config.max_mean_shift:g} standard deviations since the last version.",
                f"Look at the new items: another camera, size or subject? Changed settings show here too. {IF_MEANT}",
                config.on_drift,
            ),
        ),
        skipped,
    )


def mean_shift(old_mean: Floats64, old_std: Floats64, new_mean: Floats64, new_std: Floats64) -> Floats64:
    """Cohen's d of each dimension: the change of the mean over the pooled standard deviation.

    The deviation is at least a hundred-thousandth of the mean, which is stored to six digits: the last digit of a
    constant is no drift. A dimension without a finite value in one of the versions has an infinite shift.
    """
    change = np.abs(new_mean - old_mean)
    largest = np.maximum(np.abs(old_mean), np.abs(new_mean))
    pooled = np.maximum(np.sqrt((old_std**2 + new_std**2) / 2), 1e-5 * largest)
    shift = np.divide(change, pooled, out=np.zeros_like(change), where=pooled > 0)
    one_missing = np.isnan(old_mean) != np.isnan(new_mean)
    return np.where(one_missing, np.inf, np.nan_to_num(shift, nan=0.0))


def _moments(table: pd.DataFrame) -> FeatureMoments:
    names = "\n".join(table["dimension"].astype(str))
    digest = hashlib.sha256(names.encode()).hexdigest()[:16]
    return FeatureMoments(digest, _rounded(table["mean"]), _rounded(table["std"]))


def _rounded(column: pd.Series) -> tuple[float | None, ...]:
    """Six digits are enough to see drift, and keep the file small."""
    return tuple(float(f"{v:.6g}") if np.isfinite(v) else None for v in column.to_numpy(dtype=np.float64).tolist())


def _array(values: tuple[float | None, ...]) -> Floats64:
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)
