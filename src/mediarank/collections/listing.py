"""What a source offers: files by item id, and labels. Linking them into `data/raw` is the same for every source."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mediarank.types import DataError, Labels


@dataclass(frozen=True)
class Listing:
    """files : item id (a relative path with forward slashes) -> the original; labels : what is said of them"""

    files: Mapping[str, Path]
    labels: Labels

    def __post_init__(self) -> None:
        for item in self.files:
            require_safe(item)


def require_safe(item_id: str) -> None:
    """Refuse an item id that could name a file outside its folder."""
    path = PurePosixPath(item_id)
    if not item_id or path.is_absolute() or ".." in path.parts or "\0" in item_id or "\\" in item_id:
        raise DataError(f"{item_id!r} can't be an item id: it must be a relative path that stays in its folder.")


def link_into(listing: Listing, folder: Path) -> None:
    """Hard-link each original below `folder`, or copy it where the file system can't link."""
    for item, original in listing.files.items():
        target = folder / item
        target.parent.mkdir(parents=True, exist_ok=True)
        source = original.resolve()
        try:
            os.link(source, target)
        except OSError:
            shutil.copyfile(source, target)
