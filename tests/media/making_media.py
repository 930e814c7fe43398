"""Media files made on the spot, for the tests of `mediarank.media`."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pillow_heif
from PIL import Image

Pixels = np.ndarray[Any, np.dtype[np.uint8]]


def scene(seed: int, height: int = 96, width: int = 128) -> Pixels:
    """A picture with soft colours, hard edges and some texture; other seeds give quite other pictures."""
    rng = np.random.default_rng(seed)
    soft = cv2.resize(rng.integers(0, 256, (3, 4, 3), dtype=np.uint8), (width, height), interpolation=cv2.INTER_CUBIC)
    image = np.ascontiguousarray(soft)
    for _ in range(5):
        colour = [int(c) for c in rng.integers(0, 256, 3)]
        x, y, size = int(rng.integers(0, width)), int(rng.integers(0, height)), int(rng.integers(6, 24))
        cv2.rectangle(image, (x, y), (x + size, y + size), colour, -1)
    return np.clip(image.astype(int) + rng.integers(-6, 7, image.shape), 0, 255).astype(np.uint8)


def encoded(image: Image.Image | Pixels, format: str, **options: Any) -> bytes:
    if format == "HEIF":
        pillow_heif.register_heif_opener()
    buffer = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(buffer, format, **options)
    return buffer.getvalue()


def tone(seconds: float, rate: int, frequency: float = 440.0) -> np.ndarray[Any, np.dtype[np.float32]]:
    return (0.5 * np.sin(2 * np.pi * frequency * np.arange(int(seconds * rate)) / rate)).astype(np.float32)


def write_clip(
    path: Path,
    pictures: Iterable[Pixels],
    stamps: Sequence[int] | None = None,
    time_base: Fraction = Fraction(1, 25),
    sound: np.ndarray[Any, np.dtype[np.float32]] | None = None,
    codec: str = "libx264",
    sound_codec: str = "aac",
    sound_rate: int = 48000,
    options: dict[str, str] | None = None,
    container_options: dict[str, str] | None = None,
) -> Path:
    """Code `pictures` with a frame at each of `stamps` (in units of `time_base`), and mono `sound` beside them."""
    with av.open(str(path), "w", options=container_options or {}) as container:
        video = None
        for index, picture in enumerate(pictures):
            if video is None:
                video = container.add_stream(codec, rate=Fraction(1, 1) / time_base)
                video.height, video.width = picture.shape[:2]
                video.pix_fmt = "yuv420p"
                video.time_base = time_base
                video.codec_context.time_base = time_base
                quick = {"crf": "18", "preset": "ultrafast"} if codec == "libx264" else {}
                video.options = {**quick, **(options or {})}
                track = None
                if sound is not None:
                    track = container.add_stream(sound_codec, rate=sound_rate, layout="mono")
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts = stamps[index] if stamps is not None else index
            frame.time_base = time_base
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
        if track is not None:
            _write_track(container, track, sound, sound_rate)
    return path


def write_sound(
    path: Path,
    samples: np.ndarray[Any, np.dtype[np.float32]],
    rate: int = 44100,
    codec: str = "pcm_s16le",
    layout: str = "mono",
) -> Path:
    """Code samples, (n,) or (channels, n), as a sound file."""
    with av.open(str(path), "w") as container:
        track = container.add_stream(codec, rate=rate, layout=layout)
        _write_track(container, track, samples, rate, layout)
    return path


def _write_track(container: Any, track: Any, samples: Any, rate: int, layout: str = "mono") -> None:
    samples = np.atleast_2d(samples).astype(np.float32)
    for start in range(0, samples.shape[1], 1024):
        block = np.ascontiguousarray(samples[:, start : start + 1024])
        frame = av.AudioFrame.from_ndarray(block, format="fltp", layout=layout)
        frame.sample_rate, frame.pts, frame.time_base = rate, start, Fraction(1, rate)
        container.mux(track.encode(frame))
    container.mux(track.encode(None))


def hamming(one: str, other: str) -> int:
    return (int(one, 16) ^ int(other, 16)).bit_count()


def dng(preview: bytes | None, orientation: int = 1, width: int = 64, height: int = 48) -> bytes:
    """A camera's RAW file in its plainest form: a DNG with 16-bit sensor data and, if given, a JPEG preview."""
    sensor = np.random.default_rng(0).integers(100, 4000, (height, width)).astype("<u2").tobytes()
    raw_tags = [
        (254, 4, (0,)), (256, 4, (width,)), (257, 4, (height,)), (258, 3, (16,)), (259, 3, (1,)), (262, 3, (32803,)),
        (273, 4, (0,)), (277, 3, (1,)), (278, 4, (height,)), (279, 4, (len(sensor),)), (33421, 3, (2, 2)),
        (33422, 1, (0, 1, 1, 2)),
    ]  # fmt: skip
    facts: list[tuple[int, int, Any]] = [
        (271, 2, b"Acme\x00"), (272, 2, b"One\x00"), (274, 3, (orientation,)), (50706, 1, (1, 4, 0, 0)),
        (50708, 2, b"Acme One\x00"), (50721, 10, (1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1)),
        (50728, 5, (1, 1, 1, 1, 1, 1)),
    ]  # fmt: skip
    body = bytearray(b"II*\x00\x00\x00\x00\x00")

    def placed(data: bytes) -> int:
        body.extend(b"\x00" * (len(body) % 2))
        start = len(body)
        body.extend(data)
        return start

    def directory(tags: list[tuple[int, int, Any]]) -> int:
        codes = {1: "B", 2: "s", 3: "H", 4: "I", 5: "I", 10: "i"}
        entries = b""
        for tag, kind, values in sorted(tags):
            data = values if kind == 2 else struct.pack(f"<{len(values)}{codes[kind]}", *values)
            count = len(values) // 2 if kind in (5, 10) else len(values)
            place = data.ljust(4, b"\x00") if len(data) <= 4 else struct.pack("<I", placed(data))
            entries += struct.pack("<HHI", tag, kind, count) + place
        return placed(struct.pack("<H", len(tags)) + entries + b"\x00" * 4)

    raw_tags[6] = (273, 4, (placed(sensor),))
    if preview is None:
        first = directory([*raw_tags, *facts])
    else:
        with Image.open(io.BytesIO(preview)) as image:
            wide, high = image.size
        shown = [
            (254, 4, (1,)), (256, 4, (wide,)), (257, 4, (high,)), (258, 3, (8, 8, 8)), (259, 3, (7,)), (262, 3, (6,)),
            (273, 4, (placed(preview),)), (277, 3, (3,)), (278, 4, (high,)), (279, 4, (len(preview),)),
            (330, 4, (directory(raw_tags),)),
        ]  # fmt: skip
        first = directory([*shown, *facts])
    body[4:8] = struct.pack("<I", first)
    return bytes(body)
