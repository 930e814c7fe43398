"""The quick look at a JPEG agrees with Pillow where it answers, and answers for ordinary ones only."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making_media import encoded, scene
from PIL import Image

from mediarank.media.jpeg import plain_jpeg_size


@given(st.integers(1, 40), st.integers(1, 40), st.booleans(), st.booleans(), st.sampled_from([0, 1, 2]), st.booleans())
@settings(max_examples=40, deadline=None)
def test_against_pillow(height: int, width: int, grey: bool, progressive: bool, subsampling: int, icc: bool) -> None:
    image = Image.fromarray(scene(1)).resize((width, height)).convert("L" if grey else "RGB")
    options: dict[str, Any] = {"icc_profile": b"x" * 300} if icc else {}
    data = encoded(image, "JPEG", progressive=progressive, subsampling=subsampling, comment=b"words", **options)
    opened = Image.open(io.BytesIO(data))
    assert plain_jpeg_size(data) == (*opened.size, len(opened.getbands()))


def test_the_unusual_is_left_alone() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    assert plain_jpeg_size(encoded(scene(1), "JPEG", exif=exif)) is None
    assert plain_jpeg_size(encoded(Image.fromarray(scene(1)).convert("CMYK"), "JPEG")) is None
    plain = bytearray(encoded(scene(1), "JPEG"))
    frame = plain.index(b"\xff\xc0")
    for change in ({frame + 1: 0xC9}, {frame + 4: 12}, {frame + 5: 0, frame + 6: 0}):  # arithmetic; 12 bits; no height
        changed = plain.copy()
        for place, value in change.items():
            changed[place] = value
        assert plain_jpeg_size(bytes(changed)) is None


@pytest.mark.parametrize("length", range(0, 700, 7))
def test_cut_off_anywhere(length: int) -> None:
    data = encoded(scene(1), "JPEG")
    assert plain_jpeg_size(data[:length]) in (None, (128, 96, 3))


def test_noise_never_runs_away() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        answer = plain_jpeg_size(b"\xff\xd8\xff" + rng.bytes(300))
        assert answer is None or all(0 < side < 65536 for side in answer)
