"""Bands and p-values of the events benchmark, on cases done by hand."""

from __future__ import annotations

import numpy as np
import pytest
from events_bands import (
    SplitScores,
    band,
    exchange_test,
    group_weights,
    mean_precision,
    measured,
    p_value,
    significant_lead,
)
from events_data import _same_rows
from events_made import KINDS, made_event
from events_made_clips import SEEN, made_clips
from scipy.special import logit

from mediarank.evaluation.metrics import average_precision


def a_split(seed: int, good: float, clips: int = 80) -> SplitScores:
    """`good` sees the event better than `other` by this much."""
    rng = np.random.default_rng(seed)
    marks = rng.permutation(clips)[:, None] < clips // 4
    noise = rng.normal(size=(2, clips, 1))
    scores = {"good": noise[0] + (1 + good) * marks, "other": noise[1] + marks, "same": noise[1] + marks}
    return SplitScores(np.array([f"g{k}" for k in range(clips)]), marks, scores)


def test_with_every_clip_once_it_is_average_precision_and_best_f1() -> None:
    split = a_split(0, 1.0)
    ap, f1 = measured(split.scores["good"][:, 0], split.marks[:, 0], np.ones((1, 80)))
    assert ap[0] == pytest.approx(average_precision(split.marks[:, 0], split.scores["good"][:, 0]))
    order = np.argsort(-split.scores["good"][:, 0])
    found = np.cumsum(split.marks[order, 0])
    assert f1[0] == pytest.approx((2 * found / (np.arange(1, 81) + 20)).max())


def test_a_clip_that_is_drawn_twice_counts_twice() -> None:
    scores, marks = np.array([3.0, 2.0, 1.0]), np.array([False, True, True])
    ap, _ = measured(scores, marks, np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]))
    assert ap[:2] == pytest.approx([2 / 3, 1.0])
    assert np.isnan(ap[2]), "no positive was drawn"


def test_groups_are_drawn_as_a_whole_and_alike_in_all_splits() -> None:
    one = SplitScores(np.array(["a", "a", "b"]), np.ones((3, 1), bool), {})
    other = SplitScores(np.array(["b", "c"]), np.ones((2, 1), bool), {})
    first, second = group_weights([one, other], 50)
    assert (first[0] == 1).all()
    assert np.array_equal(first[:, 0], first[:, 1])
    assert np.array_equal(first[:, 2], second[:, 0])
    assert first[1:].std() > 0


def test_a_clear_lead_is_significant_and_none_is_not() -> None:
    splits = [a_split(seed, 2.0) for seed in range(2)]
    weights = group_weights(splits, 200)
    lead = band(mean_precision(splits, "good", weights) - mean_precision(splits, "other", weights))
    assert lead.low > 0.1
    assert p_value([exchange_test(splits, "good", "other")]) < 0.01
    assert p_value([exchange_test(splits, "same", "other")]) == 1


def test_p_values_are_uniform_where_nothing_differs() -> None:
    values = [p_value([exchange_test([a_split(seed, 0.0, 40)], "good", "other")]) for seed in range(40)]
    assert 0.25 < np.mean(values) < 0.75
    assert np.mean(np.array(values) < 0.1) < 0.3


def test_equal_scores_are_ranked_by_chance() -> None:
    marks = np.arange(200) < 50
    ap, _ = measured(np.zeros(200), marks, np.ones((1, 200)))
    assert 0.15 < ap[0] < 0.4


def test_made_up_scores_favour_one_scale_the_other_or_neither() -> None:
    leads = {}
    for kind in KINDS:
        gaps = []
        for seed in range(12):
            event = made_event(seed, kind, base=10, unseen=10, test=3000)
            odds = logit(np.clip(event.test, 1e-6, 1 - 1e-6)).mean(axis=1)
            gaps.append(
                average_precision(event.test_y, odds) - average_precision(event.test_y, event.test.mean(axis=1))
            )
        leads[kind] = np.mean(gaps)
    assert leads["gaussian"] > 0.01
    assert leads["either"] < -0.01
    assert abs(leads["mixed"]) < 0.01


def test_clips_that_share_a_row_are_found_but_not_silent_ones() -> None:
    rows = np.array([[1, 2], [3, 4], [1, 2], [0, 0], [0, 0], [np.nan, np.nan]], np.float16)
    assert _same_rows(rows, ~np.isnan(rows).any(axis=1)).tolist() == [0, 1, 0, 3, 4, 5]


def test_a_lead_that_is_significant_is_as_large_as_the_least_that_is() -> None:
    splits = [a_split(seed, 2.0) for seed in range(2)]
    tests = [exchange_test(splits, "good", "other")]
    assert tests[0][0] > significant_lead(tests) > 0
    assert significant_lead([exchange_test(splits, "same", "other")]) == 0


def test_made_up_clips_of_every_kind_have_each_event_in_each_role() -> None:
    kinds = set()
    for seed in range(0, 12, 3):
        kind, clips = made_clips(seed)
        kinds.add(kind)
        assert not set(clips.base + clips.rank) & set(clips.test)
        for role in (clips.base, clips.rank, clips.test):
            assert clips.marks(role).any(axis=0).all()
        assert clips.matrices["type0"].ids[0] == "c000#0", "frame by frame"
        assert clips.matrices["type4"].ids[0] == "c000"
    assert kinds == set(SEEN)
