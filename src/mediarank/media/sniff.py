"""Find out what a file is from its first bytes, whatever its name says.

`image_format` names the decoder of an image, `is_raw` recognises camera RAW files; FFmpeg itself recognises clips and
sounds. The rest says in words what a file that is not media contains, because "named .mp4, but holds a web page" is a
reason that people can act on.
"""

from __future__ import annotations

import posixpath
from typing import Final

from mediarank.media.faults import blame_machine
from mediarank.media.files import File
from mediarank.types import MediaError

HEAD_BYTES: Final = 512

RAW_EXTENSIONS: Final = frozenset(
    (
        ".cr2", ".cr3", ".crw", ".nef", ".nrw", ".arw", ".sr2", ".srf", ".dng", ".orf", ".rw2", ".raf", ".pef", ".srw",
        ".x3f", ".3fr", ".erf", ".kdc", ".dcr", ".mrw", ".mos", ".iiq", ".rwl", ".gpr",
    )
)  # fmt: skip
"""Camera files that hold the sensor's data, with a preview."""

MEDIA_EXTENSIONS: Final = RAW_EXTENSIONS | frozenset(
    (
        # images
        ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".avif", ".jp2", ".ppm",
        ".pgm", ".pbm", ".pnm", ".heic", ".heif", ".hif",
        # clips
        ".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".mts", ".m2ts", ".wmv", ".asf",
        ".flv", ".3gp", ".3g2", ".ogv", ".mxf",
        # sounds
        ".wav", ".mp3", ".flac", ".ogg", ".oga", ".opus", ".m4a", ".aac", ".aif", ".aiff", ".wma", ".au", ".caf",
    )
)  # fmt: skip
"""Files with other extensions are not media and are skipped; for these, the content decides what they are."""

_IMAGE_MAGIC: Final = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"II+\x00", "TIFF"),
    (b"MM\x00+", "TIFF"),
    (b"\x00\x00\x00\x0cjP  ", "JPEG2000"),
    (b"\xff\x4f\xff\x51", "JPEG2000"),
    (b"BM", "BMP"),
    *((b"P%d" % kind + space, "PPM") for kind in range(1, 7) for space in (b" ", b"\n", b"\r", b"\t")),
)
_RAW_MAGIC: Final = (b"FUJIFILMCCD-RAW", b"IIRO", b"IIRS", b"MMOR", b"IIU\x00", b"FOVb", b"\x00MRM")
_TIFF_MAGIC: Final = (b"II*\x00", b"MM\x00*")
_HEIF_BRANDS: Final = (b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1")
_KNOWN_CONTENT: Final = (
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"<!doctype html", "a web page"),
    (b"<html", "a web page"),
    (b"<svg", "an SVG drawing"),
    (b"<?xml", "XML text"),
)


def ending_of(name: str) -> str:
    """The extension of a path in lower case, with its dot; the same as that of a `Path`, several times as fast."""
    return posixpath.splitext(name)[1].lower().rstrip(".")


def read_head(path: File) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        blame_machine(error)
        raise MediaError(f"The file can't be read ({error.strerror}).") from None


def image_format(head: bytes) -> str | None:
    """Pillow's name of an image's format, or None for what is not an image."""
    for magic, name in _IMAGE_MAGIC:
        if head.startswith(magic):
            return name
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:8] == b"ftyp":
        brands = head[8:64]
        if b"avif" in brands or b"avis" in brands:
            return "AVIF"
        # FFmpeg would treat one tile of a HEIC picture as a clip of one frame.
        if any(brand in brands for brand in _HEIF_BRANDS):
            return "HEIF"
    return None


def is_raw(path: File, head: bytes) -> bool:
    """Whether a file is a camera's RAW file. Many are TIFF files inside, which can be recognised by name only."""
    if head.startswith(_RAW_MAGIC) or head[4:12] == b"ftypcrx ":
        return True
    if not head.startswith(_TIFF_MAGIC):
        return False
    return head[8:10] == b"CR" or path.suffix.lower() in RAW_EXTENSIONS


def not_media(path: File, head: bytes) -> str:
    """The reason why a file that no decoder recognises is refused."""
    named = f"named {path.suffix}" if path.suffix else "without an extension"
    return f"This is not an image, clip or sound: it is {named}, but holds {_content(head)}."


def _content(head: bytes) -> str:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for magic, words in _KNOWN_CONTENT:
        if start.startswith(magic.lower()):
            return words
    if not head.strip(b"\x00"):
        return "nothing but zeros at its start"
    text = head.decode("utf-8", errors="ignore")  # a character may be cut at the end of the head
    if len(text.encode()) > len(head) - 4 and all(c.isprintable() or c in "\t\r\n" for c in text):
        return "plain text"
    return f"data of an unknown kind (it starts with {head[:8].hex(' ')})"
