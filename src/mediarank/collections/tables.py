"""Reading what people write: text files of any encoding, CSVs with any separator; and making label tables of it.

What a file must have and does not is an error that names the file, the line and the remedy. What it says of items
that are not there is passed on: the manifest puts it into the quarantine table.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping
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
"""What people call the parts of a collection -> its role."""

_FLAGS: Final = {
    **dict.fromkeys(("1", "+1", "1.0", "true", "yes", "y", "p", "t"), True),
    **dict.fromkeys(("0", "-1", "0.0", "false", "no", "n", "f"), False),
}


@dataclass(frozen=True)
class Table:
    """A CSV's rows as text, and the line of each; columns are found by their names in lower case."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

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
        """The values of a column through `convert`, whose ValueError tells what is expected."""
        values = []
        for line, value in zip(self.lines, self.column(name), strict=True):
            try:
                values.append(convert(value))
            except ValueError as error:
                raise DataError(f"{self.path}, line {line}: {name} must be {error}, not {value!r}.") from None
        return values


def read_text(path: Path) -> str:
    """A text file in UTF-8 with or without its mark, in UTF-16, or else in the code page of old Windows."""
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
    raise DataError(f"{path} is no text in any encoding known here; save it as UTF-8.")


def read_lines(path: Path) -> list[str]:
    """The lines that are not blank, without the space around them."""
    return [line.strip() for line in read_text(path).splitlines() if line.strip()]


def read_csv(path: Path) -> Table:
    """A CSV with a first line of column names; separated by commas, semicolons or tabs."""
    text = read_text(path)
    separator = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        numbered = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}; save it as plain CSV.") from None
    numbered = [(line, row) for line, row in numbered if any(row)]
    if not numbered:
        raise DataError(f"{path} is empty; its first line must name its columns.")
    columns = tuple(cell.lower() for cell in numbered[0][1])
    for line, row in numbered:
        if any(row[len(columns) :]):
            raise DataError(
                f"{path}, line {line}: {len(row)} values, but the first line names {len(columns)} columns; "
                'put a value that holds the separator in "quotes".'
            )
    rows = (tuple(row[: len(columns)] + [""] * (len(columns) - len(row))) for _, row in numbered[1:])
    return Table(path, columns, tuple(rows), tuple(line for line, _ in numbered[1:]))


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
    """The role behind what people call it; nothing stays nothing."""
    if text and text.lower() not in ROLE_WORDS:
        raise ValueError(f"one of {', '.join(ROLE_WORDS)}")
    return ROLE_WORDS[text.lower()] if text else ""


def make_labels(**tables: Iterable[tuple[Any, ...]]) -> Labels:
    """Label tables from rows; a row may leave out its last columns. Text that no table can hold is mended."""
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
