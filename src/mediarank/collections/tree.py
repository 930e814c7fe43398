"""The media files below a folder, as item ids; what is passed over is told.

Hidden files and folders are passed over, and so is what is no media by its name. A link to a file stands for the
file. A link to a folder is not followed: DVC does not look behind it, so a change there would go unseen.
"""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from mediarank.collections.listing import escaped
from mediarank.media.sniff import is_media_name
from mediarank.types import DataError

PASSED_OVER = "__MACOSX"
"""What macOS puts beside the content of a zip archive."""


@dataclass
class Tree:
    """files : item id -> the file, in the order of ids; passed_over : why something is not among them -> examples"""

    files: dict[str, Path] = field(default_factory=dict)
    passed_over: dict[str, list[str]] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(f"{len(found)} {why}, such as {found[0]}" for why, found in sorted(self.passed_over.items()))


def media_below(folder: Path) -> Tree:
    """Every media file below `folder`; its id is its path from there, escaped where it must be."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; collection.path in params.yaml must name one.")
    tree = Tree()
    found = {}
    for entry in _entries(folder, tree):
        if is_media_name(Path(entry.name)):
            if entry.is_file():
                found[Path(entry.path).relative_to(folder).as_posix()] = Path(entry.path)
            else:
                _pass_over(tree, "links that lead nowhere", entry)
    taken = Counter(map(escaped, found))
    for path in sorted(found, key=escaped):
        item = escaped(path)
        # Two names that are one when escaped: the one that needed no escaping keeps it.
        while item in tree.files or (taken[item] > 1 and item != path):
            item = str(PurePosixPath(item).with_stem(f"{PurePosixPath(item).stem}~"))
        tree.files[item] = found[path]
    tree.files = dict(sorted(tree.files.items()))
    return tree


def obstacles(folder: Path) -> list[str]:
    """What keeps DVC, which fingerprints every file below the source's folder, from doing so; with the remedy.

    DVC's own messages don't tell which file it is, or what to do.
    """
    found: list[str] = []

    def unreadable(error: OSError) -> None:
        found.append(f"{escaped(str(error.filename))} can't be read ({error.strerror}); permit it, or move it away")

    for place, _, names in os.walk(folder, onerror=unreadable):
        for path in (Path(place, name) for name in sorted(names)):
            if any(unicodedata.category(c) == "Cs" for c in str(path)):
                found.append(f"{escaped(str(path))}: its name is not UTF-8; rename it")
            elif not path.exists():
                found.append(f"{path} is a link that leads nowhere; remove it")
            elif not os.access(path, os.R_OK):
                found.append(f"{path} can't be read; permit it, or move it away")
    return found


def same_name(text: str) -> str:
    """A name in the form in which names are compared: macOS takes accents apart, others don't."""
    return unicodedata.normalize("NFC", text)


def _entries(folder: Path, tree: Tree) -> Iterator[os.DirEntry[str]]:
    """Files and broken links below `folder` that are not hidden."""
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError:
        tree.passed_over.setdefault("folders that can't be read", []).append(escaped(str(folder)))
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name == PASSED_OVER:
            continue
        if not entry.is_dir():
            yield entry
        elif entry.is_symlink():
            _pass_over(tree, "links to folders, which are not followed (point collection.path at the folder)", entry)
        else:
            yield from _entries(Path(entry.path), tree)


def _pass_over(tree: Tree, why: str, entry: os.DirEntry[str]) -> None:
    tree.passed_over.setdefault(why, []).append(escaped(entry.path))
