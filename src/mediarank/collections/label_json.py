"""Labels as annotation programs export them in JSON: COCO, Label Studio and FiftyOne.

A file is recognised by its structure, not by its name. Whole-picture labels become keywords, or classes if every item
has exactly one; boxes become regions, and their names keywords; stars become orderings of the attribute `rating`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from mediarank.collections.merging import Found
from mediarank.collections.names import Names
from mediarank.collections.tables import make_labels, read_text
from mediarank.labels import Labels
from mediarank.types import DataError

PLACES: Final = ("", "labels", "annotations")
MAX_BYTES: Final = 1024**3
RATING: Final = "rating"
MANY_ANSWERS: Final = ("keywords", "tags")
"""Questions whose answers are keywords, even if every item has exactly one."""
_UPLOAD: Final = re.compile(r"^[0-9a-f]{8}-")


@dataclass
class _Rows:
    """Rows as they are found; `single` holds labels of which an item has exactly one, by the question they answer."""

    names: Names
    keywords: dict[tuple[str, str], None] = field(default_factory=dict)
    single: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    regions: dict[tuple[Any, ...], None] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    ratings: dict[str, float] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def item(self, text: str) -> str:
        """The item behind a path, a link or the name of an upload."""
        parts = urlsplit(text)
        local = parse_qs(parts.query).get("d", [""])[0] or unquote(parts.path or text)
        for candidate in (text, local, Path(local).name, _UPLOAD.sub("", Path(local).name)):
            item = self.names.item(candidate)
            if item in self.names:
                self.seen.add(item)
                return item
        item = self.names.item(local)
        self.seen.add(item)
        return item

    def region(self, item: str, name: str, box: Iterable[Any]) -> None:
        """A box in fractions of the picture; an impossible box is left out, its name is kept."""
        self.keywords[item, name] = None
        try:
            left, top, width, height = (round(float(value), 6) for value in box)
        except (TypeError, ValueError):
            return
        sane = all(map(math.isfinite, (left, top, width, height))) and width > 0 and height > 0
        if sane and -0.01 <= left <= 1 and -0.01 <= top <= 1 and width <= 1.01 and height <= 1.01:
            self.regions[item, name, max(left, 0.0), max(top, 0.0), min(width, 1.0), min(height, 1.0)] = None

    def choose(self, question: str, item: str, answers: Iterable[Any]) -> None:
        self.single.setdefault(question, {}).setdefault(item, []).extend(_text(a) for a in answers if _text(a))

    def labels(self) -> Labels:
        """The tables. The first question with one answer per item gives the classes, others give keywords."""
        classes: dict[str, str] = {}
        for question, answers in self.single.items():
            alone = question not in MANY_ANSWERS and all(len(set(words)) == 1 for words in answers.values())
            if alone and not classes and len({words[0] for words in answers.values()}) > 1:
                classes = {item: words[0] for item, words in answers.items()}
            else:
                self.keywords |= dict.fromkeys((item, word) for item, words in answers.items() for word in words)
        return make_labels(
            classes=classes.items(),
            keywords=self.keywords,
            regions=self.regions,
            titles=self.titles.items(),
            orderings=[(RATING, item, stars) for item, stars in self.ratings.items()],
        )


def found_in(folder: Path, names: Names) -> tuple[list[Found], list[str]]:
    """The labels in the JSON files of the folder, `labels/` and `annotations/`; and files in other formats."""
    found, unknown = [], []
    for place in PLACES:
        for path in sorted((folder / place).glob("*.json")):
            if not path.is_file() or path.name.startswith("."):
                continue
            read = read_json(path, names)
            if read is None:
                unknown.append(path.relative_to(folder).as_posix())
            else:
                found.append(read)
    return found, unknown


def read_json(path: Path, names: Names) -> Found | None:
    """The labels of one file; None if its format is unknown."""
    if path.stat().st_size > MAX_BYTES:
        raise DataError(f"{path} has more than {MAX_BYTES:,} bytes; export the labels in parts.")
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError):
        return None
    for form, (recognises, read) in FORMATS.items():
        if recognises(content):
            rows = _Rows(names)
            try:
                read(content, rows)
            except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
                raise DataError(
                    f"{path} looks like an export of {form}, but can't be read ({type(error).__name__}: {error}); "
                    "export it again, or move it out of the folder."
                ) from None
            labels = rows.labels()
            met = sum(item in names for item in rows.seen)
            gave = ", ".join(f"{len(t)} {name}" for name, t in labels.tables.items() if len(t)) or "no label"
            preview = f"{path.name}: {form}, {met} of {len(rows.seen)} files found: {gave}"
            return Found(path.name, labels, preview)
    return None


def _read_coco(content: Mapping[str, Any], rows: _Rows) -> None:
    categories = {c["id"]: _text(c["name"]) for c in content.get("categories") or ()}
    pictures = {}
    for picture in content["images"]:
        size = float(picture.get("width") or 0), float(picture.get("height") or 0)
        pictures[picture["id"]] = rows.item(str(picture["file_name"])), *size
    for entry in content["annotations"]:
        if entry.get("image_id") not in pictures:
            continue
        item, width, height = pictures[entry["image_id"]]
        if entry.get("caption"):
            rows.titles.setdefault(item, _text(entry["caption"]))
        name = categories.get(entry.get("category_id"), "")
        if not name:
            continue
        box = entry.get("bbox")
        if box and width > 0 and height > 0:
            left, top, wide, high = (float(value) for value in box)
            rows.region(item, name, (left / width, top / height, wide / width, high / height))
        else:
            rows.keywords[item, name] = None


def _read_label_studio(content: list[Mapping[str, Any]], rows: _Rows) -> None:
    for task in content:
        data = task["data"] if isinstance(task.get("data"), Mapping) else task
        link = next((str(data[key]) for key in ("image", "video", "audio", "img", "url") if data.get(key)), "")
        if not link:
            continue
        item = rows.item(link)
        done = [a for a in task.get("annotations") or task.get("completions") or () if not a.get("was_cancelled")]
        for annotation in done:
            for result in annotation.get("result") or ():
                _label_studio_value(item, str(result.get("from_name", "")), result.get("value") or {}, rows)
        if not done and data is task:  # the short form: one key per question
            for question, value in task.items():
                entries = value if isinstance(value, list) else [value]
                if all(isinstance(entry, Mapping) for entry in entries):
                    for entry in entries:
                        _label_studio_value(item, question, entry, rows)
                elif isinstance(value, str) and question in ("choice", "label", "class"):
                    rows.choose(question, item, [value])


def _label_studio_value(item: str, question: str, value: Mapping[str, Any], rows: _Rows) -> None:
    box = [float(value[key]) / 100 for key in ("x", "y", "width", "height")] if "width" in value else None
    for key, answer in value.items():
        if key == "choices":
            rows.choose(question, item, answer if isinstance(answer, list) else [answer])
        elif key == "taxonomy":
            rows.keywords |= dict.fromkeys((item, _text(path[-1])) for path in answer if path)
        elif key == "rating":
            rows.ratings[item] = float(answer)
        elif key.endswith("labels") and isinstance(answer, list):
            for name in filter(None, map(_text, answer)):
                if box:
                    rows.region(item, name, box)
                else:
                    rows.keywords[item, name] = None


def _read_fiftyone(content: Mapping[str, Any], rows: _Rows) -> None:
    for sample in content["samples"]:
        item = rows.item(str(sample["filepath"]))
        rows.keywords |= dict.fromkeys((item, _text(tag)) for tag in sample.get("tags") or () if _text(tag))
        for question, value in sample.items():
            if isinstance(value, Mapping):
                _fiftyone_value(item, question, value, rows)


def _fiftyone_value(item: str, question: str, value: Mapping[str, Any], rows: _Rows) -> None:
    if value.get("_cls") == "Classification" and value.get("label"):
        rows.choose(question, item, [value["label"]])
    for entry in value.get("classifications") or ():
        rows.keywords[item, _text(entry["label"])] = None
    for entry in value.get("detections") or ():
        rows.region(item, _text(entry["label"]), entry.get("bounding_box") or ())


def _read_fiftyone_labels(content: Mapping[str, Any], rows: _Rows) -> None:
    classes = content.get("classes") or []

    def name(label: Any) -> str:
        return _text(classes[label] if isinstance(label, int) else label)

    for stem, said in content["labels"].items():
        item = rows.item(str(stem))
        for entry in said if isinstance(said, list) else [said]:
            if isinstance(entry, Mapping) and "bounding_box" in entry:
                rows.region(item, name(entry["label"]), entry["bounding_box"])
            elif entry is not None:
                answer = name(entry["label"] if isinstance(entry, Mapping) else entry)
                if isinstance(said, list):
                    rows.keywords[item, answer] = None
                else:
                    rows.choose("label", item, [answer])


def _is_coco(content: Any) -> bool:
    return isinstance(content, Mapping) and isinstance(content.get("images"), list) and "annotations" in content


def _is_label_studio(content: Any) -> bool:
    if not (isinstance(content, list) and content and isinstance(content[0], Mapping)):
        return False
    first = content[0]
    raw = isinstance(first.get("data"), Mapping) and ("annotations" in first or "completions" in first)
    return raw or ("annotation_id" in first and "id" in first)


def _is_fiftyone(content: Any) -> bool:
    samples = content.get("samples") if isinstance(content, Mapping) else None
    return isinstance(samples, list) and all(isinstance(s, Mapping) and "filepath" in s for s in samples[:1])


def _is_fiftyone_labels(content: Any) -> bool:
    return isinstance(content, Mapping) and isinstance(content.get("labels"), Mapping)


FORMATS: Final[Mapping[str, tuple[Callable[[Any], bool], Callable[[Any, _Rows], None]]]] = {
    "COCO": (_is_coco, _read_coco),
    "Label Studio": (_is_label_studio, _read_label_studio),
    "FiftyOne": (_is_fiftyone, _read_fiftyone),
    "FiftyOne (labels.json)": (_is_fiftyone_labels, _read_fiftyone_labels),
}
"""Format -> whether a file's content has it, and the function that reads it."""


def _text(value: Any) -> str:
    return " ".join(str(value).split()) if value is not None else ""
