"""UT-Zap50K: 50,025 catalogue pictures of shoes, with pairs ordered or equal in 4 attributes.

The pictures are in a tree `ut-zap50k-images*/category/subcategory/brand/product.colour.jpg`. `zappos-labels*.mat` hold
one cell per attribute, with rows of image 1, image 2, attribute, judgment (1: the first has more, 2: less, 3: as much).
Images are numbered from 1 in the order of `image-path.mat`, or of the column CID of `meta-data.csv`. The class is the
category; the colours of one product are one group. Pairs of the fine-grained file are read like the others; only
`benchmarks/attributes_zappos.py` keeps the two sets of pairs apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

import numpy as np
import numpy.typing as npt

from mediarank.collections.listing import Listing
from mediarank.collections.matlab import cells, read_mat, texts
from mediarank.collections.names import Names
from mediarank.collections.tables import make_labels, read_csv
from mediarank.collections.tree import media_below
from mediarank.types import DataError

ATTRIBUTES: Final = ("open", "pointy", "sporty", "comfort")
JUDGMENTS: Final = ("mturkOrder", "mturkEqual", "mturkHard")
LABELS: Final = "zappos-labels*.mat"
PLACES: Final = ("", "ut-zap50k-data", "data", "*", "*/*")
"""Where to look for the files: the dataset's own archives, or similar names."""

Pair = tuple[str, str, str, str]


def recognises(folder: Path) -> bool:
    return bool(find(folder, LABELS))


def read(folder: Path) -> Listing:
    labels = find(folder, LABELS)
    if not labels:
        raise DataError(f"{folder} holds no {LABELS}; unpack ut-zap50k-data.zip there.")
    root = _images(folder)
    tree = media_below(root)
    items = {f"{root.name}/{item}": path for item, path in tree.files.items()}
    images = numbered_images(folder, Names(items))
    pairs = [pair for path in labels for pair in judged_pairs(path, images)]
    if not pairs:
        raise DataError(f"{', '.join(p.name for p in labels)} hold none of {', '.join(JUDGMENTS)}.")
    return Listing(
        items,
        make_labels(
            classes=[(item, PurePosixPath(item).parts[1]) for item in items if len(PurePosixPath(item).parts) > 2],
            pairs=dict.fromkeys(pairs),
            groups=[(item, f"product {PurePosixPath(item).name.partition('.')[0]}") for item in items],
        ),
        tree.notes,
    )


def find(folder: Path, pattern: str) -> list[Path]:
    """Files that match the pattern in the first place that has any."""
    return next((found for place in PLACES if (found := sorted(folder.glob(f"{place}/{pattern}".lstrip("/"))))), [])


def _images(folder: Path) -> Path:
    found = [path for pattern in ("ut-zap50k-images*", "images*") for path in find(folder, pattern) if path.is_dir()]
    if not found:
        raise DataError(f"{folder} holds no folder ut-zap50k-images; unpack ut-zap50k-images.zip there.")
    return found[0]


def numbered_images(folder: Path, names: Names) -> list[str]:
    """The items in the order in which the pairs number them."""
    paths, meta = find(folder, "image-path.mat"), find(folder, "meta-data.csv")
    if paths:
        listed = texts(read_mat(paths[0], "imagepath")["imagepath"])
        # Some systems drop the dot at the end of a brand's folder; then the file's own name is enough.
        return [item if (item := names.item(p)) in names else names.item(PurePosixPath(p).name) for p in listed]
    if meta:
        return names.items(cid.replace("-", ".") for cid in read_csv(meta[0]).column("cid"))
    raise DataError(
        f"{folder} holds neither image-path.mat nor meta-data.csv, so the numbers in the pairs can't be resolved; both "
        "are in ut-zap50k-data.zip."
    )


def judged_pairs(path: Path, images: list[str], judgments: Sequence[str] = JUDGMENTS) -> Iterator[Pair]:
    """The pairs of a file of labels, attribute by attribute, in the file's order."""
    variables = read_mat(path)
    for name in judgments:
        for position, rows in enumerate(cells(variables[name]) if name in variables else ()):
            if rows.size and rows.shape[1] < 4:
                raise DataError(f"{path}: {name} has rows of {rows.shape[1]} values; 4 or more are expected.")
            for row in rows if rows.size else ():
                yield _pair(row, position, images, f"{path}: {name}")


def _pair(row: npt.NDArray[np.float64], position: int, images: list[str], where: str) -> Pair:
    if not np.isfinite(row[:4]).all():
        raise DataError(f"{where} has a row without a number: {row[:4].tolist()}.")
    one, other, attribute, judgment = (int(value) for value in row[:4])
    attribute = attribute or position + 1
    if not 1 <= attribute <= len(ATTRIBUTES):
        raise DataError(f"{where} mentions attribute {attribute}; they are numbered from 1 to {len(ATTRIBUTES)}.")
    for number in (one, other):
        if not 1 <= number <= len(images):
            raise DataError(f"{where} mentions image {number}, but image-path.mat lists {len(images)}.")
    if judgment not in (1, 2, 3):
        raise DataError(f"{where} holds the judgment {judgment}; 1 (more), 2 (less) or 3 (equal) is expected.")
    first, second = (images[other - 1], images[one - 1]) if judgment == 2 else (images[one - 1], images[other - 1])
    return ATTRIBUTES[attribute - 1], first, second, "=" if judgment == 3 else ">"
