"""Drift between two versions, on summaries with a known answer."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.ops.models.champion_drift import QUANTILES, movements, score_distance
from mediarank.ops.models.promotion_config import PromotionConfig

STEPS = np.linspace(0, 1, QUANTILES)


def summary() -> dict[str, Any]:
    return {
        "check_manifest": {
            "items": 100,
            "kinds": {"image": 100},
            "labels": {"classes": {"coast": 50, "field": 50}, "keywords": {}, "concepts": {}, "events": {}},
            "resolutions": {"image": {"256": 100}},
        },
        "check_features": {
            "features": {"hog": {"dimensions": "abc", "mean": [0.0, 1.0, 2.0, 3.0], "std": [1.0, 1.0, 1.0, 1.0]}}
        },
        "scores": STEPS.tolist(),
    }


def by_name(before: dict[str, Any], now: dict[str, Any], config: PromotionConfig | None = None) -> dict[str, Any]:
    return {movement.what: movement for movement in movements(before, now, config or PromotionConfig())}


def test_the_same_version_has_not_moved() -> None:
    found = by_name(summary(), summary())
    assert list(found) == ["items", "classes", "resolution of images", "hog", "scores"]
    assert {movement.value for movement in found.values()} == {0.0}
    assert not any(movement.too_far for movement in found.values())


def test_each_kind_of_movement_is_seen_and_only_it() -> None:
    fewer, labels, features, scores = (copy.deepcopy(summary()) for _ in range(4))
    fewer["check_manifest"]["items"] = 70
    labels["check_manifest"]["labels"]["classes"] = {"coast": 90, "field": 10}
    features["check_features"]["features"]["hog"]["mean"] = [0.0, 1.0, 3.0, 4.0]
    scores["scores"] = (STEPS**8).tolist()
    found = by_name(summary(), fewer)
    assert found["items"].value == pytest.approx(0.3)
    assert found["items"].too_far
    assert found["items"].detail == "100 before, 70 now"
    found = by_name(summary(), labels)
    # |0.9 - 0.5| + |0.1 - 0.5| over a total of 2
    assert found["classes"].value == pytest.approx(0.4)
    assert [name for name, movement in found.items() if movement.too_far] == ["classes"]
    found = by_name(summary(), features)
    assert found["hog"].value == pytest.approx(0.5)
    assert [name for name, movement in found.items() if movement.too_far] == ["hog"]
    found = by_name(summary(), scores)
    assert [name for name, movement in found.items() if movement.too_far] == ["scores"]


def test_a_feature_type_that_came_or_went_or_changed_is_named() -> None:
    before, now = summary(), summary()
    hog = before["check_features"]["features"].pop("hog")
    found = by_name(before, now)
    assert (found["hog"].value, found["hog"].detail) == (1.0, "added")
    assert by_name(now, before)["hog"].detail == "removed"
    before["check_features"]["features"]["hog"] = {**hog, "dimensions": "abd"}
    assert by_name(before, now)["hog"].detail == "has other dimensions"


def test_limits_decide_what_is_too_far() -> None:
    now = summary()
    now["check_manifest"]["items"] = 90
    assert not by_name(summary(), now)["items"].too_far
    assert by_name(summary(), now, replace(PromotionConfig(), max_lost_share=0.05))["items"].too_far


def test_scores_are_compared_by_shape() -> None:
    one = np.array([0.0] * 50 + [1.0] * 51)
    assert score_distance(STEPS, STEPS * 40 - 7) == 0.0
    # Half of the mass at one point and half at another, against an even spread: the middle is a quarter away.
    assert score_distance(STEPS, one) > 0.2
    assert score_distance(np.zeros(QUANTILES), np.zeros(QUANTILES)) == 0.0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 40), st.sampled_from([0.25, 2.0, 8.0]), st.integers(-9, 9))
def test_distance_is_a_symmetric_share_that_no_scale_changes(seed: int, kinds: int, scale: float, shift: int) -> None:
    one = np.sort(np.random.default_rng(seed).integers(0, kinds, QUANTILES)).astype(np.float64)
    assert score_distance(one, STEPS) == score_distance(STEPS, one)
    assert 0 <= score_distance(one, STEPS) <= 1
    assert score_distance(one, one * scale + shift) == 0.0
