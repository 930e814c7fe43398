from __future__ import annotations

import numpy as np
import pytest

from mediarank.features.hog import Hog
from mediarank.types import ConfigError


def plain(picture: np.ndarray, family: Hog) -> dict[str, float]:
    """Dalal and Triggs step by step, pixel by pixel, for a picture of the window's size."""
    window, cell, blocks, bins = (
        family.window,
        family.cell,
        family.window // family.cell - family.block + 1,
        family.bins,
    )
    levels = np.sqrt(picture.astype(float)) if family.gamma else picture.astype(float)
    padded = np.pad(levels, ((1, 1), (1, 1), (0, 0)), mode="reflect")
    dx, dy = padded[1:-1, 2:] - padded[1:-1, :-2], padded[2:, 1:-1] - padded[:-2, 1:-1]
    strongest = np.argmax(dx**2 + dy**2, axis=2)
    dx, dy = (np.take_along_axis(d, strongest[:, :, None], axis=2)[:, :, 0] for d in (dx, dy))
    turn = 2 * np.pi if family.signed else np.pi
    place = np.arctan2(dy, dx) % turn / turn * bins - 0.5
    side = family.block * cell
    result = {}
    for by in range(blocks):
        for bx in range(blocks):
            histogram = np.zeros((family.block, family.block, bins))
            for y in range(side):
                for x in range(side):
                    py, px = by * cell + y, bx * cell + x
                    gauss = np.exp(-((y - side / 2) ** 2 + (x - side / 2) ** 2) / (2 * (side / 4) ** 2))
                    vote = gauss * np.hypot(dx[py, px], dy[py, px])
                    o = int(np.floor(place[py, px]))
                    cy, cx = (y + 0.5) / cell - 0.5, (x + 0.5) / cell - 0.5
                    for iy in (int(np.floor(cy)), int(np.floor(cy)) + 1):
                        for ix in (int(np.floor(cx)), int(np.floor(cx)) + 1):
                            if 0 <= iy < family.block and 0 <= ix < family.block:
                                near = vote * (1 - abs(cy - iy)) * (1 - abs(cx - ix))
                                histogram[iy, ix, o % bins] += near * (1 - (place[py, px] - o))
                                histogram[iy, ix, (o + 1) % bins] += near * (place[py, px] - o)
            histogram /= np.linalg.norm(histogram) + 0.1 * histogram.size
            histogram = np.minimum(histogram, 0.2)
            histogram /= np.linalg.norm(histogram) + 1e-3
            for cy, cx, o in np.ndindex(histogram.shape):
                result[f"block{by}.{bx}/cell{cy}.{cx}/o{o}"] = histogram[cy, cx, o]
    assert window == len(picture)
    return result


@pytest.mark.parametrize(
    "family",
    [Hog(window=24, cell=8), Hog(window=16, cell=4, bins=8, signed=True, gamma=False), Hog(window=18, cell=6, block=3)],
)
def test_equals_the_papers_steps(family: Hog, picture: np.ndarray) -> None:
    window = np.ascontiguousarray(picture[20 : 20 + family.window, 30 : 30 + family.window])
    expected = plain(window, family)
    got = dict(zip(family.names(), family.extract(window), strict=True))
    assert got.keys() == expected.keys()
    assert max(abs(got[name] - expected[name]) for name in got) < 2e-3
    assert max(expected.values()) > 0.2


def test_a_turn_moves_bins(picture: np.ndarray) -> None:
    family = Hog(window=32, cell=8, bins=8)
    square = np.ascontiguousarray(picture[:32, :32])
    upright = family.extract(square).reshape(3, 3, 2, 2, 8)  # block x, y, cell x, y, orientation
    turned = family.extract(np.ascontiguousarray(np.rot90(square))).reshape(3, 3, 2, 2, 8)
    # a quarter turn counter-clockwise: (x, y) goes to (y, -x), and 90 of 180 degrees are half of the bins
    expected = np.roll(upright.transpose(1, 0, 3, 2, 4)[:, ::-1, :, ::-1], 4, axis=-1)
    # OpenCV's Gaussian is half a pixel off the block's middle, so it does not turn exactly
    assert np.corrcoef(turned.ravel(), expected.ravel())[0, 1] > 0.97
    assert np.corrcoef(turned.ravel(), np.roll(expected, 1, axis=-1).ravel())[0, 1] < 0.9


def test_vertical_edges_have_horizontal_gradients() -> None:
    stripes = np.zeros((64, 64, 3), dtype=np.uint8)
    stripes[:, 4::8] = stripes[:, 5::8] = stripes[:, 6::8] = stripes[:, 7::8] = 255
    shares = Hog(window=64, cell=16).extract(stripes).reshape(-1, 9).sum(axis=0)
    # direction 0 lies on the border of the first and the last of the nine bins
    assert shares[[0, 8]].sum() > 0.99 * shares.sum()


def test_contrast_hardly_matters(picture: np.ndarray) -> None:
    pale = (picture // 2 + 60).astype(np.uint8)
    a, b = Hog(gamma=False).extract(picture), Hog(gamma=False).extract(pale)
    assert np.corrcoef(a, b)[0, 1] > 0.98


def test_a_flat_picture_has_none() -> None:
    assert not Hog().extract(np.full((40, 50, 3), 128, np.uint8)).any()


@pytest.mark.parametrize("wrong", [{"window": 100, "cell": 16}, {"window": 32, "cell": 16, "block": 3}])
def test_cells_that_do_not_fit_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="divides the window"):
        Hog(**wrong)
