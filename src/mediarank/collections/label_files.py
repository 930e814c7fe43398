"""Labels that a user puts beside the media as CSV: the canonical tables, or a simple file in any common dialect."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from mediarank.collections.merging import Found
from mediarank.collections.names import Names
from mediarank.collections.tables import SEPARATORS, Table, flag, make_labels, number, read_csv, role
from mediarank.labels import LABEL_TABLES, NUMBER_COLUMNS, OPTIONAL_COLUMNS, Labels
from mediarank.media.sniff import ending_of
from mediarank.types import DataError

ITEM: Final = (
    "path",
    "item",
    "file",
    "filename",
    "file_name",
    "filepath",
    "name",
    "image",
    "clip",
    "sound",
    "sourcefile",
)
CLASS: Final = ("label", "class", "category")
KEYWORDS: Final = ("keywords", "keyword", "tags", "tag", "labels", "subject")
TITLE: Final = ("title", "caption", "text", "description")
ROLE: Final = ("role", "split", "part", "set")
FOLD: Final = ("fold",)
GROUP: Final = ("group", "video", "src_file")
"""The columns of a simple label file, by their usual names."""

SIMPLE: Final = ("labels", "tags", "metadata", "annotations")
"""Names of simple label files, with the extension .csv or .tsv; `keywords` and `classes` may also be simple."""
ENDINGS: Final = (".csv", ".tsv")
_NUMBERED: Final = re.compile(r"^(tag|keyword|label)s?[ _-]?\d+$")
_TRUE, _FALSE = ("1", "true", "yes", "x"), ("0", "false", "no", "")

CLIPS: Final = frozenset(
    (
        ".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".mts", ".m2ts", ".wmv", ".asf",
        ".flv", ".3gp", ".3g2", ".ogv", ".mxf",
    )
)  # fmt: skip
"""Files that count as clips before they are opened."""

_CONVERT: Final[Mapping[str, Callable[[str], Any]]] = {
    "relevant": flag,
    "role": role,
    **dict.fromkeys(NUMBER_COLUMNS, number),
}


def found_in(folder: Path, names: Names) -> list[Found]:
    """The labels in the files of `folder` and its `labels/`: canonical tables first, then simple files."""
    canonical: list[tuple[str, Path]] = []
    simple: list[Path] = []
    for place in (folder, folder / "labels"):
        for ending in ENDINGS:
            for name in LABEL_TABLES:
                if (path := place / f"{name}{ending}").is_file():
                    if is_canonical(name, path):
                        canonical.append((name, path))
                    else:
                        simple.append(path)
            simple += [path for name in SIMPLE if (path := place / f"{name}{ending}").is_file()]
    return [
        *(_read_canonical(name, path, names) for name, path in canonical),
        *(read_simple(path, names) for path in simple),
    ]


def is_canonical(name: str, path: Path) -> bool:
    """Whether a file named like a table has the table's columns; keywords and classes may have the simple form."""
    if name not in ("keywords", "classes"):
        return True
    table = read_csv(path, KEYWORDS)
    return set(LABEL_TABLES[name]) <= set(table.columns) or table.find(*ITEM) is None


def _read_canonical(name: str, path: Path, names: Names) -> Found:
    table = read_csv(path)
    rows = list(_rows(name, table, names))
    preview = f"{path.name}: {len(rows)} rows of {name}, separated by {SEPARATORS.get(table.separator, 'other marks')}"
    return Found(path.name, make_labels(**{name: rows}), preview)


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
        elif column == "target":  # a class, or else an item
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


def read_simple(path: Path, names: Names) -> Found:
    """A file with one column that names the media file, and others that describe it.

    Keywords are in one column (separated by `|`, `;` or `,`), in numbered columns (tag1, tag2 …), or in one column of 0
    and 1 per keyword. Without a first line of column names, the first column is the file and the rest are its labels.
    """
    table = _with_header(read_csv(path, KEYWORDS), names)
    items = names.items(table.column(*ITEM))
    said = {what: _optional(table, what) for what in (CLASS, KEYWORDS, TITLE, ROLE, FOLD, GROUP)}
    numbered = [column for column in table.columns if _NUMBERED.match(column)]
    flags = _flag_columns(table)
    if not (numbered or flags or any(any(values) for values in said.values())):
        raise DataError(
            f"{path} names items but no label; add a column such as {CLASS[0]}, {KEYWORDS[0]}, {FOLD[0]} or {GROUP[0]}."
        )
    words = [(item, word) for item, text in zip(items, said[KEYWORDS], strict=True) for word in _words(text)]
    for column in numbered:
        words += [(item, word) for item, word in zip(items, table.column(column), strict=True) if word]
    for column, name in flags.items():
        marked = zip(items, table.column(column), strict=True)
        words += [(item, name) for item, value in marked if value.lower() in _TRUE]
    roles = table.converted(found, role) if (found := table.find(*ROLE)) else [""] * len(items)
    labels = make_labels(
        classes=_said(items, said[CLASS]),
        keywords=dict.fromkeys(words),
        titles=_said(items, said[TITLE]),
        groups=_said(items, said[GROUP]),
        splits=[(item, r, fold) for item, r, fold in zip(items, roles, said[FOLD], strict=True) if r or fold],
    )
    return Found(path.name, labels, _preview(table, items, names, labels, [*numbered, *flags]))


def events_of(classes: list[tuple[str, str]]) -> list[tuple[str, str, bool]]:
    """The classes of clips as events, if there are at least two: an event that every clip shows can't be searched."""
    clips = [(item, name, True) for item, name in classes if ending_of(item) in CLIPS]
    return clips if len({name for _, name, _ in clips}) > 1 else []


def _with_header(table: Table, names: Names) -> Table:
    """The table; if its first line is a row instead of column names, the same with columns named."""
    if table.find(*ITEM) or not table.header or names.item(table.header[0]) not in names:
        return table
    rest = "label" if table.path.stem.lower() in ("labels", "classes") and len(table.header) == 2 else "keywords"
    rows = [(row[0], "|".join(cell for cell in row[1:] if cell)) for row in (table.header, *table.rows)]
    return replace(table, columns=("path", rest), rows=tuple(rows), lines=(1, *table.lines), header=("path", rest))


def _flag_columns(table: Table) -> dict[str, str]:
    """Columns of 0 and 1 that are named after a keyword -> the keyword as it is written."""
    known = {*ITEM, *CLASS, *KEYWORDS, *TITLE, *ROLE, *FOLD, *GROUP}
    found = {}
    for column, name in zip(table.columns, table.header, strict=True):
        values = {value.lower() for value in table.column(column)} if column and column not in known else set()
        if values & set(_TRUE) and values <= {*_TRUE, *_FALSE}:
            found[column] = name
    return found if len(found) > 1 else {}


def _preview(table: Table, items: list[str], names: Names, labels: Labels, extra: list[str]) -> str:
    """How a file was read: separator, columns, how many items were found, and its first row as an example."""
    met = sum(item in names for item in items)
    columns = [found for what in (CLASS, KEYWORDS, TITLE, ROLE, FOLD, GROUP) if (found := table.find(*what))]
    used = ", ".join(f"{c!r}" for c in [*columns, *extra[:3]]) + (" …" if len(extra) > 3 else "")
    gave = ", ".join(f"{len(t)} {name}" for name, t in labels.tables.items() if len(t))
    unread = [c for c in table.columns if c and c not in {*columns, *extra, table.find(*ITEM)}]
    example = "; ".join(
        f"{name}: {', '.join(values)}"
        for name, t in labels.tables.items()
        if len(t) and items and (values := t.loc[t["item"] == items[0]].iloc[:, 1].astype(str).tolist()) and any(values)
    )
    return (
        f"{table.path.name}: separated by {SEPARATORS.get(table.separator, repr(table.separator))}, "
        f"{table.find(*ITEM)!r} names the file ({met} of {len(items)} found), {used} read: {gave}"
        + (f"; not read: {', '.join(unread)}" if unread else "")
        + (f"; first row: {items[0]} -> {example}" if example else "")
    )


def _said(items: list[str], values: list[str]) -> list[tuple[str, str]]:
    return [(item, value) for item, value in zip(items, values, strict=True) if value]


def _optional(table: Table, names: tuple[str, ...]) -> list[str]:
    return table.column(*names) if table.find(*names) else [""] * len(table.rows)


def _words(text: str) -> list[str]:
    """Words separated by |, or by ; or by commas, the first that occurs in this order; Python lists are read too."""
    text = text.strip()
    if text[:1] == "[" and text[-1:] == "]":
        text = text[1:-1].replace("'", "").replace('"', "")
    separator = next((s for s in "|;," if s in text), ",")
    return [word.strip() for word in text.split(separator) if word.strip()]
