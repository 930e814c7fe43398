from __future__ import annotations

import io

import cv2
import numpy as np
import pytest

from mediarank.features.pictures import explain
from mediarank.types import DataError


def rendered(figure: object) -> np.ndarray:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=40)  # type: ignore[attr-defined]
    return cv2.imdecode(np.frombuffer(buffer.getvalue(), np.uint8), cv2.IMREAD_COLOR)


def test_there_is_a_panel_a_family(picture: np.ndarray) -> None:
    figure = explain(picture)
    titles = [axes.get_title() for axes in figure.axes]
    for word in ("HOG", "Gabor", "GIST", "LBP", "Colour histogram"):
        assert any(word in title for title in titles), word
    assert not any("MFCC" in title for title in titles)
    assert rendered(figure).std() > 10


def test_a_sound_adds_its_spectrogram(picture: np.ndarray) -> None:
    whistle = np.sin(np.arange(8000) * 0.3).astype(np.float32)
    figure = explain(picture, whistle)
    assert [axes.get_title() for axes in figure.axes][-2:] == ["Mel spectrogram (dB)", "MFCC"]
    rendered(figure)


@pytest.mark.parametrize("shape", [(1, 1, 3), (60, 2, 3)])
def test_awkward_pictures_are_drawn(shape: tuple[int, int, int]) -> None:
    assert rendered(explain(np.zeros(shape, np.uint8), np.zeros(0, np.float32))).size > 0


def test_the_hog_panel_follows_the_edges() -> None:
    stripes = np.zeros((128, 128, 3), np.uint8)
    stripes[:, ::8] = stripes[:, 1::8] = 255
    axes = next(a for a in explain(stripes).axes if "HOG" in a.get_title())
    segments = np.array(axes.collections[0].get_segments())
    steps = segments[:, 1] - segments[:, 0]
    assert len(steps) > 50
    assert (np.abs(steps[:, 1]) > np.abs(steps[:, 0])).all()  # stripes that stand upright


def test_what_is_no_picture_is_refused() -> None:
    with pytest.raises(DataError, match="uint8 RGB"):
        explain(np.zeros((5, 5)))
