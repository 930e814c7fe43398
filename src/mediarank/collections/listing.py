"""The result of reading a source: files by item id, labels and notes; and which item ids are allowed."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mediarank.labels import Labels
from mediarank.types import DataError

if TYPE_CHECKING:
    from mediarank.collections.tree import Skipped


@dataclass(frozen=True)
class Listing:
    """The result of reading a source.

    files : item id (a relative path with forward slashes) -> the original
    labels : of the items
    notes : what the user should know about what was found or left out, one sentence each
    skipped : files that are not used, where the source has counted them
    """

    files: Mapping[str, Path]
    labels: Labels
    notes: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] | None = None

    def __post_init__(self) -> None:
        for item in self.files:
            require_safe(item)


def require_safe(item_id: str) -> None:
    """Refuse an item id that could name a file outside its folder, or that no table can hold."""
    if not item_id or item_id.startswith("/") or ".." in item_id.split("/") or escaped(item_id) != item_id:
        raise DataError(
            f"{item_id!r} can't be an item id: it must be a relative path that stays in its folder, in UTF-8, without "
            "backslashes and control characters."
        )


def escaped(name: str) -> str:
    """A path that any table and file system can hold; only unsafe parts are changed.

    Bytes that are not UTF-8, backslashes, control characters and what looks like a drive become %XX.

    >>> escaped("caf\\udce9/a b.jpg")
    'caf%E9/a b.jpg'
    """
    usual = name.isascii() and name.isprintable() and "\\" not in name
    plain = name if usual else "".join(c if _is_plain(c) else _percent(c) for c in name)
    return plain.replace(":", "%3A", 1) if plain[1:2] == ":" else plain


def _is_plain(character: str) -> bool:
    return character != "\\" and unicodedata.category(character) not in ("Cc", "Cs")


def _percent(character: str) -> str:
    # surrogateescape restores the bytes of a file name; other lone surrogates stand for no bytes.
    try:
        code = character.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        code = character.encode("utf-8", "surrogatepass")
    return "".join(f"%{byte:02X}" for byte in code)
