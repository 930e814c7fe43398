"""Check what a folder contains before opening it: only regular files inside it, unless the user allows links.

A link that leaves the collection would bring a foreign file into DVC's cache, and from there to a remote. Opening a
pipe, socket or device would hang. No file is opened here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from mediarank.types import DataError

SHOWN: Final = 3
_KINDS: Final = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def irregular(path: Path) -> str:
    """The kind of a path that is neither a file, a folder nor a broken link; empty otherwise."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return ""
    return next((name for test, name in _KINDS if test(mode)), "")


def irregular_below(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every pipe, socket and device below a folder, with its kind."""
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listed:
                entries = list(listed)
        except OSError:  # a folder that can't be read is reported elsewhere
            continue
        waiting += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        odd = [Path(entry.path) for entry in entries if not entry.is_file() and not entry.is_dir()]
        yield from ((path, kind) for path in sorted(odd) if (kind := irregular(path)))


def require_regular(folder: Path) -> None:
    """Refuse a folder that would make DVC hang."""
    found = list(irregular_below(folder)) if folder.is_dir() else []
    if found:
        shown = ", ".join(f"{path} ({kind})" for path, kind in found[:SHOWN])
        raise DataError(
            f"{len(found)} files below {folder} are pipes, sockets or devices, which DVC can't read: {shown}. Move "
            "them out of the folder that collection.path names."
        )


class RealPaths:
    """Real paths of many files; each folder is looked up and listed once, below the one above it."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}
        self._links: dict[str, frozenset[str]] = {}

    def __call__(self, path: Path) -> str:
        folder, _, name = str(path).rpartition(os.sep)
        return str(path.resolve()) if not folder or self._is_link(folder, name) else self._inside(folder, name)

    def _is_link(self, folder: str, name: str) -> bool:
        if folder not in self._links:
            try:
                with os.scandir(folder) as entries:
                    self._links[folder] = frozenset(entry.name for entry in entries if entry.is_symlink())
            except OSError:  # its files may be opened, but not listed
                return os.path.islink(f"{folder}{os.sep}{name}")  # noqa: PTH114
        return name in self._links[folder]

    def _inside(self, folder: str, name: str) -> str:
        """The real path of what is in a folder and no link."""
        if folder not in self._folders:
            above, _, own = folder.rpartition(os.sep)
            plain = above and own not in ("", ".", "..") and not os.path.islink(folder)  # noqa: PTH114
            self._folders[folder] = self._inside(above, own) if plain else str(Path(folder).resolve())
        return f"{self._folders[folder].rstrip(os.sep)}{os.sep}{name}"


def require_inside(files: Mapping[str, Path], folder: Path, follow_links: bool) -> None:
    """Refuse items whose file is a link out of the collection, unless links may be followed."""
    if follow_links:
        return
    home, real_path = f"{folder.resolve()}{os.sep}", RealPaths()
    leaving = [item for item, path in files.items() if not real_path(path).startswith(home)]
    if leaving:
        shown = ", ".join(f"{item} -> {files[item].resolve()}" for item in leaving[:SHOWN])
        raise DataError(
            f"{len(leaving)} of {len(files)} items are links that leave {folder}: {shown}. If you made them, set "
            "collection.follow_links: true in params.yaml; otherwise remove them. Nothing was copied."
        )
