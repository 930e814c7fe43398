"""Checksums inside files, compared when they are read: damage is noticed, whichever bit it hits.

Each seal covers the whole file and leaves it in its format, so that other programs can read it: a key in a JSON object,
the comment of a zip archive, the gap before the footer of a parquet file.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any, Final

SEAL: Final = "sha256"
"""The key under which a JSON object holds its own checksum."""
_ZIP_SEAL: Final = b"sha256:"
_PARQUET: Final = b"PAR1"
_PARQUET_SEAL: Final = b"mediarank-sha256"


class Damaged(ValueError):
    """A file's content is not what was written."""


def file_sha256(path: Path) -> str:
    """Of a file of any size, in constant memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def seal_json(value: Any) -> Any:
    """The value with its checksum under `SEAL`, if it is an object; a list stays as it is."""
    if not isinstance(value, dict):
        return value
    plain = json.loads(json.dumps({k: v for k, v in value.items() if k != SEAL}, allow_nan=False))
    return {**plain, SEAL: f"sha256:{_json_digest(plain)}"}


def open_json(content: bytes) -> Any:
    """The value of a JSON file, without its seal. One without a seal is taken as it is: people write JSON, too."""
    value = json.loads(content)
    if isinstance(value, dict) and SEAL in value:
        given = value.pop(SEAL)
        if given != f"sha256:{_json_digest(value)}":
            raise Damaged("its content does not match its checksum")
    elif SEAL.encode() in content and isinstance(value, dict):
        raise Damaged("its checksum is damaged")
    return value


def _json_digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def seal_parquet(content: bytes) -> bytes:
    """Insert a checksum of all the rest between the data and the footer, where readers of parquet do not look."""
    cut = _footer_start(content)
    digest = hashlib.sha256(content).digest()
    return content[:cut] + _PARQUET_SEAL + digest + content[cut:]


def open_parquet(content: bytes) -> memoryview:
    """The content of a sealed parquet file, after its checksum has been compared."""
    cut = _footer_start(content)
    start = cut - len(_PARQUET_SEAL) - 32
    if start < 0 or content[start : start + len(_PARQUET_SEAL)] != _PARQUET_SEAL:
        raise Damaged("it has no checksum of mediarank")
    digest = hashlib.sha256(memoryview(content)[:start])
    digest.update(memoryview(content)[cut:])
    if digest.digest() != content[cut - 32 : cut]:
        raise Damaged("its content does not match its checksum")
    return memoryview(content)


def _footer_start(content: bytes) -> int:
    """A parquet file ends with its footer, four bytes of the footer's length, and PAR1."""
    if len(content) < 12 or content[:4] != _PARQUET or content[-4:] != _PARQUET:
        raise Damaged("it is no whole parquet file")
    cut = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    if cut < 4:
        raise Damaged("its footer is damaged")
    return cut


def seal_zip(content: bytes) -> bytes:
    """A zip archive without a comment gets a checksum of all the rest as its comment."""
    size = len(_ZIP_SEAL) + 64
    content = content[:-2] + size.to_bytes(2, "little")
    return content + _ZIP_SEAL + hashlib.sha256(content).hexdigest().encode()


def check_zip(path: Path) -> None:
    """Compare the checksum of a zip archive of any size, in constant memory."""
    size = len(_ZIP_SEAL) + 64
    digest = hashlib.sha256()
    with path.open("rb") as file:
        left = path.stat().st_size - size
        while left > 0 and (block := file.read(min(left, 1 << 20))):
            digest.update(block)
            left -= len(block)
        if file.read() != _ZIP_SEAL + digest.hexdigest().encode():
            raise Damaged("its content does not match its checksum")


def open_zip(content: bytes) -> zipfile.ZipFile:
    """A sealed zip archive, after its checksum has been compared."""
    size = len(_ZIP_SEAL) + 64
    if content[-size:-64] != _ZIP_SEAL:
        raise Damaged("it has no checksum of mediarank")
    if hashlib.sha256(memoryview(content)[:-size]).hexdigest().encode() != content[-64:]:
        raise Damaged("its content does not match its checksum")
    return zipfile.ZipFile(io.BytesIO(content))
