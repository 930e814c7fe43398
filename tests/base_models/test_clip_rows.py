from __future__ import annotations

import numpy as np

from mediarank.base_models.clip_rows import ClipRows
from mediarank.types import FeatureMatrix


def matrix(ids: list[str]) -> FeatureMatrix:
    return FeatureMatrix(np.array(ids), ("x",), np.arange(len(ids), dtype=np.float32)[:, None])


IDS = ["a.mp4#000", "a.mp4#001", "b#1.mp4", "c.mp4#000", "image.jpg", "z.mp4#cut"]


def test_rows_are_found_by_id_whether_frames_are_kept_or_pooled() -> None:
    rows = ClipRows.of(matrix(IDS), ["c.mp4", "b#1.mp4", "a.mp4", "silent.mp4"])
    assert rows.clips == ("c.mp4", "b#1.mp4", "a.mp4"), "in the order they were asked in; the silent one has none"
    assert rows.rows.tolist() == [3, 2, 0, 1]
    assert rows.clip.tolist() == [0, 1, 2, 2]


def test_what_only_looks_like_a_frame_is_none() -> None:
    assert ClipRows.of(matrix(IDS), ["z.mp4", "b"]).clips == ()


def test_means_and_maxima_are_over_a_clips_own_rows() -> None:
    rows = ClipRows.of(matrix(IDS), ["c.mp4", "a.mp4"])
    values = np.array([[5.0, -1.0], [1.0, 7.0], [3.0, 1.0]])
    np.testing.assert_allclose(rows.mean(values), [[5, -1], [2, 4]])
    np.testing.assert_allclose(rows.maximum(values.astype(np.float32)), [[5, -1], [3, 7]])
    none = ClipRows.of(matrix(IDS), [])
    assert none.mean(np.zeros((0, 2))).shape == none.maximum(np.zeros((0, 2), np.float32)).shape == (0, 2)


def test_few_draws_frames_at_random_but_always_the_same_whatever_other_clips_there_are() -> None:
    frames = [f"a.mp4#{k:03d}" for k in range(30)]
    few = ClipRows.of(matrix([*frames, "b.mp4"]), ["a.mp4", "b.mp4"]).few(20, seed=7)
    assert np.bincount(few.clip).tolist() == [20, 1]
    assert (np.diff(few.rows[:20]) > 0).all()
    more = ClipRows.of(matrix(["0.mp4", *frames]), ["0.mp4", "a.mp4"]).few(20, seed=7)
    np.testing.assert_array_equal(more.rows[1:] - 1, few.rows[:20])
    assert ClipRows.of(matrix(frames), ["a.mp4"]).few(20, seed=8).rows.tolist() != few.rows[:20].tolist()
