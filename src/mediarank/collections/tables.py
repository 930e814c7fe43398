"""Read text files in any encoding and CSV files in any common dialect, and make label tables from their rows.

A file that lacks something required is an error that names the file, the line and the remedy. Rows about items
that are not in the collection are kept: the stage `manifest` puts them into the quarantine table.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import pandas as pd

from mediarank.labels import LABEL_TABLES, Labels
from mediarank.types import ROLES, DataError

T = TypeVar("T")

ROLE_WORDS: Final[Mapping[str, str]] = {
    **{role: role for role in ROLES},
    **dict.fromkeys(("train", "training", "trainval", "development"), "base"),
    **dict.fromkeys(("val", "validation", "dev"), "valid"),
    **dict.fromkeys(("testing", "eval", "evaluation"), "test"),
}
"""Common words for the parts of a collection -> the role."""

_FLAGS: Final = {
    **dict.fromkeys(("1", "+1", "1.0", "true", "yes", "y", "p", "t"), True),
    **dict.fromkeys(("0", "-1", "0.0", "false", "no", "n", "f"), False),
}


SEPARATORS: Final[Mapping[str, str]] = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""Separators of CSV cells -> their names in messages."""

_DIALECT_ROWS: Final = 50  # rows that are read to detect the separator


@dataclass(frozen=True)
class Table:
    """The rows of a CSV file as text, with their line numbers.

    columns : names in lower case
    header : names as they are written
    separator : a key of SEPARATORS
    """

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    header: tuple[str, ...] = ()
    separator: str = ","

    def find(self, *names: str) -> str | None:
        """The first of `names` that is a column."""
        return next((name for name in names if name in self.columns), None)

    def column(self, *names: str) -> list[str]:
        """The values of the first of `names` that is a column; one of them must be."""
        name = self.find(*names)
        if name is None:
            raise DataError(
                f"{self.path} lacks a column {' or '.join(names)}; its first line is {','.join(self.columns)}."
            )
        position = self.columns.index(name)
        return [row[position] for row in self.rows]

    def converted(self, name: str, convert: Callable[[str], T]) -> list[T]:
        """The values of a column, each converted by `convert`, whose ValueError says what is expected."""
        values = []
        for line, value in zip(self.lines, self.column(name), strict=True):
            try:
                values.append(convert(value))
            except ValueError as error:
                raise DataError(f"{self.path}, line {line}: {name} must be {error}, not {value!r}.") from None
        return values


def read_text(path: Path) -> str:
    """A text file in UTF-8 (with or without a byte order mark), UTF-16, or the old Windows code page."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path} is missing; see docs/collections.md for what this source needs.") from None
    except OSError as error:
        raise DataError(f"{path} can't be read ({error.strerror}).") from None
    encodings = ("utf-16",) if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252", "latin-1")
    for encoding in encodings:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise DataError(f"{path} is not text in UTF-8 or UTF-16; save it as UTF-8.")


def read_lines(path: Path) -> list[str]:
    """The lines that are not blank, stripped."""
    return [line.strip() for line in read_text(path).splitlines() if line.strip()]


def read_csv(path: Path, open_ended: Container[str] = ()) -> Table:
    """A CSV file whose first line names the columns.

    Cells are separated by commas, semicolons, tabs or vertical bars, and quoted with " or '. A first line `sep=;`, as
    spreadsheets write it, is respected.

    open_ended : if the last column has one of these names, further cells of a row belong to it, joined with `|`
    """
    text = read_text(path)
    skipped = 0
    if match := re.match(r"sep=(.)\r?\n", text):
        separator, text, skipped = match[1], text[match.end() :], 1
    else:
        separator = _separator(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, quotechar=_quote(text, separator))
    try:
        numbered = [(reader.line_num + skipped, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}; save it as plain CSV.") from None
    numbered = [(line, row) for line, row in numbered if any(row)]
    if not numbered:
        raise DataError(f"{path} is empty; its first line must name its columns.")
    header = tuple(numbered[0][1])
    columns = tuple(cell.lower() for cell in header)
    for line, row in numbered:
        if any(row[len(columns) :]) and columns[-1] in open_ended:
            row[len(columns) - 1 :] = ["|".join(cell for cell in row[len(columns) - 1 :] if cell)]
        if any(row[len(columns) :]):
            raise DataError(
                f"{path}, line {line}: {len(row)} values, but the first line names {len(columns)} columns; "
                'put a value that holds the separator in "quotes".'
            )
    rows = (tuple(row[: len(columns)] + [""] * (len(columns) - len(row))) for _, row in numbered[1:])
    return Table(path, columns, tuple(rows), tuple(line for line, _ in numbered[1:]), header, separator)


def _separator(text: str) -> str:
    """The separator that divides the first line, and the rows after it most evenly."""
    best, chosen = (0.0, 0), ","
    for separator in SEPARATORS:
        try:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
            widths = [len(row) for row in itertools.islice(reader, _DIALECT_ROWS) if any(row)]
        except csv.Error:
            continue
        if widths and widths[0] > 1:
            even = sum(width == widths[0] for width in widths) / len(widths)
            if (even, widths[0]) > best:
                best, chosen = (even, widths[0]), separator
    return chosen


def _quote(text: str, separator: str) -> str:
    """The quotation mark: single only if cells start and end with it and no double one is used."""
    cells = [cell.strip() for line in text.splitlines()[:_DIALECT_ROWS] for cell in line.split(separator)]
    single = sum(len(cell) > 1 and cell[0] == cell[-1] == "'" for cell in cells)
    return "'" if single and '"' not in text else '"'


def flag(text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise ValueError("1 or 0")
    return _FLAGS[text.lower()]


def number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError("a number")
    return value


def role(text: str) -> str:
    """The role that a word such as "train" stands for; an empty text stays empty."""
    if text and text.lower() not in ROLE_WORDS:
        raise ValueError(f"one of {', '.join(ROLE_WORDS)}")
    return ROLE_WORDS[text.lower()] if text else ""


def make_labels(**tables: Iterable[tuple[Any, ...]]) -> Labels:
    """Label tables from rows; a row may leave out its last columns. Text that no table can hold is repaired."""
    made = {}
    for name, rows in tables.items():
        columns = LABEL_TABLES[name]
        full = [tuple(map(_storable, row)) + ("",) * (len(columns) - len(row)) for row in rows]
        if full:
            made[name] = pd.DataFrame(full, columns=list(columns))
    return Labels(made)


def _storable(value: Any) -> Any:
    """Half a surrogate pair, which JSON can hold and tables can't, becomes a question mark."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
