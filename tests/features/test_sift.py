from __future__ import annotations

import cv2
import numpy as np
import pytest

from mediarank.features.local_points import dense_points
from mediarank.features.pixels import grey
from mediarank.features.sift import Sift


def plain(levels: np.ndarray, y: float, x: float, patch: int) -> np.ndarray:
    """Lowe's descriptor of one upright patch: soft votes into 4 x 4 cells of 8 orientations."""
    smooth = cv2.GaussianBlur(levels.astype(np.float32), (0, 0), np.sqrt(1.6**2 - 0.5**2))
    cell = patch / 4
    histogram = np.zeros((6, 6, 8))
    reach = round(float(cell * np.sqrt(2) * 2.5))
    for i in range(-reach, reach + 1):
        for j in range(-reach, reach + 1):
            row, column = i / cell + 1.5, j / cell + 1.5
            py, px = round(y) + i, round(x) + j
            if -1 < row < 4 and -1 < column < 4 and 0 < py < len(levels) - 1 and 0 < px < levels.shape[1] - 1:
                dx = smooth[py, px + 1] - smooth[py, px - 1]
                dy = smooth[py - 1, px] - smooth[py + 1, px]  # up is positive
                vote = np.hypot(dx, dy) * np.exp(-((i / cell) ** 2 + (j / cell) ** 2) / 8)
                place = np.arctan2(dy, dx) % (2 * np.pi) / (2 * np.pi) * 8
                for r in (int(np.floor(row)), int(np.floor(row)) + 1):
                    for c in (int(np.floor(column)), int(np.floor(column)) + 1):
                        for o in (int(place), int(place) + 1):
                            near = (1 - abs(row - r)) * (1 - abs(column - c)) * (1 - abs(place - o))
                            histogram[r + 1, c + 1, o % 8] += vote * near
    values = histogram[1:5, 1:5].ravel()
    values = np.minimum(values / np.linalg.norm(values), 0.2)
    return values / np.linalg.norm(values)


def test_equals_lowes_steps(picture: np.ndarray) -> None:
    levels = grey(picture)
    points = np.array([[40, 50, 16], [30, 80, 24], [60, 64, 20]], dtype=np.float32)
    described = Sift(root=False).describe_points(picture, points)
    for (y, x, patch), values in zip(points, described, strict=True):
        # OpenCV rounds entries to bytes
        np.testing.assert_allclose(values, plain(levels, y, x, int(patch)), atol=0.02)


def test_root_compares_as_hellinger(picture: np.ndarray) -> None:
    points = dense_points(96, 128, 16, (16,))
    plain_, root = Sift(root=False).describe_points(picture, points), Sift().describe_points(picture, points)
    np.testing.assert_allclose(np.linalg.norm(plain_, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(root, np.sqrt(plain_ / plain_.sum(axis=1, keepdims=True)), atol=1e-5)


def test_a_half_turn_turns_cells_and_orientations(picture: np.ndarray) -> None:
    square = np.ascontiguousarray(picture[:65, :65])
    point = np.array([[32, 32, 16]], dtype=np.float32)
    upright = Sift(root=False).describe_points(square, point).reshape(4, 4, 8)
    turned = Sift(root=False).describe_points(np.ascontiguousarray(square[::-1, ::-1]), point).reshape(4, 4, 8)
    np.testing.assert_allclose(turned, np.roll(upright[::-1, ::-1], 4, axis=2), atol=0.03)


def test_twice_the_picture_and_patch_is_the_same(picture: np.ndarray) -> None:
    large = cv2.resize(picture, (256, 192), interpolation=cv2.INTER_LINEAR)
    point = np.array([[48, 64, 16]], dtype=np.float32)
    doubled = np.array([[96.5, 128.5, 32]], dtype=np.float32)
    a, b = Sift().describe_points(picture, point)[0], Sift().describe_points(large, doubled)[0]
    assert a @ b > 0.93


def test_flat_patches_are_zero() -> None:
    described = Sift().describe(np.full((40, 40, 3), 120, np.uint8))
    assert len(described.values) > 0
    assert not described.values.any()


def test_every_point_has_its_row(picture: np.ndarray) -> None:
    family = Sift(patches=(16, 24, 48))
    described = family.describe(picture)
    points = dense_points(96, 128, 8, (16, 24, 48))
    assert described.values.shape == (len(points), 128)
    np.testing.assert_allclose(described.places, points[:, :2] / [96, 128], rtol=1e-5)
    np.testing.assert_array_equal(described.values[:9], Sift(patches=(16,)).describe(picture).values[:9])


@pytest.mark.parametrize("light", [-30, 30])
def test_light_leaves_descriptors_alone(picture: np.ndarray, light: int) -> None:
    dim = (picture // 2 + 60).astype(np.uint8)
    brighter = (dim.astype(int) + light).astype(np.uint8)
    a, b = Sift().describe(dim).values, Sift().describe(brighter).values
    assert (a * b).sum(axis=1).min() > 0.95
