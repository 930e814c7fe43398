"""One vector per clip, and types side by side: their kernel is the sum of the types' kernels."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.base_models.clip_vectors import clip_vectors, kernel_spread, side_by_side
from mediarank.similarity.kernels import intersection
from mediarank.types import FeatureMatrix


def matrix(ids: list[str], width: int, seed: int) -> FeatureMatrix:
    values = np.random.default_rng(seed).random((len(ids), width), dtype=np.float32)
    return FeatureMatrix(np.array(ids), tuple(f"d{k}" for k in range(width)), values)


def test_frames_are_averaged_before_the_root_and_negative_values_count_as_0() -> None:
    values = np.array([[4.0, -1.0], [0.0, -3.0], [9.0, 1.0]], np.float32)
    frames = FeatureMatrix(np.array(["a#000", "a#001", "b"]), ("x", "y"), values)
    found = clip_vectors(frames, ["b", "a", "silent"])
    assert found.ids.tolist() == ["a", "b"]
    np.testing.assert_allclose(found.values, [[np.sqrt(2), 0], [3, 1]], rtol=1e-6)


def test_side_by_side_is_the_sum_of_kernels_of_unit_spread() -> None:
    clips = [f"c{k}" for k in range(8)]
    types = {"one": matrix(clips, 5, 0), "two": matrix(clips, 30, 1)}
    spreads = np.array([kernel_spread(m, clips) for m in types.values()])
    joined = side_by_side(types, spreads, clips)
    expected = sum(intersection(m.values) / s for m, s in zip(types.values(), spreads, strict=True))
    np.testing.assert_allclose(intersection(joined.values), expected, rtol=1e-5)
    each = [intersection(m.values) / s for m, s in zip(types.values(), spreads, strict=True)]
    assert [np.trace(k) / 8 - k.mean() for k in each] == pytest.approx([1, 1], rel=1e-4)
    assert joined.names[0] == "one/d0"


def test_a_clip_that_a_type_does_not_know_has_zeros_there() -> None:
    types = {"one": matrix(["a", "b"], 2, 0), "two": matrix(["b", "c"], 3, 1)}
    joined = side_by_side(types, np.ones(2), ["a", "b", "c", "d"])
    assert joined.ids.tolist() == ["a", "b", "c"]
    assert not joined.rows(["a"])[0, 2:].any()
    assert not joined.rows(["c"])[0, :2].any()


def test_vectors_that_do_not_differ_are_not_blown_up() -> None:
    same = FeatureMatrix(np.array(["a", "b"]), ("x",), np.full((2, 1), 0.7, np.float32))
    assert kernel_spread(same, ["a", "b"]) == kernel_spread(same, []) == 1
