"""Caltech 101: 8677 pictures of 101 kinds of object, and clutter as distractors.

A class is a folder of `101_ObjectCategories/`. Clutter (`BACKGROUND_Google`) is ranked among the others but is never a
query. `train.txt` and `test.txt`, if they exist, list the pictures of each part; pictures in neither are left out,
except clutter, which is for testing.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Final

from mediarank.collections.listing import Listing
from mediarank.collections.names import Names
from mediarank.collections.tables import make_labels, read_lines
from mediarank.collections.tree import media_below
from mediarank.types import DataError

CATEGORIES: Final = "101_ObjectCategories"
CLUTTER: Final = "BACKGROUND_Google"
LISTS: Final = {"train.txt": "base", "test.txt": "test"}


def recognises(folder: Path) -> bool:
    return _categories(folder) is not None


def read(folder: Path) -> Listing:
    categories = _categories(folder)
    if categories is None:
        raise DataError(f"{folder} holds no folder {CATEGORIES}; unpack it there.")
    tree = media_below(categories)
    class_of = {item: PurePosixPath(item).parts[0] for item in tree.files if "/" in item}
    if not class_of:
        raise DataError(f"{categories} holds no folder with pictures; one folder per class is expected.")
    role_of = _roles(folder, categories, class_of)
    kept = [item for item in class_of if item in role_of] if role_of else list(class_of)
    left_out = len(class_of) - len(kept)
    notes = (f"{left_out} pictures are in neither list and are left out",) if left_out else ()
    asked = [(item,) for item in kept if class_of[item] != CLUTTER]
    return Listing(
        {item: tree.files[item] for item in kept},
        make_labels(
            classes=[(item, class_of[item]) for item in kept],
            queries=asked if len(asked) < len(kept) else [],
            splits=role_of.items(),
        ),
        (*tree.notes, *notes),
    )


def _categories(folder: Path) -> Path | None:
    """The folder of classes: in `folder`, one below, or `folder` itself."""
    found = [folder / CATEGORIES, *sorted(folder.glob(f"*/{CATEGORIES}"))]
    if folder.resolve().name == CATEGORIES or (folder / CLUTTER).is_dir():
        found.insert(0, folder)
    return next((path for path in found if path.is_dir()), None)


def _roles(folder: Path, categories: Path, class_of: dict[str, str]) -> dict[str, str]:
    """Roles by the lists; if there is only one list, the other part is the rest. Empty without lists."""
    lists = {
        role: path for name, role in LISTS.items() for place in (categories, folder) if (path := place / name).is_file()
    }
    if not lists:
        return {}
    names = Names(class_of)
    role_of = {item: role for role, path in lists.items() for item in names.items(map(_below, read_lines(path)))}
    rest = {"base": "test", "test": "base"}[next(iter(lists))] if len(lists) == 1 else None
    for item, name in class_of.items():
        if item not in role_of and (rest or name == CLUTTER):
            role_of[item] = "test" if name == CLUTTER else str(rest)
    return role_of


def _below(line: str) -> str:
    """The path below the folder of classes, with or without that folder; the rest of the line is ignored."""
    return line.split("\t")[0].replace("\\", "/").rpartition(f"{CATEGORIES}/")[2]
