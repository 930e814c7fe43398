"""Shots: cuts and dissolves are found where they are; light, flashes, noise and motion are not mistaken for them."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making_media import Pixels, scene

from mediarank.media.shots import THRESHOLD, THUMBNAIL, WINDOW, Candidate, describe, difference, key_frames, shot_starts
from mediarank.types import Floats

SMALL = [cv2.resize(scene(seed), THUMBNAIL, interpolation=cv2.INTER_AREA) for seed in range(6)]


def starts(frames: list[Pixels]) -> list[int]:
    return [index for index, start in enumerate(shot_starts(map(describe, frames))) if start]


def noisy(frame: Pixels, seed: int) -> Pixels:
    return np.clip(frame + np.random.default_rng(seed).normal(0, 8, frame.shape), 0, 255).astype(np.uint8)


def lit(frame: Pixels, factor: float) -> Pixels:
    return np.clip(frame * factor, 0, 255).astype(np.uint8)


def test_cuts_are_found_on_the_exact_frame() -> None:
    frames = [noisy(SMALL[shot], 100 * shot + i) for shot, length in enumerate((20, 33, 15)) for i in range(length)]
    assert starts(frames) == [20, 53]


@given(st.lists(st.integers(WINDOW + 1, 30), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None)
def test_any_lengths(lengths: list[int]) -> None:
    frames = [SMALL[shot] for shot, length in enumerate(lengths) for _ in range(length)]
    assert starts(frames) == np.cumsum(lengths[:-1]).tolist()


def test_a_dissolve_is_one_boundary_near_its_middle() -> None:
    mix = [cv2.addWeighted(SMALL[0], 1 - step / 20, SMALL[1], step / 20, 0) for step in range(20)]
    found = starts([SMALL[0]] * 25 + mix + [SMALL[1]] * 25)
    assert len(found) == 1
    assert abs(found[0] - 35) <= 5


def test_a_flash_is_no_boundary() -> None:
    frames = [SMALL[0]] * 50
    frames[20:23] = [np.full_like(SMALL[0], 250)] * 3
    assert starts(frames) == []


def test_a_dropped_frame_is_no_boundary() -> None:
    frames = [SMALL[0]] * 50
    frames[20] = np.zeros_like(SMALL[0])
    frames[30] = SMALL[3]
    assert starts(frames) == []


def test_changing_light_is_no_boundary() -> None:
    assert starts([lit(SMALL[0], 1 - 0.6 * step / 60) for step in range(60)]) == []
    assert starts([lit(SMALL[0], 0.7 + 0.3 * (step > 30)) for step in range(60)]) == []


def test_motion_is_no_boundary() -> None:
    assert starts([noisy(np.roll(SMALL[2], step, axis=1), step) for step in range(60)]) == []


def test_noise_is_no_boundary() -> None:
    rng = np.random.default_rng(0)
    assert starts([rng.integers(0, 256, SMALL[0].shape, dtype=np.uint8) for _ in range(60)]) == []


@pytest.mark.parametrize("frames", [0, 1, WINDOW, 2 * WINDOW - 1])
def test_too_short_for_two_shots(frames: int) -> None:
    assert list(shot_starts(map(describe, [SMALL[i % 2] for i in range(frames)]))) == [False] * frames


def test_decisions_come_with_a_bounded_delay() -> None:
    taken = 0

    def frames() -> Iterator[Floats]:
        nonlocal taken
        for _ in range(200):
            taken += 1
            yield describe(SMALL[0])

    for decided, _ in enumerate(shot_starts(frames()), start=1):
        assert taken - decided <= 2 * WINDOW


def test_description_and_difference() -> None:
    one = describe(SMALL[0])
    assert one[: 3 * 32].sum() == pytest.approx(1, abs=1e-5)
    assert one[3 * 32 :].sum() == pytest.approx(1, abs=1e-5)
    assert difference(one, one) == 0
    assert difference(one, describe(SMALL[1])) == difference(describe(SMALL[1]), one)
    for i, other in enumerate(SMALL):
        assert difference(describe(other), describe(noisy(other, i))) < THRESHOLD / 2
        assert all(difference(describe(other), describe(third)) > THRESHOLD for third in SMALL[:i])
    black, white = (describe(np.full_like(SMALL[0], value)) for value in (0, 255))
    assert difference(black, white) == pytest.approx(0, abs=1e-3)  # nothing but light


def candidates(lengths: tuple[int, ...]) -> list[Candidate]:
    shots = [shot for shot, length in enumerate(lengths) for _ in range(length)]

    def picture(index: int, shot: int) -> Pixels:
        return np.array([[[index, shot, 0]]], np.uint8)

    return [Candidate(float(i), SMALL[shot], lambda i=i, shot=shot: picture(i, shot)) for i, shot in enumerate(shots)]


def test_key_frames_lie_near_the_middle_of_their_shot() -> None:
    found = key_frames(candidates((20, 100, 41)), 8)
    assert [int(picture[0, 0, 1]) for _, picture in found] == [0, 1, 2]
    for (seconds, picture), middle, length in zip(found, (9.5, 69.5, 140), (20, 100, 41), strict=True):
        assert picture[0, 0, 0] == seconds
        assert abs(seconds - middle) <= length / 8 + 1


def test_the_longest_shots_are_kept_in_order() -> None:
    found = key_frames(candidates((20, 15, 40, 16, 30)), 3)
    assert [int(picture[0, 0, 1]) for _, picture in found] == [0, 2, 4]


def test_few_pictures_are_taken_of_a_long_shot() -> None:
    taken = 0

    def take() -> Pixels:
        nonlocal taken
        taken += 1
        return SMALL[0]

    assert len(key_frames((Candidate(float(i), SMALL[0], take) for i in range(1000)), 8)) == 1
    assert taken < 50


def test_no_frames_no_shots() -> None:
    assert key_frames([], 8) == []
