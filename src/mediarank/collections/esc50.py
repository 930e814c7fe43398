"""ESC-50: 2000 five-second sounds of 50 classes in 5 folds (or its part ESC-10).

Either the dataset's own layout, `meta/esc50.csv` (filename, fold, category, src_file) and `audio/`, or a `labels.csv`
with the columns path, label and fold. Sounds cut from one recording are one group.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Final

from mediarank.collections import label_files
from mediarank.collections.listing import Listing
from mediarank.collections.names import Names
from mediarank.collections.tables import make_labels, read_csv
from mediarank.collections.tree import media_below
from mediarank.types import DataError

TABLES: Final = ("meta/esc50.csv", "esc50.csv", "labels.csv", "meta/labels.csv")
NAME: Final = re.compile(r"^\d+-(?P<recording>\d+)-[A-Z]-\d+$")
"""Fold, recording, take and class in a file's name, such as 1-172649-B-40.wav."""


def recognises(folder: Path) -> bool:
    """The dataset's own table, or a labels.csv with folds whose files are named as the dataset names them."""
    path = _table(folder)
    if path is None:
        return False
    if path.name == "esc50.csv":
        return True
    table = read_csv(path)
    if not (table.find(*label_files.ITEM) and table.find(*label_files.CLASS) and table.find(*label_files.FOLD)):
        return False
    named = [PurePosixPath(name).stem for name in table.column(*label_files.ITEM)]
    return bool(named) and all(NAME.match(stem) for stem in named)


def read(folder: Path) -> Listing:
    path = _table(folder)
    if path is None:
        raise DataError(f"{folder} holds neither meta/esc50.csv nor a labels.csv with the columns path, label, fold.")
    table = read_csv(path)
    tree = media_below(folder)
    items = Names(tree.files).items(table.column(*label_files.ITEM))
    # The dataset's own table calls the class category, and has a column that looks like a label but is a number.
    classes = table.column("category", *label_files.CLASS)
    folds = table.column(*label_files.FOLD)
    listed = set(items)
    files = {item: original for item, original in tree.files.items() if item in listed}
    if not files:
        raise DataError(
            f"{folder} holds none of the sounds that {path.name} names, such as {items[0] if items else ''}."
        )
    unlisted = len(tree.files) - len(files)
    notes = (f"{unlisted} sounds are not in {path.name} and are left out",) if unlisted else ()
    return Listing(
        files,
        make_labels(
            classes=zip(items, classes, strict=True),
            groups=[(item, f"recording {m['recording']}") for item in items if (m := NAME.match(_stem(item)))],
            splits=[(item, "", fold) for item, fold in zip(items, folds, strict=True) if fold],
        ),
        (*tree.notes, *notes),
    )


def _table(folder: Path) -> Path | None:
    return next((path for name in TABLES if (path := folder / name).is_file()), None)


def _stem(item: str) -> str:
    return PurePosixPath(item).stem
