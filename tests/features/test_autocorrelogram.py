from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.features import autocorrelogram
from mediarank.features.autocorrelogram import Autocorrelogram, quantised
from mediarank.features.colour_histogram import LabHistogram
from mediarank.types import ConfigError


def plain(colours: np.ndarray, distances: tuple[int, ...], count: int) -> np.ndarray:
    """Ask every pixel about every neighbour."""
    height, width = colours.shape
    result = np.zeros((len(distances), count))
    for k, d in enumerate(distances):
        same, pairs = np.zeros(count), np.zeros(count)
        for y in range(height):
            for x in range(width):
                for dy in range(-d, d + 1):
                    for dx in range(-d, d + 1):
                        inside = 0 <= y + dy < height and 0 <= x + dx < width
                        if max(abs(dy), abs(dx)) == d and inside:
                            pairs[colours[y, x]] += 1
                            same[colours[y, x]] += colours[y + dy, x + dx] == colours[y, x]
        result[k] = np.divide(same, pairs, out=np.zeros(count), where=pairs > 0)
    return result.ravel()


def test_every_neighbour_is_asked(small: np.ndarray) -> None:
    family = Autocorrelogram(space="rgb", bins=(2, 3, 2), distances=(1, 2, 5))
    expected = plain(quantised(small, "rgb", (2, 3, 2)).astype(int), (1, 2, 5), 12)
    np.testing.assert_allclose(family.extract(small), expected, atol=1e-6)
    assert (expected > 0).sum() > 10


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 12))
@settings(max_examples=25, deadline=None)
def test_rings_may_reach_beyond_the_picture(height: int, width: int, distance: int) -> None:
    picture = np.random.default_rng(height * 10 + width).integers(0, 256, (height, width, 3), dtype=np.uint8)
    family = Autocorrelogram(space="rgb", bins=(2, 2, 2), distances=(distance,))
    expected = plain(quantised(picture, "rgb", (2, 2, 2)).astype(int), (distance,), 8)
    np.testing.assert_allclose(family.extract(picture), expected, atol=1e-6)


def test_one_colour_is_always_its_neighbour() -> None:
    family = Autocorrelogram(space="rgb", bins=(4, 4, 4))
    got = dict(zip(family.names(), family.extract(np.full((20, 20, 3), 255, np.uint8)), strict=True))
    assert {name for name, value in got.items() if value} == {f"d{d}/r3g3b3" for d in (1, 3, 5, 7)}
    assert got["d7/r3g3b3"] == 1


def test_a_chessboard_by_hand() -> None:
    board = (np.indices((3, 3)).sum(axis=0) % 2 * 255).astype(np.uint8)[:, :, None].repeat(3, axis=2)
    family = Autocorrelogram(space="rgb", bins=(2, 2, 2), distances=(1, 2))
    got = dict(zip(family.names(), family.extract(board), strict=True))
    # black: 4 corners (3 neighbours, 1 diagonal each) and the centre (8, 4 diagonal): 8 of 20
    assert got["d1/r0g0b0"] == pytest.approx(8 / 20)
    # white: 4 edge pixels with 5 neighbours, 2 of them white across a corner
    assert got["d1/r1g1b1"] == pytest.approx(8 / 20)
    # at distance 2 the centre has no neighbour; a corner has 5, 3 corners among them
    assert got["d2/r0g0b0"] == pytest.approx(12 / 20)


def test_turning_and_mirroring_change_nothing(picture: np.ndarray) -> None:
    vector = Autocorrelogram().extract(picture)
    np.testing.assert_allclose(Autocorrelogram().extract(np.rot90(picture)), vector, atol=1e-6)
    np.testing.assert_allclose(Autocorrelogram().extract(picture[:, ::-1]), vector, atol=1e-6)


def test_colours_are_those_of_the_histogram(picture: np.ndarray) -> None:
    counts = np.bincount(quantised(picture, "lab", (4, 4, 4)).ravel(), minlength=64)
    histogram = LabHistogram(bins=(4, 4, 4), soft=False, curved=False).extract(picture)
    np.testing.assert_allclose(counts / counts.sum(), histogram, atol=1e-6)


def test_too_many_colours_are_refused() -> None:
    with pytest.raises(ConfigError, match="256"):
        Autocorrelogram(bins=(8, 8, 8))


def test_kernels_as_plain_python(small: np.ndarray) -> None:
    colours = quantised(small, "rgb", (2, 2, 2))
    results = []
    for quantise, count in (
        (autocorrelogram._quantise, autocorrelogram._count_pairs),
        (autocorrelogram._quantise.py_func, autocorrelogram._count_pairs.py_func),
    ):
        again = np.empty_like(colours)
        tables = np.arange(768).reshape(3, 256).astype(np.uint8) // 200
        quantise(small, tables, again)
        same, pairs = np.zeros((2, 8), np.int64), np.zeros((2, 8), np.int64)
        count(colours, np.array([1, 3]), np.zeros(colours.shape[1], np.uint8), same, pairs)
        results.append((again, same, pairs))
    for compiled, interpreted in zip(*results, strict=True):
        np.testing.assert_array_equal(compiled, interpreted)
    matches, plain_matches = np.zeros(22, np.uint8), np.zeros(22, np.uint8)
    for dx in (-30, -4, 0, 7, 22):
        autocorrelogram._add_matches(colours[0], colours[1], dx, matches)
        autocorrelogram._add_matches.py_func(colours[0], colours[1], dx, plain_matches)
    np.testing.assert_array_equal(matches, plain_matches)
