from __future__ import annotations

import numpy as np
import pytest
from made_pictures import make_picture

from mediarank.features import hog3d
from mediarank.features.hog3d import Hog3d, icosahedron_axes
from mediarank.features.pixels import grey
from mediarank.types import ConfigError, DataError


def moving(seed: int = 0, frames: int = 6, height: int = 40, width: int = 48, step: int = 2) -> np.ndarray:
    wide = make_picture(seed, height, width + step * frames)
    return np.stack([wide[:, step * t : step * t + width] for t in range(frames)])


def plain(clip: np.ndarray, family: Hog3d) -> np.ndarray:
    """Kläser's steps, block by block, cell by cell, for clips no larger than `side`."""
    volume = np.stack([grey(np.ascontiguousarray(frame)) for frame in clip]) / 255
    dt, dy, dx = np.gradient(volume)
    axes = icosahedron_axes(family.signed).astype(float)
    cosines = np.unique(np.round(axes @ axes.T, 6))
    threshold = np.sqrt(5) / 3
    assert threshold == pytest.approx(cosines[-2], abs=1e-5)
    ct, cs = family.cell_frames, family.cell
    counts = [n // c for n, c in zip(volume.shape, (ct, cs, cs), strict=True)]
    cells = np.zeros((*counts, len(axes)))
    for t, y, x in np.ndindex(*counts):
        for i, j, k in np.ndindex(2, 2, 2):
            part = np.s_[
                t * ct + i * ct // 2 : t * ct + (i + 1) * ct // 2,
                y * cs + j * cs // 2 : y * cs + (j + 1) * cs // 2,
                x * cs + k * cs // 2 : x * cs + (k + 1) * cs // 2,
            ]
            gradient = np.array([dx[part].mean(), dy[part].mean(), dt[part].mean()])
            length = np.linalg.norm(gradient)
            if length > 1e-6:
                projected = axes @ gradient / length
                if not family.signed:
                    projected = np.abs(projected)
                shares = np.maximum(projected - threshold, 0)
                cells[t, y, x] += length * shares / np.linalg.norm(shares)
    blocks = []
    for t in range(counts[0] - family.block_time + 1):
        for y in range(counts[1] - family.block + 1):
            for x in range(counts[2] - family.block + 1):
                block = cells[t : t + family.block_time, y : y + family.block, x : x + family.block].ravel()
                block = np.minimum(block / np.linalg.norm(block), 0.2)
                blocks.append(block / np.linalg.norm(block))
    return np.array(blocks)


@pytest.mark.parametrize("family", [Hog3d(), Hog3d(signed=True, cell=4, cell_frames=4, block=2, block_time=1)])
def test_equals_the_papers_steps(family: Hog3d) -> None:
    clip = moving()
    described = family.describe(clip)
    expected = plain(clip, family)
    assert described.values.shape == expected.shape
    np.testing.assert_allclose(described.values, expected, atol=2e-4)
    assert described.values.shape[1] == len(family.descriptor_names())


def test_axes_are_those_of_an_icosahedron() -> None:
    axes = icosahedron_axes(True)
    assert axes.shape == (20, 3)
    np.testing.assert_allclose(np.linalg.norm(axes, axis=1), 1, rtol=1e-6)
    neighbours = np.isclose(axes @ axes.T, np.sqrt(5) / 3, atol=1e-5).sum(axis=1)
    assert (neighbours == 3).all()  # a triangular face touches three others
    half = icosahedron_axes(False)
    assert len(half) == 10
    assert np.abs(half @ half.T - np.eye(10)).max() < 0.99  # no two are opposite


def test_no_gradient_falls_between_the_axes() -> None:
    directions = np.random.default_rng(0).normal(size=(5000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert (directions @ icosahedron_axes(True).T).max(axis=1).min() > np.sqrt(5) / 3


def test_motion_and_its_reverse_differ_only_if_time_does() -> None:
    family = Hog3d()
    forward, backward = (
        family.cell_histograms(family._volume(c)).sum(axis=(0, 1, 2)) for c in (moving(), moving()[::-1])
    )
    assert np.abs(forward - backward).sum() > 0.05 * forward.sum()
    still = np.repeat(moving()[:1], 6, axis=0)
    np.testing.assert_array_equal(family.describe(still).values, family.describe(still[::-1]).values)


def test_a_mirrored_clip_mirrors_the_axes() -> None:
    family = Hog3d(signed=True, block=1, block_time=1)
    clip = moving()
    cells = family.cell_histograms(family._volume(clip))
    mirrored = family.cell_histograms(family._volume(np.ascontiguousarray(clip[:, :, ::-1])))
    axes = icosahedron_axes(True)
    partner = np.argmax((axes * [-1, 1, 1]) @ axes.T, axis=1)
    np.testing.assert_allclose(mirrored[:, :, ::-1][..., partner], cells, atol=1e-4)


def test_light_leaves_descriptors_alone() -> None:
    dim = (moving() // 2).astype(np.uint8)
    np.testing.assert_allclose(Hog3d().describe(dim + 60).values, Hog3d().describe(dim).values, atol=0.02)


def test_places_are_the_middles_of_blocks() -> None:
    places = Hog3d(block=1, block_time=1).describe(moving()).places
    assert places[:6, 1].tolist() == pytest.approx([(k + 0.5) / 6 for k in range(6)])
    assert sorted(set(places[:, 0].round(4))) == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9])


def test_large_clips_are_shrunk_and_short_ones_held() -> None:
    assert len(Hog3d().describe(moving(height=200, width=320)).values) == 2 * (12 - 2) * (20 - 2)
    assert len(Hog3d().describe(moving(frames=1)).values) == 1 * (5 - 2) * (6 - 2)


def test_a_flat_clip_has_nothing_to_say() -> None:
    assert not Hog3d().describe(np.full((5, 30, 30, 3), 80, np.uint8)).values.any()


def test_what_is_no_clip_is_refused() -> None:
    with pytest.raises(DataError, match="uint8 RGB"):
        Hog3d().describe(np.zeros((0, 5, 5, 3), np.uint8))
    with pytest.raises(ConfigError, match="does not fit"):
        Hog3d(side=16)


def test_kernels_as_plain_python() -> None:
    volume = (np.random.default_rng(0).random((4, 8, 8))).astype(np.float32)
    axes = icosahedron_axes(False)
    results = []
    for name in ("compiled", "plain"):
        kernels = [hog3d._mean_gradients, hog3d._count_directions, hog3d._gather_blocks]
        if name == "plain":
            kernels = [kernel.py_func for kernel in kernels]
        means, cells = np.zeros((4, 4, 4, 3), np.float32), np.zeros((2, 2, 2, 10), np.float32)
        blocks = np.zeros((1, 1, 1, 80), np.float32)
        kernels[0](volume, 1, 2, means)
        kernels[1](means, axes, np.float32(np.sqrt(5) / 3), False, cells)
        kernels[2](cells, 2, 2, blocks)
        results.append((means, cells, blocks))
    for compiled, interpreted in zip(*results, strict=True):
        np.testing.assert_allclose(compiled, interpreted, atol=1e-5)
    row = np.array([3, 4], np.float32)
    hog3d._to_length_one.py_func(row)
    np.testing.assert_allclose(row, [0.6, 0.8], rtol=1e-6)
