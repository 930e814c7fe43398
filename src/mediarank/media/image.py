"""Decode one image file to RGB pixels as they should be shown.

OpenCV decodes nearly everything; Pillow first reads all but the plainest headers and takes over where OpenCV is wrong:
transparency (which OpenCV drops), CMYK (which it rounds down), the orientation of AVIF, HEIC (by pillow-heif), and
files that OpenCV refuses, for a second try and a better reason. Both get a buffer, not a file, because only then does
OpenCV refuse a truncated JPEG instead of filling it with grey. Of a camera's RAW file the embedded preview is decoded.

EXIF orientation is applied, 16-bit values are scaled to 8, transparent parts become white, animations give their
first frame and multi-page files their first page. Embedded colour profiles are not applied.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import IO, Final

import cv2
import numpy as np
import numpy.typing as npt
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from mediarank.media.faults import faults_of_file
from mediarank.media.files import File
from mediarank.media.jpeg import plain_jpeg_size
from mediarank.media.limits import Limits
from mediarank.media.raw import raw_preview
from mediarank.media.sniff import HEAD_BYTES, image_format, is_raw, not_media
from mediarank.types import MediaError, OverLimit

Pixels = npt.NDArray[np.uint8]

_JPEG: Final = b"\xff\xd8\xff"
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_OPAQUE_MODES: Final = ("1", "L", "P", "RGB")
_RANGELESS_MODES: Final = ("F", "I")


@dataclass(frozen=True)
class ImageHeader:
    """Facts about an image before it is decoded; `width` and `height` are as shown.

    orientation : EXIF's, 1 (upright) to 8
    transparent : whether some pixels may be transparent
    """

    format: str
    mode: str
    width: int
    height: int
    orientation: int
    transparent: bool


@dataclass(frozen=True)
class DecodedImage:
    """(H, W, 3) uint8 RGB `pixels`, with the header and the bytes of the file that they came from."""

    header: ImageHeader
    data: bytes
    pixels: Pixels


@contextmanager
def opened_image(path: File, limits: Limits) -> Iterator[tuple[ImageHeader, Image.Image]]:
    """The checked header of an image file and Pillow's image, whose pixels are not decoded yet."""
    limits.check_file(path)
    with faults_of_file(), path.open("rb") as file, _opened(file, path, limits) as (header, image):
        yield header, image


def decode_image(path: File, limits: Limits) -> Pixels:
    """The image as (H, W, 3) uint8 RGB."""
    return read_image(path, limits).pixels


def read_image(path: File, limits: Limits) -> DecodedImage:
    """Decode an image and keep the bytes it came from, so that a file is read once.

    Raises MediaError, with the reason, if it is no image, too large, cut off, or can't be decoded.
    """
    limits.check_file(path)
    with faults_of_file():
        data = path.read_bytes()
    if is_raw(path, data[:HEAD_BYTES]):
        return _preview(path, limits)
    return _read_bytes(data, path, limits)


def _preview(path: File, limits: Limits) -> DecodedImage:
    """The preview inside a RAW file, turned as the camera was held."""
    preview = raw_preview(path)
    decoded = _read_bytes(preview.data, path, limits)
    if not preview.quarter_turns:
        return decoded
    pixels = np.ascontiguousarray(np.rot90(decoded.pixels, preview.quarter_turns))
    height, width = pixels.shape[:2]
    # The mode marks that the file's bytes differ from the pixels, so that the bytes are not used as a working copy.
    return DecodedImage(replace(decoded.header, width=width, height=height, mode="turned"), decoded.data, pixels)


def _read_bytes(data: bytes, path: File, limits: Limits) -> DecodedImage:
    if data.startswith(_JPEG) and (image := _plain_jpeg(data, limits)):
        return image
    if data.startswith(_PNG):
        _check_png_chunks(data)
    with _opened(io.BytesIO(data), path, limits) as (header, opened):
        pixels = _by_opencv(data, header) if _opencv_is_right(header) else None
        if pixels is None:
            pixels = _by_pillow(opened, header)
    return DecodedImage(header, data, pixels)


def _plain_jpeg(data: bytes, limits: Limits) -> DecodedImage | None:
    """An ordinary JPEG, decoded without Pillow; None for others and for those that OpenCV refuses."""
    size = plain_jpeg_size(data)
    if size is None:
        return None
    width, height, channels = size
    limits.check_pixels(width, height)
    header = ImageHeader("JPEG", "L" if channels == 1 else "RGB", width, height, 1, False)
    with faults_of_file():
        pixels = _by_opencv(data, header)
    return None if pixels is None else DecodedImage(header, data, pixels)


@contextmanager
def _opened(file: IO[bytes], path: File, limits: Limits) -> Iterator[tuple[ImageHeader, Image.Image]]:
    head = file.read(HEAD_BYTES)
    file.seek(0)
    name = image_format(head)
    if name is None:
        raise MediaError(not_media(path, head))
    if name == "HEIF":
        _register_heif()
    with faults_of_file(), warnings.catch_warnings():
        # Pillow warns of too many pixels, which our own limit covers, and of odd EXIF blocks, which are harmless.
        warnings.simplefilter("ignore")
        try:
            image = Image.open(file, formats=[name])
        except UnidentifiedImageError:
            raise MediaError(f"It starts like a {name} image, but its header can't be read; it is damaged.") from None
        except Image.DecompressionBombError:
            raise OverLimit(f"It declares more pixels than max_pixels allows ({limits.max_pixels:,}).") from None
        limits.check_pixels(*image.size)
        orientation = _orientation(image)
        turned = orientation >= 5 and name != "TIFF"  # Pillow gives the size of a TIFF as it is shown
        width, height = image.size[::-1] if turned else image.size
        transparent = image.has_transparency_data
        yield ImageHeader(name, image.mode, width, height, orientation, transparent), image


def _check_png_chunks(data: bytes) -> None:
    """Refuse a chunk that is longer than the file, because decoders allocate the declared size."""
    position = len(_PNG)
    while position + 12 <= len(data):
        length = int.from_bytes(data[position : position + 4], "big")
        if data[position + 4 : position + 8] == b"IEND":
            return
        position += 12 + length
    raise MediaError("It ends before its last chunk; it is cut off or damaged.")


def _orientation(image: Image.Image) -> int:
    """EXIF's, if the header holds it; otherwise Pillow would decode a whole PNG to look for it."""
    if image.format != "TIFF" and not image.info.keys() & {"exif", "Raw profile type exif"}:
        return 1
    try:
        value = image.getexif().get(ExifTags.Base.Orientation, 1)
    except Exception:  # a damaged EXIF block may raise any exception, and does not affect the pixels
        return 1
    return value if value in range(1, 9) else 1


@cache
def _register_heif() -> None:
    """Make Pillow open HEIC, which it turns upright itself; not at import, because most collections have none."""
    import pillow_heif

    pillow_heif.register_heif_opener(thumbnails=False, decode_threads=1)


def _opencv_is_right(header: ImageHeader) -> bool:
    if header.format in ("AVIF", "HEIF"):
        return False  # OpenCV ignores the orientation of AVIF, and decodes no HEIC
    if header.mode.startswith("I;16"):
        return True  # Pillow clips these instead of scaling them
    return header.mode in _OPAQUE_MODES and not header.transparent


def _by_opencv(data: bytes, header: ImageHeader) -> Pixels | None:
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
    if pixels is None or pixels.shape != (header.height, header.width, 3):
        return None
    return pixels  # type: ignore[no-any-return]


def _by_pillow(image: Image.Image, header: ImageHeader) -> Pixels:
    if header.mode in _RANGELESS_MODES or header.mode.startswith("I;16"):
        raise MediaError(
            f"Its pixels (mode {header.mode}) have an unknown range of values, or are damaged; "
            "save it with 8 or 16 bits per channel."
        )
    image = ImageOps.exif_transpose(image)
    if header.transparent:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return np.array(image.convert("RGB"))
