"""PubFig: 772 faces of 8 people, with the strength of 11 attributes per person (Parikh and Grauman's `data.mat`).

`data.mat` holds `im_names`, `class_labels` (from 1), `attribute_names`, `relative_ordering` (attributes × classes,
higher is stronger), `used_for_training` and, sometimes, `class_names`. The pictures are in `images/` beside it. Other
collections in the same form, such as OSR's own `data.mat`, are read in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

import numpy as np

from mediarank.collections.listing import Listing
from mediarank.collections.matlab import matrix, read_mat, texts
from mediarank.collections.names import Names
from mediarank.collections.tables import make_labels
from mediarank.collections.tree import media_below
from mediarank.types import DataError

FILE: Final = "data.mat"
VARIABLES: Final = ("im_names", "class_labels", "attribute_names", "relative_ordering", "used_for_training")


def recognises(folder: Path) -> bool:
    return (folder / FILE).is_file()


def read(folder: Path) -> Listing:
    path = folder / FILE
    found = read_mat(path, *VARIABLES)
    images, attributes = texts(found["im_names"]), texts(found["attribute_names"])
    numbers = matrix(found["class_labels"]).ravel().astype(int)
    training = matrix(found["used_for_training"]).ravel() > 0
    strengths = matrix(found["relative_ordering"])
    for name, length in (("class_labels", len(numbers)), ("used_for_training", len(training))):
        if length != len(images):
            raise DataError(f"{path}: {name} has {length} values, but im_names has {len(images)} names.")
    classes = _class_names(found, images, numbers, strengths.shape[1])
    if strengths.shape != (len(attributes), len(classes)):
        raise DataError(
            f"{path}: relative_ordering is {strengths.shape[0]} × {strengths.shape[1]}, but there are "
            f"{len(attributes)} attributes and {len(classes)} classes."
        )
    outside = numbers[(numbers < 1) | (numbers > len(classes))]
    if len(outside):
        raise DataError(f"{path}: class_labels holds {outside[0]}, but relative_ordering has {len(classes)} columns.")
    tree = media_below(folder)
    names = Names(tree.files)
    items = names.items(images)
    listed = {item: tree.files[item] for item in sorted(set(items)) if item in tree.files}
    unlisted = len(tree.files) - len(listed)
    notes = (f"{unlisted} pictures are not in im_names of {FILE} and are left out",) if unlisted else ()
    return Listing(
        listed,
        make_labels(
            classes=[(item, classes[number - 1]) for item, number in zip(items, numbers, strict=True)],
            orderings=[
                (attribute, name, float(strengths[row, column]))
                for row, attribute in enumerate(attributes)
                for column, name in enumerate(classes)
                if np.isfinite(strengths[row, column])
            ],
            splits=[(item, "base" if used else "test") for item, used in zip(items, training, strict=True)],
        ),
        (*tree.notes, *notes),
    )


def _class_names(found: dict[str, object], images: Sequence[str], numbers: np.ndarray, count: int) -> list[str]:
    """The names in `class_names`, or else the common beginning of the names of a class's pictures."""
    if "class_names" in found:
        return texts(found["class_names"])
    names = []
    for number in range(1, count + 1):
        stems = [PurePosixPath(image).stem for image, n in zip(images, numbers, strict=True) if n == number]
        starts = {re.sub(r"[\W_]*\d+$", "", stem) for stem in stems}
        names.append(starts.pop() if len(starts) == 1 else f"class {number}")
    return names if len(set(names)) == count else [f"class {number}" for number in range(1, count + 1)]
