"""Pictures with keywords as JSON lists, one per part: the layout of IAPR TC-12 and the ESP game.

`*train*.json`, `*test*.json` (and `*val*.json`) hold `{"samples": [{"image_name": …, "image_labels": […]}, …]}`, or the
list alone. Labels are words, or numbers into the vocabulary: a text file or JSON list named like `*vocab*`, `*dict*`,
`*words*` or `labels.*`, or `"labels"` in the lists themselves. Pictures are anywhere below the folder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from mediarank.collections.listing import Listing
from mediarank.collections.names import Names
from mediarank.collections.tables import make_labels, read_lines, read_text
from mediarank.collections.tree import media_below
from mediarank.types import DataError

PARTS: Final = {"train": "base", "val": "valid", "test": "test"}
VOCABULARY: Final = ("*vocab*", "*dict*", "*words*", "labels.*", "*labels.json", "*labels.txt")
EXPECTED: Final = '{"samples": [{"image_name": "1.jpg", "image_labels": ["sky"]}]}'


def is_keyword_lists(folder: Path) -> bool:
    """Whether there are JSON lists for training and test in this layout."""
    lists = _lists(folder)
    return {"train", "test"} <= set(lists) and all(_looks_right(path) for path in lists.values())


def mentions(folder: Path, word: str) -> bool:
    """Whether the name of the folder or of one of its lists contains `word`."""
    return any(word in path.name.lower() for path in (folder.resolve(), *_lists(folder).values()))


def read_keyword_lists(folder: Path) -> Listing:
    lists = _lists(folder)
    for part in ("train", "test"):
        if part not in lists:
            raise DataError(f"{folder} holds no *{part}*.json; expected is a list such as {EXPECTED}.")
    contents = {part: _read(path) for part, path in lists.items()}
    samples = {part: _samples(contents[part], path) for part, path in lists.items()}
    vocabulary = _vocabulary(folder, contents)
    tree = media_below(folder)
    names = Names(tree.files)
    keywords: dict[tuple[str, str], None] = {}
    role_of: dict[str, str] = {}
    shift = _shift({label for found in samples.values() for _, labels in found for label in labels}, vocabulary, folder)
    for part, found in samples.items():
        for name, labels in found:
            item = names.item(name)
            role_of[item] = PARTS[part]
            words = (vocabulary[label - shift] if isinstance(label, int) else str(label).strip() for label in labels)
            keywords |= dict.fromkeys((item, word) for word in words if word)
    files = {item: path for item, path in tree.files.items() if item in role_of}
    if not files:
        raise DataError(f"{folder} holds none of the pictures that its lists name, such as {next(iter(role_of), '')}.")
    unlisted = len(tree.files) - len(files)
    notes = (f"{unlisted} pictures are in no list and are left out",) if unlisted else ()
    return Listing(files, make_labels(keywords=keywords, splits=role_of.items()), (*tree.notes, *notes))


def _lists(folder: Path) -> dict[str, Path]:
    """part -> its list, in the folder or one below."""
    found: dict[str, Path] = {}
    for path in sorted([*folder.glob("*.json"), *folder.glob("*/*.json")], key=lambda p: (len(p.parts), p)):
        for part in PARTS:
            if part in path.stem.lower():
                found.setdefault(part, path)
                break
    return {part: found[part] for part in PARTS if part in found}


def _looks_right(path: Path) -> bool:
    with path.open("rb") as file:
        return b"image_name" in file.read(4096)


def _read(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise DataError(f"{path} is not JSON ({error}); expected is {EXPECTED}.") from None


def _samples(content: Any, path: Path) -> list[tuple[str, list[Any]]]:
    """(name, labels) of each sample."""
    samples = content.get("samples") if isinstance(content, dict) else content
    if not isinstance(samples, list):
        raise DataError(f"{path} holds no list of samples; expected is {EXPECTED}.")
    found = []
    for position, sample in enumerate(samples):
        if not (isinstance(sample, dict) and {"image_name", "image_labels"} <= set(sample)):
            raise DataError(f"{path}, sample {position}: image_name and image_labels are expected, found {sample!r}.")
        labels = sample["image_labels"] or []
        if isinstance(labels, str):
            labels = labels.split(",") if "," in labels else labels.split()
        if not (isinstance(labels, list) and all(isinstance(label, str | int) for label in labels)):
            raise DataError(f"{path}, sample {position}: image_labels must be a list of words or numbers.")
        found.append((str(sample["image_name"]), labels))
    return found


def _vocabulary(folder: Path, contents: dict[str, Any]) -> list[str]:
    for content in contents.values():
        if isinstance(content, dict) and isinstance(content.get("labels"), list):
            return [str(word) for word in content["labels"]]
    lists = set(_lists(folder).values())
    for path in (p for pattern in VOCABULARY for p in sorted(folder.glob(pattern)) if p.is_file() and p not in lists):
        if path.suffix.lower() != ".json":
            return read_lines(path)
        words = _read(path)
        words = words.get("labels", list(words)) if isinstance(words, dict) else words
        return [str(word) for word in words]
    return []


def _shift(labels: set[Any], vocabulary: list[str], folder: Path) -> int:
    """0 if numbers count from 0, 1 if they count from 1; numbers outside the vocabulary are an error."""
    numbers = {label for label in labels if isinstance(label, int)}
    shift = 1 if len(vocabulary) in numbers and 0 not in numbers else 0
    outside = sorted(n for n in numbers if not 0 <= n - shift < len(vocabulary))
    if outside:
        raise DataError(
            f"{folder}: a list mentions label {outside[0]}, but the vocabulary has {len(vocabulary)} words."
        )
    return shift
