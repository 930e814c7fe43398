"""Optical-flow statistics: known shifts, still clips, and the same bytes on any number of threads."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from made_pictures import make_picture

from mediarank.features.flow import SPEEDS, Flow


def smooth(seed: int, height: int = 72, width: int = 140) -> np.ndarray:
    return cv2.GaussianBlur(make_picture(seed, height, width), (0, 0), 1.5)


def shifted(across: int, down: int = 0, frames: int = 4) -> np.ndarray:
    """The camera moves by so many pixels per frame; what it sees moves the other way."""
    wide = smooth(1, 120, 160)
    starts = [(20 + down * t, 30 + across * t) for t in range(frames)]
    return np.stack([wide[y : y + 72, x : x + 96] for y, x in starts])


def parts(family: Flow, clip: np.ndarray) -> dict[str, np.ndarray]:
    """The histograms by what they count."""
    named: dict[str, list[float]] = {}
    for name, value in zip(family.names(), family.extract(clip), strict=True):
        named.setdefault(name.split("/")[0].rstrip("0123456789"), []).append(value)
    return {name: np.array(values) for name, values in named.items()}


@pytest.mark.parametrize(("across", "down"), [(3, 0), (-2, 0), (0, 2), (2, -3)])
def test_a_known_shift(across: int, down: int) -> None:
    for flow in Flow().flows(shifted(across, down)):
        np.testing.assert_allclose(np.median(flow, axis=(0, 1)) * 96, [-across, -down], atol=0.25)


def test_a_camera_that_moves_is_not_motion() -> None:
    found = parts(Flow(normalisation="l1"), shifted(4))
    speed = 4 / 96
    assert found["camera"].argmax() == np.searchsorted(SPEEDS, speed)
    assert found["camera"].max() == pytest.approx(1)
    assert found["speed"][:3].sum() > 0.8  # nearly all pixels move as the camera does


def test_a_still_clip_has_no_direction_and_no_speed() -> None:
    still = np.repeat(smooth(2)[None, :, :96], 4, axis=0)
    found = parts(Flow(normalisation="l1"), still)
    assert found["speed"][0] == found["camera"][0] == 1
    assert not any(values.any() for name, values in found.items() if name not in ("speed", "camera"))


def test_something_that_moves_right_counts_where_it_is() -> None:
    """A patch moves right in the upper left quarter, in front of a still background."""
    background, patch = smooth(3, 72, 96), smooth(4, 24, 24)
    clip = np.repeat(background[None], 4, axis=0).copy()
    for t in range(4):
        clip[t, 8:32, 6 + 3 * t : 30 + 3 * t] = patch
    family = Flow(normalisation="l1")
    cells = family.extract(clip)[: 4 * family.bins].reshape(2, 2, family.bins)
    assert cells[0, 0].sum() > 0.6
    assert cells[0, 0].argmax() == 0  # to the right


def test_threads_do_not_change_a_byte() -> None:
    clip, family = shifted(3, 1), Flow()
    before = cv2.getNumThreads()
    try:
        found = []
        for threads in (1, 3):
            cv2.setNumThreads(threads)
            found.append(family.extract(clip).tobytes())
    finally:
        cv2.setNumThreads(before)
    assert found[0] == found[1]
