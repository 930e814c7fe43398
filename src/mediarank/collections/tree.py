"""List the media files below a folder as item ids, and count the skipped files by kind and reason.

Hidden files and folders are skipped, and so are files that are not media by their names. A link to a file stands for
the file. A link to a folder is not followed: DVC does not follow it either, so it would not notice changes there.
"""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from mediarank.collections.containment import irregular
from mediarank.collections.listing import escaped
from mediarank.media.sniff import MEDIA_EXTENSIONS, ending_of
from mediarank.types import DataError

MACOS_FOLDER: Final = "__MACOSX"
"""Files that macOS adds to a zip archive."""
SIDECAR: Final = ".xmp"
LABEL_ENDINGS: Final = (".csv", ".tsv", ".json")
LABEL_FOLDERS: Final = ("", "labels", "annotations", "meta")
NOT_MEDIA: Final = "not an image, clip or sound"
HIDDEN: Final = "hidden"
NOWHERE: Final = "the link leads nowhere"
FOLDER_LINK: Final = "links to folders are not followed; point collection.path at the folder"
UNREADABLE: Final = "the folder can't be read"


@dataclass(frozen=True)
class Skipped:
    """Files of one kind (an extension, or `link`, `folder`) that are skipped for one reason."""

    kind: str
    reason: str
    files: int
    example: str


@dataclass
class Tree:
    """The files below a folder.

    files : item id -> the file, in the order of ids
    sidecars : path from the folder -> the XMP file
    skipped : (kind, reason) -> paths from the folder
    """

    files: dict[str, Path] = field(default_factory=dict)
    sidecars: dict[str, Path] = field(default_factory=dict)
    skipped: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def counted(self) -> list[Skipped]:
        return [Skipped(kind, why, len(found), found[0]) for (kind, why), found in sorted(self.skipped.items())]

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be followed or read, one sentence per reason."""
        return self._notes((FOLDER_LINK, NOWHERE, UNREADABLE))

    @property
    def other_files(self) -> tuple[str, ...]:
        """Hidden files and files that are not media, one sentence per reason."""
        return self._notes((NOT_MEDIA, HIDDEN))

    def _notes(self, reasons: tuple[str, ...]) -> tuple[str, ...]:
        notes = []
        for reason in sorted(why for why in reasons if why in {found for _, found in self.skipped}):
            rows = [row for row in self.counted() if row.reason == reason]
            kinds = ", ".join(f"{row.kind} {row.files}" for row in sorted(rows, key=lambda row: -row.files)[:8])
            count = sum(row.files for row in rows)
            notes.append(f"skipped {count} ({kinds}): {reason}, such as {rows[0].example}")
        return tuple(notes)


def media_below(folder: Path) -> Tree:
    """Every media file below `folder`; its id is its path from there, escaped if necessary."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; collection.path in params.yaml must name one.")
    tree = Tree()
    found = {}
    for entry, place, above in _entries(folder, "", tree):
        ending = ending_of(entry.name)
        if not entry.is_file():
            if ending in MEDIA_EXTENSIONS:
                _skip(tree, "link" if entry.is_symlink() else ending, NOWHERE, place)
        elif ending in MEDIA_EXTENSIONS:
            found[place] = above / entry.name  # twice as fast as Path(entry.path)
        elif ending == SIDECAR:
            tree.sidecars[escaped(place)] = Path(entry.path)
        elif not (ending in LABEL_ENDINGS and place.rpartition("/")[0] in LABEL_FOLDERS):
            _skip(tree, ending or "no ending", NOT_MEDIA, place)
    plain = {name: escaped(name) for name in found}
    taken = Counter(plain.values())
    for name in sorted(found, key=plain.__getitem__):
        item = plain[name]
        # If two names are equal once escaped, the one that needed no escaping keeps its name.
        while item in tree.files or (taken[item] > 1 and item != name):
            item = str(PurePosixPath(item).with_stem(f"{PurePosixPath(item).stem}~"))
        tree.files[item] = found[name]
    if len(taken) < len(plain):  # some were renamed
        tree.files = dict(sorted(tree.files.items()))
    return tree


def obstacles(folder: Path) -> list[str]:
    """What stops DVC from hashing the files below the source's folder, with the remedy.

    DVC's own messages do not say which file it is, or what to do.
    """
    found: list[str] = []

    def unreadable(error: OSError) -> None:
        found.append(
            f"{escaped(str(error.filename))} can't be read ({error.strerror}); make it readable or move it away"
        )

    for place, _, names in os.walk(folder, onerror=unreadable):
        for path in (Path(place, name) for name in sorted(names)):
            if any(unicodedata.category(c) == "Cs" for c in str(path)):
                found.append(f"{escaped(str(path))}: its name is not UTF-8; rename it")
            elif kind := irregular(path):
                found.append(f"{path} is {kind}; move it away")
            elif not path.exists():
                found.append(f"{path} is a link that leads nowhere; remove it")
            elif not os.access(path, os.R_OK):
                found.append(f"{path} can't be read; make it readable, or move it away")
    return found


def same_name(text: str) -> str:
    """A name in the form used for comparison: macOS decomposes accents, other systems don't."""
    return unicodedata.normalize("NFC", text)


def _entries(folder: Path, above: str, tree: Tree) -> Iterator[tuple[os.DirEntry[str], str, Path]]:
    """Files and broken links below `folder` that are not hidden, with their paths from the top and their folders.

    above : the path of `folder` from the top, with a slash at its end
    """
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError:
        _skip(tree, "folder", UNREADABLE, above.rstrip("/") or ".")
        return
    for entry in entries:
        place = above + entry.name
        if entry.name.startswith(".") or entry.name == MACOS_FOLDER:
            _skip(tree, "folder" if entry.is_dir() else ending_of(entry.name) or "file", HIDDEN, place)
        elif not entry.is_dir():
            yield entry, place, folder
        elif entry.is_symlink():
            _skip(tree, "link", FOLDER_LINK, place)
        else:
            yield from _entries(folder / entry.name, f"{place}/", tree)


def _skip(tree: Tree, kind: str, reason: str, place: str) -> None:
    tree.skipped.setdefault((kind, reason), []).append(escaped(place))
