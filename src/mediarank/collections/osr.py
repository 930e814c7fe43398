"""Outdoor Scene Recognition: 2688 scenes of 8 classes, with the strength of 6 attributes per class.

`relative_ordering.csv` has one line per attribute and one column per class; higher is stronger, equal is tied. The
class of a picture is the start of its name, up to the first underscore. `train_images.txt` lists the pictures to train
on; all others are for testing.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Final

from mediarank.collections.listing import Listing
from mediarank.collections.names import Names
from mediarank.collections.tables import make_labels, number, read_csv, read_lines
from mediarank.collections.tree import media_below
from mediarank.types import DataError

ORDERING: Final = "relative_ordering.csv"
TRAINING: Final = "train_images.txt"


def recognises(folder: Path) -> bool:
    return (folder / ORDERING).is_file()


def read(folder: Path) -> Listing:
    table = read_csv(folder / ORDERING)
    attributes, classes = table.column("attribute"), [name for name in table.columns if name != "attribute"]
    strengths = {name: table.converted(name, number) for name in classes}
    tree = media_below(folder)
    prefix = {item: PurePosixPath(item).name.partition("_")[0] for item in tree.files}
    known = {name: name for name in classes}
    class_of = {item: known[name.lower()] for item, name in prefix.items() if name.lower() in known}
    if not class_of:
        raise DataError(
            f"No picture in {folder} is named after a class of {ORDERING} ({', '.join(classes)}); names "
            f"such as images/{classes[0] if classes else 'coast'}_001.jpg are expected."
        )
    return Listing(
        tree.files,
        make_labels(
            classes=class_of.items(),
            orderings=[
                (attribute, name, strengths[name][k]) for k, attribute in enumerate(attributes) for name in classes
            ],
            splits=_splits(folder, list(tree.files)),
        ),
        tree.notes,
    )


def _splits(folder: Path, items: list[str]) -> list[tuple[str, str]]:
    if not (folder / TRAINING).is_file():
        return []
    training = dict.fromkeys(Names(items).items(read_lines(folder / TRAINING)))
    return [*((item, "base") for item in training), *((item, "test") for item in items if item not in training)]
