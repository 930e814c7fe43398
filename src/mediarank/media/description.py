"""What people wrote into a file: keywords, title, rating and regions from XMP and IPTC.

`may_describe` looks for the markers of such blocks without decoding anything, so that a collection without them costs
almost nothing; `read_description` reads them.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any, Final

from PIL import Image, IptcImagePlugin

from mediarank.media.image import opened_image
from mediarank.media.limits import Limits
from mediarank.media.sniff import HEAD_BYTES, image_format
from mediarank.media.xmp import Description, read_xmp
from mediarank.types import MediaError

_XMP: Final = (b"http://ns.adobe.com/xap/1.0/", b"<x:xmpmeta", b"XML:com.adobe.xmp")
_IPTC: Final = (b"Photoshop 3.0\x008BIM",)
_MARKS: Final = (*_XMP, *_IPTC)
_IPTC_TITLE, _IPTC_KEYWORDS, _IPTC_CHARSET = (2, 5), (2, 25), (1, 90)
_UTF8: Final = b"\x1b%G"
_USUAL: Final = 4096
"""Bytes that hold the whole header of most pictures without a description."""


def may_describe(path: Path) -> bool:
    """Whether an image file has a marker of XMP or IPTC; raises OSError if it can't be read."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        head = os.read(file, _USUAL)
        form = image_format(head[:HEAD_BYTES])
        if form is None:
            return False
        end = _end_of_jpeg_header(head) if form == "JPEG" else _USUAL
        if end < len(head) or len(head) < _USUAL:
            return any(head.find(mark, 0, end) >= 0 for mark in _MARKS)
        with mmap.mmap(file, 0, access=mmap.ACCESS_READ) as content:
            end = _end_of_jpeg_header(content) if form == "JPEG" else len(content)
            return any(content.find(mark, 0, end) >= 0 for mark in _MARKS)
    except ValueError:  # it was emptied meanwhile
        return False
    finally:
        os.close(file)


def read_description(path: Path, limits: Limits) -> Description:
    """The description inside an image file; XMP takes precedence over IPTC. Raises MediaError if it can't be opened."""
    with opened_image(path, limits) as (_, image):
        found = Description()
        for data in _packets(image):
            try:
                found = found.or_else(read_xmp(data))
            except MediaError:
                continue
        return found.or_else(_iptc(image))


def _packets(image: Image.Image) -> list[bytes]:
    """XMP packets as Pillow returns them for the different formats."""
    candidates: list[Any] = [image.info.get("xmp"), image.info.get("XML:com.adobe.xmp")]
    if image.format == "TIFF":
        candidates.append(image.tag_v2.get(700))  # type: ignore[attr-defined]
    encoded = [c.encode("utf-8", "replace") if isinstance(c, str) else c for c in candidates]
    return [bytes(c) for c in encoded if isinstance(c, bytes | bytearray) and c]


def _iptc(image: Image.Image) -> Description:
    try:
        fields: dict[tuple[int, int], Any] = IptcImagePlugin.getiptcinfo(image) or {}  # type: ignore[arg-type]
    except Exception:  # a damaged block may raise any exception, and does not affect the picture
        return Description()
    encoding = "utf-8" if _as_list(fields.get(_IPTC_CHARSET)) == [_UTF8] else None
    words = [_decoded(value, encoding) for value in _as_list(fields.get(_IPTC_KEYWORDS))]
    title = [_decoded(value, encoding) for value in _as_list(fields.get(_IPTC_TITLE))]
    return Description(tuple(dict.fromkeys(word for word in words if word)), next(iter(title), ""))


def _as_list(value: Any) -> list[bytes]:
    values = value if isinstance(value, list) else [value]
    return [v for v in values if isinstance(v, bytes)]


def _decoded(value: bytes, encoding: str | None) -> str:
    """IPTC text: UTF-8 if declared or valid, otherwise the code page of old programs."""
    try:
        text = value.decode(encoding or "utf-8")
    except UnicodeDecodeError:
        text = value.decode("cp1252", "replace")
    return "".join(c for c in " ".join(text.split()) if c.isprintable()).strip()[:500]


def _end_of_jpeg_header(content: mmap.mmap | bytes) -> int:
    """Where the markers end and the pixels begin."""
    position = 2
    length = len(content)
    while position + 4 <= length and content[position] == 0xFF and content[position + 1] != 0xDA:
        position += 2 + (content[position + 2] << 8 | content[position + 3])
    return min(position, length)
