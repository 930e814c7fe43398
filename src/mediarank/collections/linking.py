"""Link originals into `data/raw` without copying their content, so that they can't be changed through the link.

A reflink shares the original's blocks until one of the two is written to, and is used where the file system supports
it. Elsewhere a symbolic link is used. Never a hard link: it would also share the original's mode, which DVC changes
(docs/decisions/0002-linking-originals.md). A copy is the last resort.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

FICLONE: Final = 0x40049409
"""The Linux ioctl that makes one file share another's blocks: _IOW(0x94, 9, int)."""


def link_into(files: Mapping[str, Path], folder: Path) -> None:
    """Make each original appear below `folder` under its item id."""
    for item, original in files.items():
        target = folder / item
        target.parent.mkdir(parents=True, exist_ok=True)
        _link(original.resolve(), target)


def _link(original: Path, target: Path) -> None:
    if _reflink(original, target):
        return
    try:
        target.symlink_to(original)
    except OSError:
        shutil.copyfile(original, target)


def _reflink(original: Path, target: Path) -> bool:
    """Make `target` share the blocks of `original`; if it can't, return False and leave no `target`."""
    try:
        with original.open("rb") as source, target.open("wb") as clone:
            fcntl.ioctl(clone.fileno(), FICLONE, source.fileno())
    except OSError:
        target.unlink(missing_ok=True)
        return False
    return True
