"""Corel 5K: 4500 training and 499 test pictures with 1 to 5 keywords each, of 50 classes.

`words` lists the words; a line of `training_label` and of `test_label` is a picture's number and its words, as
numbers from 1 into that list. Pictures are named by their number, and number // 1000 is the class. Words that occur in
both parts (`vocabulary_260.txt`) and on at least one picture in 400 are concepts as well; rarer ones can't be in every
role.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Final

from mediarank.collections.listing import Listing
from mediarank.collections.names import Names
from mediarank.collections.tables import make_labels, read_lines
from mediarank.collections.tree import media_below
from mediarank.types import DataError

WORDS: Final = "words"
VOCABULARY: Final = "vocabulary_260.txt"
PARTS: Final = {"training_label": "base", "test_label": "test"}
RAREST_CONCEPT: Final = 400
"""The rarest concept of the paper is on one picture in this many."""


def recognises(folder: Path) -> bool:
    return all((folder / name).is_file() for name in (WORDS, *PARTS))


def read(folder: Path) -> Listing:
    words = read_lines(folder / WORDS)
    tree = media_below(folder)
    names = Names(tree.files)
    keywords: list[tuple[str, str]] = []
    role_of: dict[str, str] = {}
    occurring: dict[str, set[str]] = {}
    for part, role in PARTS.items():
        for number, chosen in _labelled(folder / part, words):
            item = names.item(number)
            role_of[item] = role
            keywords += [(item, word) for word in chosen]
            occurring.setdefault(role, set()).update(chosen)
    files = {item: path for item, path in tree.files.items() if item in role_of}
    if not files:
        raise DataError(
            f"{folder} holds none of the pictures of its labels, which have names such as images/1000.jpeg."
        )
    vocabulary = _vocabulary(folder, occurring)
    shown = Counter(word for item, word in keywords if item in files)
    concepts = {word for word in vocabulary if shown[word] * RAREST_CONCEPT >= len(files)}
    notes = [f"{len(vocabulary)} of {len(words)} words occur in both parts; {len(concepts)} of them are concepts"]
    if len(tree.files) > len(files):
        notes.append(f"{len(tree.files) - len(files)} pictures have no line in a label file and are left out")
    return Listing(
        files,
        make_labels(
            classes=[(item, _class(item)) for item in role_of],
            keywords=dict.fromkeys(keywords),
            concepts=[(item, word, True) for item, word in dict.fromkeys(keywords) if word in concepts],
            splits=role_of.items(),
        ),
        (*tree.notes, *notes),
    )


def _labelled(path: Path, words: list[str]) -> list[tuple[str, list[str]]]:
    """Each line as a picture's number and its words."""
    found = []
    for line, text in enumerate(read_lines(path), start=1):
        number, *indices = text.split()
        if not all(part.isdecimal() for part in (number, *indices)):
            raise DataError(f"{path}, line {line}: expected numbers (a picture and its words), found {text!r}.")
        outside = [index for index in indices if not 1 <= int(index) <= len(words)]
        if outside:
            raise DataError(f"{path}, line {line}: there is no word {outside[0]}; `{WORDS}` lists {len(words)}.")
        found.append((number, [words[int(index) - 1] for index in indices]))
    return found


def _vocabulary(folder: Path, occurring: dict[str, set[str]]) -> set[str]:
    """The words that results are averaged over: those of the file, or else those that occur in both parts."""
    if (folder / VOCABULARY).is_file():
        return set(read_lines(folder / VOCABULARY))
    return set.intersection(*occurring.values()) if occurring else set()


def _class(item: str) -> str:
    return str(int(PurePosixPath(item).stem) // 1000)
