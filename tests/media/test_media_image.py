"""Every kind of image is decoded as it should be shown; truncated files and false sizes are refused."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from making_media import Pixels, encoded, scene
from PIL import Image

from mediarank.media.guard import Failed, guarded_map
from mediarank.media.image import decode_image, opened_image, read_image
from mediarank.media.limits import Limits
from mediarank.types import MediaError

LIMITS = Limits()
SCENE = scene(1)
GREY = cv2.cvtColor(SCENE, cv2.COLOR_RGB2GRAY)


def decoded(folder: Path, data: bytes, name: str = "image") -> Pixels:
    path = folder / name
    path.write_bytes(data)
    return decode_image(path, LIMITS)


def error(one: Any, other: Any) -> float:
    assert one.shape == other.shape
    return float(np.abs(one.astype(float) - other.astype(float)).mean())


@pytest.mark.parametrize(
    ("format", "options", "tolerance"),
    [
        ("PNG", {}, 0),
        ("BMP", {}, 0),
        ("TIFF", {}, 0),
        ("TIFF", {"compression": "tiff_lzw"}, 0),
        ("PPM", {}, 0),
        ("WEBP", {"lossless": True}, 0),
        ("JPEG2000", {}, 0),
        ("JPEG", {"quality": 95, "subsampling": 0}, 3),
        ("JPEG", {"quality": 95, "subsampling": 0, "progressive": True}, 3),
        ("JPEG", {"quality": 95, "keep_rgb": True}, 3),
        ("WEBP", {"quality": 95}, 5),
        ("AVIF", {"quality": 95}, 5),
    ],
)
def test_each_format_gives_back_its_pixels(
    tmp_path: Path, format: str, options: dict[str, Any], tolerance: float
) -> None:
    pixels = decoded(tmp_path, encoded(SCENE, format, **options))
    assert pixels.dtype == np.uint8
    assert error(pixels, SCENE) <= tolerance


@pytest.mark.parametrize("format", ["PNG", "TIFF", "BMP"])
@pytest.mark.parametrize("mode", ["L", "1", "P"])
def test_grey_and_palette(tmp_path: Path, format: str, mode: str) -> None:
    image = Image.fromarray(SCENE).quantize(64) if mode == "P" else Image.fromarray(SCENE).convert(mode)
    assert error(decoded(tmp_path, encoded(image, format)), np.asarray(image.convert("RGB"))) == 0


def test_grey_jpeg_has_three_equal_channels(tmp_path: Path) -> None:
    pixels = decoded(tmp_path, encoded(GREY, "JPEG", quality=95))
    assert error(pixels, np.dstack([GREY] * 3)) < 3
    assert (pixels[..., 0] == pixels[..., 2]).all()


@pytest.mark.parametrize("extension", [".png", ".tiff"])
def test_16_bits_are_scaled_not_clipped(tmp_path: Path, extension: str) -> None:
    wide = SCENE.astype(np.uint16) * 257
    _, colour = cv2.imencode(extension, wide[..., ::-1])
    assert error(decoded(tmp_path, colour.tobytes()), SCENE) == 0
    _, grey = cv2.imencode(extension, GREY.astype(np.uint16) * 257)
    assert error(decoded(tmp_path, grey.tobytes()), np.dstack([GREY] * 3)) == 0


@pytest.mark.parametrize("format", ["JPEG", "TIFF"])
def test_cmyk(tmp_path: Path, format: str) -> None:
    options = {"quality": 98, "subsampling": 0} if format == "JPEG" else {}
    pixels = decoded(tmp_path, encoded(Image.fromarray(SCENE).convert("CMYK"), format, **options))
    assert error(pixels, SCENE) < 3


@pytest.mark.parametrize("format", ["PNG", "WEBP", "TIFF"])
def test_transparent_parts_become_white(tmp_path: Path, format: str) -> None:
    alpha = np.zeros(GREY.shape, np.uint8)
    alpha[:, :40], alpha[:, 40:80] = 255, 128
    options = {"lossless": True, "exact": True} if format == "WEBP" else {}
    pixels = decoded(tmp_path, encoded(np.dstack([SCENE, alpha]), format, **options)).astype(int)
    assert error(pixels[:, :40], SCENE[:, :40]) == 0
    assert error(pixels[:, 40:80], (SCENE[:, 40:80].astype(int) + 255) / 2) < 1
    assert (pixels[:, 80:] == 255).all()


@pytest.mark.parametrize("format", ["PNG", "GIF"])
def test_transparent_colour_of_a_palette(tmp_path: Path, format: str) -> None:
    index = np.zeros((20, 30), np.uint8)
    index[:, 10:] = 1
    image = Image.fromarray(index, mode="P")
    image.putpalette([0, 0, 0, 200, 10, 20])
    pixels = decoded(tmp_path, encoded(image, format, transparency=0))
    assert (pixels[:, :10] == 255).all()
    assert (pixels[:, 10:] == (200, 10, 20)).all()


def test_grey_with_alpha(tmp_path: Path) -> None:
    image = Image.merge("LA", (Image.fromarray(GREY), Image.new("L", GREY.shape[::-1], 255)))
    assert error(decoded(tmp_path, encoded(image, "PNG")), np.dstack([GREY] * 3)) == 0


@pytest.mark.parametrize(("format", "options"), [("GIF", {}), ("WEBP", {"lossless": True}), ("PNG", {})])
def test_animations_give_their_first_frame(tmp_path: Path, format: str, options: dict[str, Any]) -> None:
    first, *rest = [Image.fromarray(scene(seed)) for seed in range(3)]
    if format == "GIF":
        first, *rest = [image.quantize(255) for image in (first, *rest)]
    data = encoded(first, format, save_all=True, append_images=rest, duration=50, **options)
    assert error(decoded(tmp_path, data), np.asarray(first.convert("RGB"))) == 0


def test_a_tiff_of_many_pages_gives_the_first(tmp_path: Path) -> None:
    data = encoded(SCENE, "TIFF", save_all=True, append_images=[Image.fromarray(scene(2))])
    assert error(decoded(tmp_path, data), SCENE) == 0


# How the stored pixels must be turned for display, straight from the EXIF standard's table.
UPRIGHT = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: a.swapaxes(0, 1)[:, ::-1],
    7: lambda a: a.swapaxes(0, 1)[::-1, ::-1],
    8: lambda a: a.swapaxes(0, 1)[::-1],
}


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize(
    ("format", "options"),
    [
        ("JPEG", {"quality": 97, "subsampling": 0}),
        ("PNG", {}),
        ("WEBP", {"lossless": True}),
        ("TIFF", {}),
        ("AVIF", {"quality": 97}),
        ("HEIF", {"quality": 97}),
    ],
)
def test_exif_orientation(tmp_path: Path, format: str, options: dict[str, Any], orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / "turned"
    path.write_bytes(encoded(SCENE, format, exif=exif.tobytes() if format == "HEIF" else exif, **options))
    shown = UPRIGHT[orientation](SCENE)
    assert error(decode_image(path, LIMITS), shown) < (5 if format in ("AVIF", "HEIF") else 3)
    with opened_image(path, LIMITS) as (header, _):
        assert (header.height, header.width) == shown.shape[:2]


@pytest.mark.parametrize("format", ["PNG", "TIFF"])
def test_a_transparent_image_is_turned_too(tmp_path: Path, format: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(np.dstack([SCENE, np.full(GREY.shape, 255, np.uint8)]), format, exif=exif)
    assert error(decoded(tmp_path, data), UPRIGHT[6](SCENE)) == 0


def test_a_nonsense_orientation_is_ignored(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 77
    assert error(decoded(tmp_path, encoded(SCENE, "PNG", exif=exif)), SCENE) == 0


def test_a_large_image(tmp_path: Path) -> None:
    large = cv2.resize(SCENE, (5000, 4000), interpolation=cv2.INTER_LINEAR)
    _, data = cv2.imencode(".jpg", large[..., ::-1])
    assert error(decoded(tmp_path, data.tobytes())[::16, ::16], large[::16, ::16]) < 3


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.99])
@pytest.mark.parametrize(
    ("format", "options"),
    [("JPEG", {}), ("JPEG", {"progressive": True}), ("PNG", {}), ("WEBP", {}), ("GIF", {}), ("BMP", {}), ("TIFF", {})],
)
def test_what_is_cut_off_is_refused(tmp_path: Path, format: str, options: dict[str, Any], share: float) -> None:
    data = encoded(SCENE, format, **options)
    with pytest.raises(MediaError, match=r"\w{3,}"):
        decoded(tmp_path, data[: int(share * len(data))])


def test_a_jpeg_cut_off_and_padded_with_zeros_is_refused(tmp_path: Path) -> None:
    data = encoded(SCENE, "JPEG")
    half = len(data) // 2
    with pytest.raises(MediaError, match="can't be decoded"):
        decoded(tmp_path, data[:half] + bytes(len(data) - half))


def test_bytes_behind_the_end_do_no_harm(tmp_path: Path) -> None:
    data = encoded(SCENE, "JPEG", quality=95)
    assert error(decoded(tmp_path, data + b"trailer" * 100), decoded(tmp_path, data)) == 0


def test_floating_point_pixels_are_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match="save it with 8 or 16 bits"):
        decoded(tmp_path, encoded(Image.fromarray(GREY.astype(np.float32)), "TIFF"))


def png_of(width: int, height: int) -> bytes:
    """A PNG that declares this size and holds one line of zeros."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(bytes(1 + 3 * 100))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def jpeg_of(width: int, height: int) -> bytes:
    data = bytearray(encoded(SCENE, "JPEG"))
    frame = data.index(b"\xff\xc0")
    data[frame + 5 : frame + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def gif_of(width: int, height: int) -> bytes:
    data = bytearray(encoded(Image.fromarray(GREY), "GIF"))
    data[6:10] = struct.pack("<HH", width, height)
    return bytes(data)


def webp_of(width: int, height: int) -> bytes:
    bits = (width - 1) | (height - 1) << 14
    chunk = b"VP8L" + struct.pack("<I", 16) + b"\x2f" + struct.pack("<I", bits) + bytes(11)
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


BOMBS = {
    "png": png_of(60000, 60000),
    "jpeg": jpeg_of(60000, 60000),
    "gif": gif_of(60000, 60000),
    "webp": webp_of(16000, 16000),
    "wide png": png_of(2**31 - 1, 1),
}


def outcome_of(path: Path) -> str:
    try:
        decode_image(path, LIMITS)
    except MediaError as refusal:
        return str(refusal)
    return "decoded"


def test_bombs_are_refused_before_memory_is_taken(tmp_path: Path) -> None:
    """Each declares hundreds of megabytes; the child that looks at it may take 64."""
    paths = []
    for name, data in BOMBS.items():
        assert len(data) < 20000
        (tmp_path / name).write_bytes(data)
        paths.append(tmp_path / name)
    reasons = guarded_map(outcome_of, paths, "bombs", timeout_seconds=60, memory_bytes=64 * 1024**2)
    for path, reason in zip(paths, reasons, strict=True):
        assert not isinstance(reason, Failed), f"{path.name}: {reason}"
        expected = "more than max_pixels|more pixels than" if path.name != "webp" else "max_pixels|can't be decoded"
        assert reason != "decoded"
        with pytest.raises(MediaError, match=expected):
            raise MediaError(reason)


@pytest.mark.parametrize("name", ["png", "jpeg"])
def test_the_limit_is_ours_to_set(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(encoded(SCENE, name))
    assert decode_image(path, Limits(max_pixels=SCENE.shape[0] * SCENE.shape[1])).shape == SCENE.shape
    with pytest.raises(MediaError, match="128 × 96 pixels, more than max_pixels"):
        decode_image(path, Limits(max_pixels=SCENE.shape[0] * SCENE.shape[1] - 1))


def test_a_header_that_promises_more_than_there_is(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match="damaged"):
        decoded(tmp_path, png_of(300, 300))
    with pytest.raises(MediaError, match="damaged"):
        decoded(tmp_path, jpeg_of(512, 512)[:-2])


def test_what_is_no_image_says_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match=r"named \.jpg, but holds plain text"):
        decoded(tmp_path, b"just words, many of them\n" * 9, "words.jpg")
    with pytest.raises(MediaError, match="starts like a JPEG image, but its header can't be read"):
        decoded(tmp_path, b"\xff\xd8\xff" + b"not much of a header" * 9)


def test_a_chunk_that_lies_about_its_length(tmp_path: Path) -> None:
    """Two hundred bytes must not make a decoder take two gigabytes."""
    data = bytearray(encoded(SCENE, "PNG"))
    place = data.index(b"IDAT") - 4
    data[place : place + 4] = struct.pack(">I", 2**31 - 5)
    path = tmp_path / "a.png"
    path.write_bytes(data[:200])
    (reason,) = guarded_map(outcome_of, [path], "chunk", timeout_seconds=60, memory_bytes=64 * 1024**2)
    assert reason == "It ends before its last chunk; it is cut off or damaged."


def test_read_image_keeps_the_bytes_and_the_header(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(encoded(SCENE, "JPEG"))
    image = read_image(path, LIMITS)
    assert image.data == path.read_bytes()
    assert (image.header.format, image.header.mode) == ("JPEG", "RGB")
    assert (image.header.width, image.header.height, image.header.orientation) == (128, 96, 1)
