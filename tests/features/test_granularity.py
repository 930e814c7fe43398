from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.features.granularity import REGIONS, cut, inside

TILINGS = ("global", "2x2", "3x3", "4x4", "thirds", "columns")


def test_thirds_are_bands_from_top_to_bottom() -> None:
    rows = np.arange(9)[:, None] * np.ones((1, 4), dtype=int)
    bands = [cut(rows, region) for region in REGIONS["thirds"]]
    assert [band[:, 0].tolist() for band in bands] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert all(band.shape == (3, 4) for band in bands)


def test_columns_run_from_left_to_right() -> None:
    columns = np.ones((4, 1), dtype=int) * np.arange(6)
    assert [cut(columns, region)[0].tolist() for region in REGIONS["columns"]] == [[0, 1], [2, 3], [4, 5]]


def test_the_centre_is_the_inner_quarter() -> None:
    picture = np.arange(64).reshape(8, 8)
    np.testing.assert_array_equal(cut(picture, REGIONS["centre"][0]), picture[2:6, 2:6])


@pytest.mark.parametrize(
    ("granularity", "regions"), [("global", 1), ("quadrants_centre", 5), ("global_thirds", 4), ("pyramid", 21)]
)
def test_regions_are_counted_and_named_apart(granularity: str, regions: int) -> None:
    prefixes = [region.prefix for region in REGIONS[granularity]]
    assert len(prefixes) == len(set(prefixes)) == regions


@given(st.sampled_from(TILINGS), st.integers(4, 40), st.integers(4, 40))
@settings(max_examples=60, deadline=None)
def test_a_tiling_holds_every_pixel_once(granularity: str, height: int, width: int) -> None:
    picture = np.arange(height * width).reshape(height, width)
    pixels = np.concatenate([cut(picture, region).ravel() for region in REGIONS[granularity]])
    assert sorted(pixels) == list(range(height * width))


@given(st.sampled_from(sorted(REGIONS)), st.integers(1, 5), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_no_region_is_empty_however_small_the_picture(granularity: str, height: int, width: int) -> None:
    picture = np.zeros((height, width, 3), dtype=np.uint8)
    for region in REGIONS[granularity]:
        part = cut(picture, region)
        assert part.size > 0
        assert part.flags.c_contiguous


@pytest.mark.parametrize("granularity", TILINGS)
def test_every_place_is_inside_one_region_of_a_tiling(granularity: str) -> None:
    places = np.random.default_rng(0).random((500, 2)).astype(np.float32)
    places[:3] = [[0, 0], [1 / 3, 2 / 3], [0.5, 0.75]]
    found = sum(inside(places, region).astype(int) for region in REGIONS[granularity])
    assert (found == 1).all()


def test_inside_reads_down_before_across() -> None:
    top_right = REGIONS["2x2"][1]
    assert inside(np.array([[0.2, 0.8], [0.8, 0.2]], dtype=np.float32), top_right).tolist() == [True, False]
