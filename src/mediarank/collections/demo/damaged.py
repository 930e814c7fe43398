"""Deliberate errors of the demo: files that can't be decoded, and labels of items that don't exist.

A real collection has a few of both. They are included so that every run shows the quarantine at work; `DAMAGED` and
`MISSING` list them all.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Final

MISSING: Final = ("images/missing_001.jpg", "clips/missing_001.mp4")
"""Items that labels mention, but that do not exist."""

PAGE: Final = b"<!DOCTYPE html>\n<title>404 Not Found</title>\n<p>The requested picture is no longer on this server.\n"


def _nothing(good: bytes) -> bytes:
    return b""


def _web_page(good: bytes) -> bytes:
    """The error page that a careless download saves instead of a file."""
    return PAGE


def _first_half(good: bytes) -> bytes:
    """A download or a copy that was interrupted."""
    return good[: len(good) // 2]


def _first_bytes(good: bytes) -> bytes:
    """Cut inside the header."""
    return good[:200]


def _larger_than_it_is(png: bytes) -> bytes:
    """A PNG whose header, with a correct checksum, promises ten times the pixels that follow."""
    header = b"IHDR" + struct.pack(">II", 4000, 3000) + png[24:29]
    return png[:12] + header + struct.pack(">I", zlib.crc32(header)) + png[33:]


def _blanked(mp4: bytes) -> bytes:
    """An MP4 whose index is intact, but whose media data are all zeros: it opens, but has no frame."""
    start = mp4.index(b"mdat") + 4
    end = start - 8 + struct.unpack(">I", mp4[start - 8 : start - 4])[0]
    return mp4[:start] + bytes(end - start) + mp4[end:]


DAMAGED: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "clips/damaged_blank.mp4": _blanked,
    "clips/damaged_cut.mp4": _first_half,
    "clips/damaged_empty.mp4": _nothing,
    "clips/damaged_text.mp4": _web_page,
    "images/damaged_cut.jpg": _first_half,
    "images/damaged_empty.jpg": _nothing,
    "images/damaged_header.jpg": _first_bytes,
    "images/damaged_page.jpg": _web_page,
    "images/damaged_size.png": _larger_than_it_is,
}
"""Each damaged file, and how it is made from a good file of its kind."""
