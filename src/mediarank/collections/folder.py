"""Any folder of pictures, clips and sounds; labels from CSVs beside them, or else from the names of the folders.

Labels are looked for in the folder and in its `labels/`: the canonical CSVs (`classes.csv`, `keywords.csv`, …), or one
simple `labels.csv`. If there are none, the folder that a file is in is its class; and if the folders at the top are
called train, test and the like, they are the split.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from mediarank.collections import label_files
from mediarank.collections.listing import Listing
from mediarank.collections.names import Names
from mediarank.collections.tables import ROLE_WORDS, make_labels
from mediarank.collections.tree import media_below
from mediarank.labels import Labels
from mediarank.types import DataError


def recognises(folder: Path) -> bool:
    return bool(media_below(folder).files)


def read(folder: Path) -> Listing:
    tree = media_below(folder)
    if not tree.files:
        raise DataError(f"{folder} holds no image, clip or sound; collection.path must name a folder that does.")
    canonical, simple = label_files.find(folder)
    if canonical:
        labels = label_files.read_canonical(canonical, Names(tree.files))
    elif simple:
        labels = label_files.read_simple(simple, Names(tree.files))
    else:
        labels = labels_from_folders(tree.files)
    return Listing(tree.files, labels, tree.notes)


def labels_from_folders(items: Iterable[str]) -> Labels:
    """The class is the folder that a file is in, the role that of the folder at the top if all of those name one."""
    paths = [PurePosixPath(item) for item in items]
    tops = {path.parts[0].lower() for path in paths}
    divided = len(tops) > 1 and tops <= set(ROLE_WORDS)
    classes = [(str(path), path.parent.name) for path in paths if len(path.parts) > (2 if divided else 1)]
    if len({name for _, name in classes}) < 2:
        classes = []  # one class says nothing
    return make_labels(
        classes=classes,
        events=label_files.events_of(classes),
        splits=[(str(path), ROLE_WORDS[path.parts[0].lower()]) for path in paths if divided],
    )
