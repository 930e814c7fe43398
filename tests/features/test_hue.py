from __future__ import annotations

import numpy as np
import pytest

from mediarank.features import hue
from mediarank.features.hue import Hue
from mediarank.features.local_points import dense_points


def flat(*colour: int) -> np.ndarray:
    return np.full((40, 40, 3), colour, dtype=np.uint8)


def plain(picture: np.ndarray, y: float, x: float, patch: int, bins: int) -> np.ndarray:
    counts, mass = np.zeros(bins), 0.0
    for i in range(len(picture)):
        for j in range(picture.shape[1]):
            if abs(i - y) <= patch / 2 and abs(j - x) <= patch / 2:
                r, g, b = picture[i, j].astype(float)
                o1, o2 = (r - g) / np.sqrt(2), (r + g - 2 * b) / np.sqrt(6)
                near = np.exp(-((i - y) ** 2 + (j - x) ** 2) / (2 * (patch / 4) ** 2))
                place = np.arctan2(o1, o2) % (2 * np.pi) / (2 * np.pi) * bins
                mass += near
                counts[int(place) % bins] += near * np.hypot(o1, o2) * (1 - place % 1)
                counts[(int(place) + 1) % bins] += near * np.hypot(o1, o2) * (place % 1)
    return np.sqrt(counts / (counts.sum() + 8 * mass))


def test_equals_a_plain_loop(small: np.ndarray) -> None:
    points = np.array([[8.5, 9, 8], [9, 12.5, 16], [2, 2, 8]], dtype=np.float32)
    described = Hue(bins=12).describe_points(small, points)
    for (y, x, patch), values in zip(points, described, strict=True):
        np.testing.assert_allclose(values, plain(small, y, x, int(patch), 12), atol=1e-4)


@pytest.mark.parametrize(
    ("colour", "degrees"), [((255, 0, 0), 60), ((0, 255, 0), 300), ((0, 0, 255), 180), ((255, 255, 0), 0)]
)
def test_pure_colours_lie_on_the_circle(colour: tuple[int, int, int], degrees: int) -> None:
    values = Hue(bins=6).describe(flat(*colour)).values
    bin_ = degrees // 60
    assert (values.argmax(axis=1) == bin_).all()
    assert values[:, bin_].min() > 0.97


def test_light_hardly_matters() -> None:
    bright, dark = Hue().describe(flat(240, 120, 40)).values, Hue().describe(flat(120, 60, 20)).values
    np.testing.assert_allclose(bright, dark, atol=0.06)


def test_grey_is_near_zero_and_colour_is_not() -> None:
    assert not Hue().describe(flat(90, 90, 90)).values.any()
    faint = np.linalg.norm(Hue().describe(flat(92, 90, 90)).values, axis=1)
    vivid = np.linalg.norm(Hue().describe(flat(200, 20, 20)).values, axis=1)
    assert faint.max() < 0.5 < 0.9 < vivid.min()


def test_turning_permutes_patches_alone(picture: np.ndarray) -> None:
    square = np.ascontiguousarray(picture[:64, :64])
    upright, turned = Hue().describe(square).values, Hue().describe(np.ascontiguousarray(np.rot90(square, 2))).values
    count = len(dense_points(64, 64, 8, (16,)))
    np.testing.assert_allclose(turned[:count], upright[:count][::-1], atol=1e-4)


def test_kernel_as_plain_python(small: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    lower = rng.integers(0, 6, small.shape[:2])
    parts = rng.random((2, *small.shape[:2])).astype(np.float32)
    points = np.array([[3, 4, 8], [17, 21, 6]], dtype=np.float32)
    results = []
    for kernel in (hue._count_hues, hue._count_hues.py_func):
        counts, masses = np.zeros((2, 6), np.float32), np.zeros(2, np.float32)
        kernel(lower, (lower + 1) % 6, parts[0], parts[1], points, counts, masses)
        results.append((counts, masses))
    for compiled, interpreted in zip(*results, strict=True):
        np.testing.assert_allclose(compiled, interpreted, rtol=1e-4)
