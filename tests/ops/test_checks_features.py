"""Every expectation of features passes on good ones and fails on the right rows of bad ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.ops.checks import FeatureCheckConfig, FeaturesSummary, Outcome, check_features, summary_of_features
from mediarank.ops.checks.features import SUMMARY_COLUMNS, feature_suites, mean_shift
from mediarank.ops.checks.judge import judge
from mediarank.types import DataError

IDS = [f"images/{k:02d}.jpg" for k in range(12)]


def summarised(values: np.ndarray) -> pd.DataFrame:
    """The summary table of a matrix, by the book."""
    return pd.DataFrame(
        {
            "dimension": [f"d{k}" for k in range(values.shape[1])],
            "n": len(values),
            "nan_share": np.isnan(values).mean(axis=0),
            "inf_share": np.isinf(values).mean(axis=0),
            "constant": np.ptp(values, axis=0) == 0,
            "minimum": values.min(axis=0),
            "maximum": values.max(axis=0),
            "mean": values.mean(axis=0),
            "std": np.where(np.isfinite(values).all(axis=0), np.nan_to_num(values, posinf=0).std(axis=0), np.nan),
        }
    )[list(SUMMARY_COLUMNS)]


@dataclass
class Features:
    values: dict[str, np.ndarray]
    ids: dict[str, list[str]]
    expected: dict[str, list[str]]
    previous: FeaturesSummary | None = None
    config: FeatureCheckConfig = field(default_factory=FeatureCheckConfig)
    changed: dict[str, pd.DataFrame] = field(default_factory=dict)

    def arguments(self):  # type: ignore[no-untyped-def]
        summaries = {name: summarised(values) for name, values in self.values.items()} | self.changed
        return summaries, self.ids, self.expected, self.previous, self.config


def good() -> Features:
    rng = np.random.default_rng(5)
    values = {"hog": rng.random((12, 6)), "lab": rng.random((12, 10))}
    values["lab"][:, :2] = 0  # bins that nothing falls into
    features = Features(values, {n: list(IDS) for n in values}, {n: list(IDS) for n in values})
    features.previous = summary_of_features(features.arguments()[0])
    return features


def outcome_of(rule: str, features: Features) -> Outcome:
    chosen = [s for s in feature_suites(*features.arguments()) if rule in {r.name for r in s.rules}]
    return next(o for o in judge("check", chosen, {}).outcomes if o.name == rule)


def nothing(f: Features) -> None:
    f.values, f.ids, f.expected = {}, {}, {}


def not_computed(f: Features) -> None:
    del f.values["hog"]


def missing_items(f: Features) -> None:
    f.ids["hog"] = IDS[2:]


def stale_items(f: Features) -> None:
    f.ids["lab"] = [*IDS, "images/gone.jpg"]


def dead(f: Features) -> None:
    f.values["hog"][:] = 0.5


def repeated_name(f: Features) -> None:
    f.changed["hog"] = summarised(f.values["hog"]).assign(dimension=["d0", *(f"d{k}" for k in range(5))])


def no_values(f: Features) -> None:
    f.changed["hog"] = summarised(f.values["hog"]).assign(n=[12, 12, 0, 12, 12, 12])


def not_a_number(f: Features) -> None:
    f.values["hog"][3, 4] = np.nan


def infinite(f: Features) -> None:
    f.values["hog"][3, 4] = np.inf


def huge(f: Features) -> None:
    f.values["lab"][3, 9] = -1e7


def drifted(f: Features) -> None:
    f.values["hog"][:, :2] += 0.4


BROKEN: list[tuple[str, Callable[[Features], None], int | None, str]] = [
    ("features_exist", nothing, None, "Found: 0"),
    ("features_have_dimensions", not_computed, 1, "feature=hog"),
    ("items_have_rows", missing_items, 1, "missing_rows=2, such_as=images/00.jpg, images/01.jpg"),
    ("rows_are_of_known_items", stale_items, 1, "feature=lab"),
    ("few_dimensions_are_constant", dead, 1, "feature=hog"),
    ("dimension_names_are_unique", repeated_name, 2, "dimension=d0"),
    ("dimensions_have_values", no_values, 1, "dimension=d2"),
    ("no_value_is_nan", not_a_number, 1, "dimension=d4"),
    ("no_value_is_infinite", infinite, 1, "dimension=d4"),
    ("statistics_are_present", not_a_number, 1, "dimension=d4"),
    ("values_are_in_range", huge, 1, "minimum=-1e+07"),
    ("features_have_not_drifted", drifted, 1, "feature=hog, drifted_share=0.333333, worst_dimension=d"),
]
WARNINGS = {"rows_are_of_known_items", "features_have_not_drifted"}


def test_good_features_pass_everything_and_every_rule_is_shown_to_fail() -> None:
    result = check_features(*good().arguments())
    assert {o.status for o in result.outcomes} == {"passed"}, result.explain()
    assert sorted(o.name for o in result.outcomes) == sorted(rule for rule, *_ in BROKEN)
    stored = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert FeaturesSummary.from_result(stored) == good().previous
    assert FeaturesSummary.from_result({}) is None


@pytest.mark.parametrize(("rule", "damage", "failing", "shown"), BROKEN, ids=[b[0] for b in BROKEN])
def test_broken(rule: str, damage: Callable[[Features], None], failing: int | None, shown: str) -> None:
    features = good()
    damage(features)
    outcome = outcome_of(rule, features)
    assert outcome.status == ("warned" if rule in WARNINGS else "failed")
    assert outcome.failing_rows == (failing or 0)
    assert shown in outcome.explain()


def test_drift_may_stop_the_run() -> None:
    features = good()
    drifted(features)
    features.config = replace(features.config, on_drift="error")
    assert outcome_of("features_have_not_drifted", features).status == "failed"


def test_other_dimensions_are_another_feature() -> None:
    features = good()
    features.values = {"hog": features.values["hog"][:, :3]}
    outcome = outcome_of("features_have_not_drifted", features)
    assert (outcome.status, outcome.problem) == ("skipped", "no feature of the last version has the same dimensions")


def test_no_earlier_version() -> None:
    features = good()
    features.previous = None
    assert outcome_of("features_have_not_drifted", features).problem == "there is no earlier version to compare with"


def test_a_summary_without_its_columns_is_refused() -> None:
    features = good()
    features.changed["hog"] = summarised(features.values["hog"]).drop(columns="std")
    with pytest.raises(DataError, match="feature hog lacks the column"):
        check_features(*features.arguments())


def test_mean_shift_known_answers() -> None:
    nan = np.nan
    old_mean, old_std = np.array([1.0, 0.0, 5.0, 0.0, nan, nan]), np.array([3.0, 0.0, 0.0, 0.0, nan, nan])
    new_mean, new_std = np.array([6.0, 0.0, 5.00001, 2.0, nan, 1.0]), np.array([4.0, 0.0, 0.0, 0.0, nan, 1.0])
    shift = mean_shift(old_mean, old_std, new_mean, new_std)
    assert shift[0] == pytest.approx(5 / np.sqrt(12.5))  # 5 over the root of (9 + 16) / 2
    assert shift[1] == 0
    assert shift[2] < 0.5  # the sixth digit of a constant
    assert shift[3] > 1e4  # a constant that became another
    assert shift[4] == 0  # empty before, empty now
    assert shift[5] == np.inf  # empty before, not now


@settings(deadline=None, max_examples=50)
@given(
    st.floats(-1e3, 1e3),
    st.floats(0.1, 10),
    st.floats(-1e3, 1e3),
    st.floats(0.1, 10),
    st.floats(0.5, 8),
    st.floats(-9, 9),
)
def test_mean_shift_ignores_units(
    old_mean: float, old_std: float, new_mean: float, new_std: float, unit: float, offset: float
) -> None:
    """Scaling and moving a dimension in both versions leaves its shift as it is."""
    before = mean_shift(*(np.array([v]) for v in (old_mean, old_std, new_mean, new_std)))
    moved = (old_mean * unit + offset, old_std * unit, new_mean * unit + offset, new_std * unit)
    np.testing.assert_allclose(mean_shift(*(np.array([v]) for v in moved)), before, rtol=1e-6, atol=1e-9)
