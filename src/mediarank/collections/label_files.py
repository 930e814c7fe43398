"""Labels that a user puts beside the media: the canonical CSVs, or one simple `labels.csv`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mediarank.collections.names import Names
from mediarank.collections.tables import Table, flag, make_labels, number, read_csv, role
from mediarank.labels import LABEL_TABLES, OPTIONAL_COLUMNS, Labels
from mediarank.types import DataError

ITEM: Final = ("path", "item", "file", "filename", "name", "image", "clip", "sound")
CLASS: Final = ("label", "class", "category")
KEYWORDS: Final = ("keywords", "keyword", "tags", "tag")
ROLE: Final = ("role", "split", "part", "set")
FOLD: Final = ("fold",)
GROUP: Final = ("group", "video", "src_file")
"""The columns of a simple `labels.csv`, by the names that people give them."""

CLIPS: Final = frozenset(
    (
        ".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".mts", ".m2ts", ".wmv", ".asf",
        ".flv", ".3gp", ".3g2", ".ogv", ".mxf",
    )
)  # fmt: skip
"""Files that are taken for clips before they are opened."""

_CONVERT: Final[Mapping[str, Callable[[str], Any]]] = {"relevant": flag, "strength": number, "role": role}


def find(folder: Path) -> tuple[dict[str, Path], Path | None]:
    """The canonical label files by table, and the simple one, in `folder` or its `labels/`."""
    places = (folder, folder / "labels")
    canonical = {name: path for name in LABEL_TABLES for place in places if (path := place / f"{name}.csv").is_file()}
    simple = next((path for place in places if (path := place / "labels.csv").is_file()), None)
    return canonical, simple


def read_canonical(files: Mapping[str, Path], names: Names) -> Labels:
    """The canonical tables; items may be written in any way that `Names` understands."""
    return make_labels(**{name: list(_rows(name, read_csv(path), names)) for name, path in files.items()})


def _rows(name: str, table: Table, names: Names) -> Iterator[tuple[Any, ...]]:
    missing = [c for c in LABEL_TABLES[name] if c not in table.columns and c not in OPTIONAL_COLUMNS]
    if missing:
        raise DataError(
            f"{table.path} lacks the column(s) {', '.join(missing)}; its first line must be: "
            f"{','.join(LABEL_TABLES[name])}."
        )
    columns = []
    for column in LABEL_TABLES[name]:
        if column in _CONVERT:
            columns.append(table.converted(column, _CONVERT[column]))
        elif column in ("item", "clip", "first", "second"):
            columns.append(names.items(table.column(column)))
        elif column == "target":  # a class may be called what no item is
            columns.append([names.item(t) if names.item(t) in names else t for t in table.column(column)])
        else:
            columns.append(table.column(column) if column in table.columns else [""] * len(table.rows))
    for row in zip(*columns, strict=True):
        yield _stronger_first(row, table.path) if name == "pairs" else row


def _stronger_first(pair: tuple[Any, ...], path: Path) -> tuple[Any, ...]:
    attribute, first, second, relation = pair
    if relation not in (">", "<", "="):
        raise DataError(f"{path}: a relation is >, < or =, not {relation!r} (of {first} and {second}).")
    return (attribute, second, first, ">") if relation == "<" else pair


def read_simple(path: Path, names: Names) -> Labels:
    """A `labels.csv` with a column that names the file and others that say what it is.

    What a clip is labelled is also an event in it, if there are two labels or more: one that every clip bears can't
    be looked for.
    """
    table = read_csv(path)
    items = names.items(table.column(*ITEM))
    said = {what: _optional(table, what) for what in (CLASS, KEYWORDS, ROLE, FOLD, GROUP)}
    if not any(any(values) for values in said.values()):
        raise DataError(
            f"{path} names items but says nothing of them; add a column such as {CLASS[0]}, {KEYWORDS[0]}, {FOLD[0]} "
            f"or {GROUP[0]}."
        )
    classes = [(item, value) for item, value in zip(items, said[CLASS], strict=True) if value]
    words = ((item, word.strip()) for item, text in zip(items, said[KEYWORDS], strict=True) for word in _words(text))
    roles = table.converted(found, role) if (found := table.find(*ROLE)) else [""] * len(items)
    return make_labels(
        classes=classes,
        keywords=[(item, word) for item, word in words if word],
        events=events_of(classes),
        groups=[(item, value) for item, value in zip(items, said[GROUP], strict=True) if value],
        splits=[(item, r, fold) for item, r, fold in zip(items, roles, said[FOLD], strict=True) if r or fold],
    )


def events_of(classes: list[tuple[str, str]]) -> list[tuple[str, str, bool]]:
    clips = [(item, name, True) for item, name in classes if Path(item).suffix.lower() in CLIPS]
    return clips if len({name for _, name, _ in clips}) > 1 else []


def _optional(table: Table, names: tuple[str, ...]) -> list[str]:
    return table.column(*names) if table.find(*names) else [""] * len(table.rows)


def _words(text: str) -> list[str]:
    """Words apart by |, or by ; or by commas, whichever comes first in this order."""
    separator = next((s for s in "|;," if s in text), ",")
    return text.split(separator)
