"""Working copies: sizes, round trips, determinism, and a hash that similar pictures share."""

from __future__ import annotations

import io
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making_media import encoded, hamming, scene, tone, write_sound
from PIL import Image

from mediarank.media.working import encode_picture, encode_sound, fit_inside, phash, read_picture, read_sound
from mediarank.types import DataError


@given(st.integers(1, 900), st.integers(1, 900), st.integers(16, 400))
@settings(max_examples=60, deadline=None)
def test_pictures_fit_and_are_never_enlarged(height: int, width: int, max_side: int) -> None:
    image = np.zeros((height, width, 3), np.uint8)
    small = fit_inside(image, max_side)
    assert min(small.shape[:2]) >= 1
    if max(height, width) <= max_side:
        assert small is image
    else:
        assert max(small.shape[:2]) == max_side
        assert small.shape[0] == pytest.approx(height * max_side / max(height, width), abs=1)


def test_shrinking_averages_areas() -> None:
    image = scene(1, 64, 64)
    blocks = image.reshape(32, 2, 32, 2, 3).mean(axis=(1, 3))
    assert np.abs(fit_inside(image, 32) - blocks).max() <= 0.5


@pytest.mark.parametrize(("height", "width"), [(768, 1024), (767, 1023), (1200, 1600), (320, 4096), (64, 2000)])
def test_halving_first_makes_hardly_any_difference(height: int, width: int) -> None:
    image = scene(5, height, width)
    shape = (320, round(height * 320 / width))
    direct = cv2.resize(image, shape, interpolation=cv2.INTER_AREA).astype(int)
    small = fit_inside(image, 320)
    assert small.shape == direct.shape
    assert np.abs(small - direct).mean() < 1
    assert abs(float(small.mean()) - float(image.mean())) < 0.5


def test_pictures_survive_writing(tmp_path: Path) -> None:
    image = scene(2)
    path = tmp_path / "a.jpg"
    path.write_bytes(encode_picture(image))
    assert np.abs(read_picture(path).astype(int) - image).mean() < 3
    assert encode_picture(image) == encode_picture(image.copy())
    opened = Image.open(path)
    assert opened.format == "JPEG"
    assert {component[1:3] for component in opened.layer} == {(1, 1)}  # no chroma subsampling


def test_colours_keep_their_places(tmp_path: Path) -> None:
    red = np.zeros((16, 16, 3), np.uint8)
    red[..., 0] = 200
    path = tmp_path / "red.jpg"
    path.write_bytes(encode_picture(red))
    assert np.abs(read_picture(path).reshape(-1, 3).mean(axis=0) - (200, 0, 0)).max() < 3
    assert np.asarray(Image.open(path))[8, 8, 0] > 190


def test_sound_survives_writing(tmp_path: Path) -> None:
    coded = np.arange(-32768, 32768, 7).astype(np.float32) / 32768
    path = tmp_path / "a.wav"
    path.write_bytes(encode_sound(coded, 16000))
    assert np.array_equal(read_sound(path), coded)
    assert encode_sound(coded, 16000) == encode_sound(coded.copy(), 16000)


def test_loud_sound_is_clipped_not_wrapped(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(encode_sound(np.array([2.0, -2.0, 1.0], np.float32), 16000))
    assert read_sound(path) == pytest.approx([32767 / 32768, -1, 32767 / 32768])


def test_damaged_copies_say_what_to_do(tmp_path: Path) -> None:
    picture, sound = tmp_path / "a.jpg", tmp_path / "a.wav"
    for path, read in ((picture, read_picture), (sound, read_sound)):
        with pytest.raises(DataError, match="dvc repro frames"):
            read(path)
        for data in (b"", b"RIFF no", encode_picture(scene(1))[:500]):
            path.write_bytes(data)
            with pytest.raises(DataError, match="is damaged"):
                read(path)
    stereo = write_sound(tmp_path / "s.wav", np.stack([tone(0.1, 16000)] * 2), 16000, layout="stereo")
    with pytest.raises(DataError, match="not 16-bit mono"):
        read_sound(stereo)


def altered(image: np.ndarray) -> dict[str, np.ndarray]:
    height, width = image.shape[:2]
    squeezed = Image.open(io.BytesIO(encoded(image, "JPEG", quality=40)))
    return {
        "half": cv2.resize(image, (width // 2, height // 2), interpolation=cv2.INTER_AREA),
        "double": cv2.resize(image, (width * 2, height * 2), interpolation=cv2.INTER_CUBIC),
        "squeezed": np.asarray(squeezed),
        "lighter": np.clip(image * 0.9 + 10, 0, 255).astype(np.uint8),
        "blurred": cv2.GaussianBlur(image, (3, 3), 0),
    }


@pytest.mark.parametrize("seed", range(8))
def test_similar_pictures_have_similar_hashes(seed: int) -> None:
    image = scene(seed, 240, 320)
    for change, other in altered(image).items():
        assert hamming(phash(image), phash(other)) <= 8, change


def test_different_pictures_have_different_hashes() -> None:
    hashes = [phash(scene(seed, 240, 320)) for seed in range(40)]
    distances = [hamming(a, b) for i, a in enumerate(hashes) for b in hashes[:i]]
    assert min(distances) > 8
    assert np.mean(distances) == pytest.approx(32, abs=3)


def test_a_hash_is_64_bits_of_which_half_are_set() -> None:
    for seed in range(5):
        code = phash(scene(seed))
        assert len(code) == 16
        assert int(code, 16).bit_count() in (31, 32)


def test_bits_against_a_transform_by_definition() -> None:
    image = scene(4, 32, 32)
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(float) - 127.5
    k, n = np.arange(32)[:, None], np.arange(32)[None]
    basis = np.cos(np.pi * (2 * n + 1) * k / 64) * np.where(k == 0, np.sqrt(1 / 32), np.sqrt(2 / 32))
    low = (basis @ grey @ basis.T)[:8, :8].ravel()
    bits = low > np.median(low[1:])
    bits[0] = grey.mean() > 0
    assert phash(image) == np.packbits(bits).tobytes().hex()


def test_flat_pictures() -> None:
    assert phash(np.zeros((20, 30, 3), np.uint8)) == "0" * 16
    assert phash(np.full((20, 30, 3), 255, np.uint8)) == "8" + "0" * 15
