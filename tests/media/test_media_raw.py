"""RAW files are shown by their previews, or refused with a reason that a user can act on."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from making_media import dng, encoded, scene

from mediarank.media.image import read_image
from mediarank.media.limits import Limits
from mediarank.media.probe import probe
from mediarank.media.raw import NEEDS_RAWPY
from mediarank.types import MediaError, UnsupportedMedia

PREVIEW = encoded(scene(1), "JPEG", quality=97)


@pytest.mark.parametrize(("orientation", "turns"), [(1, 0), (3, 2), (6, 3), (8, 1)])
def test_the_preview_is_decoded_as_the_camera_was_held(tmp_path: Path, orientation: int, turns: int) -> None:
    pytest.importorskip("rawpy")
    path = tmp_path / "a.DNG"
    path.write_bytes(dng(PREVIEW, orientation))
    shown = np.rot90(scene(1), turns)
    pixels = read_image(path, Limits()).pixels
    assert pixels.shape == shown.shape
    assert np.abs(pixels.astype(int) - shown).mean() < 5
    seen = probe(path, Limits())
    assert (seen.height, seen.width) == shown.shape[:2]
    assert (seen.kind, seen.taken.camera, seen.taken.orientation) == ("image", "Acme One", orientation)


def test_a_raw_file_without_a_preview_is_unsupported(tmp_path: Path) -> None:
    pytest.importorskip("rawpy")
    (tmp_path / "a.dng").write_bytes(dng(None))
    with pytest.raises(UnsupportedMedia, match="no preview"):
        probe(tmp_path / "a.dng", Limits())


def test_without_rawpy_the_reason_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rawpy", None)
    (tmp_path / "a.CR2").write_bytes(dng(PREVIEW))
    with pytest.raises(UnsupportedMedia) as caught:
        probe(tmp_path / "a.CR2", Limits())
    assert str(caught.value) == NEEDS_RAWPY
    assert caught.value.cause == "unsupported"


def test_a_raw_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("rawpy")
    (tmp_path / "a.dng").write_bytes(dng(PREVIEW)[:60])
    with pytest.raises(MediaError):
        probe(tmp_path / "a.dng", Limits())
