"""Working copies: the small pictures and plain sounds that features read instead of the originals.

Pictures are JPEG at quality 95 without chroma subsampling, sounds 16-bit WAV of one channel. The same pixels or
samples always give the same bytes. A perceptual hash of each picture finds near-duplicates later.
"""

from __future__ import annotations

import hashlib
import io
import wave
from typing import Final

import cv2
import numpy as np

from mediarank.media.faults import blame_machine
from mediarank.media.files import File
from mediarank.media.image import Pixels
from mediarank.types import DataError, Floats, MediaError

_JPEG: Final = (
    cv2.IMWRITE_JPEG_QUALITY, 95,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
)  # fmt: skip
_FULL_SCALE: Final = 32768


def fit_inside(image: Pixels, max_side: int) -> Pixels:
    """Shrink an image by averaging areas so that no side is longer than `max_side`; one that fits is returned as it is.

    A much larger image is halved first, as long as a factor of at least 1.5 is left: averages of 2 × 2 pixels are exact
    and ten times faster than those of odd areas, which would take half as long as decoding.
    """
    height, width = image.shape[:2]
    scale = max_side / max(height, width)
    if scale >= 1:
        return image
    shape = max(1, round(width * scale)), max(1, round(height * scale))
    while width >= 3 * shape[0] and height >= 3 * shape[1] and width % 2 == height % 2 == 0:
        width, height = width // 2, height // 2
        image = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    return cv2.resize(image, shape, interpolation=cv2.INTER_AREA)  # type: ignore[no-any-return]


def encode_picture(image: Pixels) -> bytes:
    """JPEG bytes of an RGB picture."""
    done, data = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), _JPEG)
    if not done:
        raise MediaError(f"A picture of shape {image.shape} can't be written as JPEG.")
    return bytes(data)


def read_picture(path: File, sha256: str = "") -> Pixels:
    """(H, W, 3) uint8 RGB of a working picture; its content is compared with `sha256` if that is given."""
    data = _bytes_of(path, sha256)
    image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB) if data else None
    if image is None:
        raise DataError(f"The working picture {path} is damaged; run dvc checkout, or dvc repro frames.")
    return image  # type: ignore[no-any-return]


def encode_sound(samples: Floats, sample_rate: int) -> bytes:
    """WAV bytes of samples in [-1, 1]; values outside are clipped."""
    coded = np.clip(np.rint(samples * _FULL_SCALE), -_FULL_SCALE, _FULL_SCALE - 1).astype("<i2")
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(coded.tobytes())
    return buffer.getvalue()


def read_sound(path: File, sha256: str = "") -> Floats:
    """Float32 samples in [-1, 1) of a working sound; its content is compared with `sha256` if that is given."""
    try:
        with wave.open(io.BytesIO(_bytes_of(path, sha256)), "rb") as file:
            if (file.getnchannels(), file.getsampwidth()) != (1, 2):
                raise wave.Error("not 16-bit mono")
            coded = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    except (wave.Error, EOFError, ValueError) as error:
        raise DataError(
            f"The working sound {path} is damaged ({error}); run dvc checkout, or dvc repro frames."
        ) from error
    return coded.astype(np.float32) / np.float32(_FULL_SCALE)


def phash(image: Pixels) -> str:
    """A 64-bit perceptual hash as 16 hex digits: similar pictures differ in few bits.

    One bit for each of the 8 × 8 lowest frequencies of the 32 × 32 grey picture: whether it is above their median. The
    lowest, which is the mean brightness, is compared with mid-grey instead; a flat picture has no other bit set.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    small = cv2.resize(grey, (32, 32), interpolation=cv2.INTER_AREA).astype(np.float64) - 127.5
    low = cv2.dct(small)[:8, :8].ravel()
    low[1:] -= np.partition(low[1:], 31)[31]  # the median of 63, at a tenth of the price of np.median
    bits = low > 1e-6  # above rounding errors
    return np.packbits(bits).tobytes().hex()


def _bytes_of(path: File, sha256: str = "") -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        blame_machine(error)
        raise DataError(f"{path} can't be read ({error.strerror}); run dvc repro frames.") from None
    if sha256 and hashlib.sha256(content).hexdigest() != sha256:
        raise DataError(f"The working copy {path} is damaged: run bin/mediarank verify, or dvc repro frames.")
    return content
