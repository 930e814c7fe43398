"""INRIA Holidays: 1491 photographs in 500 groups of the same place or thing; the first of a group is its query.

Pictures are named by numbers such as 123405.jpg: number // 100 is the group, and the first of a group is the query.
The group is the class, since its pictures are relevant to each other, and keeps them in one role, since they look the
same.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Final

from mediarank.collections.listing import Listing
from mediarank.collections.tables import make_labels
from mediarank.collections.tree import media_below
from mediarank.types import DataError

DIGITS: Final = 6


def recognises(folder: Path) -> bool:
    """Whether all pictures are six-digit numbers, and every group has its first, which ends in 00."""
    numbers = [_number(item) for item in media_below(folder).files]
    if len(numbers) < 2 or None in numbers:
        return False
    found = {number for number in numbers if number is not None}
    return all(number // 100 * 100 in found for number in found)


def read(folder: Path) -> Listing:
    tree = media_below(folder)
    numbers = {item: number for item in tree.files if (number := _number(item)) is not None}
    if not numbers:
        raise DataError(f"{folder} holds no picture named by a number of {DIGITS} digits, such as 100000.jpg.")
    group_of = {item: f"{number // 100:0{DIGITS - 2}d}" for item, number in numbers.items()}
    first: dict[str, str] = {}
    for item in sorted(numbers, key=lambda item: (numbers[item], item)):
        first.setdefault(group_of[item], item)
    others = len(tree.files) - len(numbers)
    notes = (f"{others} pictures are not named by a number of {DIGITS} digits and are left out",) if others else ()
    return Listing(
        {item: tree.files[item] for item in numbers},
        make_labels(
            classes=group_of.items(), groups=group_of.items(), queries=[(item,) for item in sorted(first.values())]
        ),
        (*tree.notes, *notes),
    )


def _number(item: str) -> int | None:
    stem = PurePosixPath(item).stem
    return int(stem) if len(stem) == DIGITS and stem.isdecimal() else None
