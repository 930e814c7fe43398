"""From what a person says to statements that can be written: items found, names checked, contradictions refused.

`label_rows` turns a name with items that show it and items that don't into rows for the journal, `pair_rows` does so
for "the first has more of it than the second", `imported_rows` reads tables. Each raises before anything is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

import pandas as pd

from mediarank.collections.names import Names
from mediarank.labels import LABEL_TABLES, RELATIONS, Labels
from mediarank.teaching.merging import TABLE_OF
from mediarank.teaching.statements import Statement
from mediarank.types import QUARANTINED, DataError, Manifest

NAME_COLUMN: Final[Mapping[str, str]] = {
    "concept": "concept",
    "event": "event",
    "keyword": "keyword",
    "class": "class",
    "pair": "attribute",
}
"""Kind -> the column of its label table that holds names. A name of several kinds means the first of them."""

EXPORT_COLUMNS: Final = ("kind", "item", "name", "value", "other")
VALUES: Final[Mapping[str, bool | None]] = {
    "yes": True, "true": True, "1": True, "no": False, "false": False, "0": False, "removed": None, "": None,
}  # fmt: skip

Row = dict[str, Any]


@dataclass(frozen=True)
class Vocabulary:
    """The names that labels use.

    known : name -> the kinds that it is known as, in the order of NAME_COLUMN
    usual : the kind of a new name
    """

    known: Mapping[str, Sequence[str]]
    usual: str

    @classmethod
    def of(cls, labels: Labels) -> Vocabulary:
        known: dict[str, list[str]] = {}
        for kind, column in NAME_COLUMN.items():
            used = set(labels[TABLE_OF[kind]][column]) | (set(labels["orderings"][column]) if kind == "pair" else set())
            for name in sorted(map(str, used)):
                known.setdefault(name, []).append(kind)
        return cls(known, "keyword" if len(labels["keywords"]) and not len(labels["concepts"]) else "concept")

    def kind(self, name: str, wanted: str | None = None, new: bool = False) -> str:
        """What a name is: the kind asked for, the kind it is known as, or the usual one.

        new : the caller knows that the name is new, even if one like it exists
        """
        if name != name.strip() or not name or any(ord(letter) < 32 for letter in name):
            raise DataError(
                f"{name!r} can't be a name: it is empty, begins or ends with a space, or has control characters."
            )
        if name in self.known and (wanted is None or wanted in self.known[name]):
            return wanted or self.known[name][0]
        if not new:
            alike = [other for other in self.known if other != name and same_word(other, name)]
            if alike:
                raise DataError(
                    f"There is no {name!r}, but there is {alike[0]!r}, as a {self.known[alike[0]][0]}. Say --name "
                    f"{alike[0]!r} if you mean that one, or add --new to make another name. Nothing was written."
                )
        return wanted or self.usual


def same_word(one: str, other: str) -> bool:
    """Whether two names differ only by case, spaces, hyphens or plural.

    >>> same_word("Boats", "boat"), same_word("cherry", "cherries"), same_word("boat", "goat")
    (True, True, False)
    """
    return bool(_forms(one) & _forms(other))


def _forms(name: str) -> set[str]:
    plain = name.casefold().replace("_", " ").replace("-", " ").strip()
    forms = {plain}
    for ending, instead in (("ies", "y"), ("es", ""), ("s", "")):
        if plain.endswith(ending) and len(plain) - len(ending) >= 2:
            forms.add(plain[: -len(ending)] + instead)
    return forms


class Items:
    """Items of the collection by what people call them, with their content hashes."""

    def __init__(self, manifest: Manifest) -> None:
        table = manifest.table
        self._names = Names(table["item_id"])
        self._sha = dict(zip(table["item_id"], table["sha256"], strict=True))
        bad = table[table["status"] == QUARANTINED]
        self._bad = dict(zip(bad["item_id"], bad["reason"], strict=True))
        self.kind = dict(zip(table["item_id"], table["kind"], strict=True))

    def find(self, texts: Iterable[str]) -> list[tuple[str, str]]:
        """(item, sha256) of each; DataError that lists all that are unknown or can't be used."""
        found = [self._names.item(text.removeprefix("data/raw/media/")) for text in texts]
        unknown = [item for item in found if item not in self._sha]
        if unknown:
            near = get_close_matches(unknown[0], list(self._sha)[:100_000], n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise DataError(f"{_listed(unknown)}: not in the collection.{hint} Nothing was written.")
        unusable = [item for item in found if item in self._bad]
        if unusable:
            raise DataError(f"{_listed(unusable)}: quarantined, because: {self._bad[unusable[0]]} Nothing was written.")
        return [(item, self._sha[item]) for item in found]


def label_rows(
    items: Items,
    vocabulary: Vocabulary,
    name: str,
    yes: Sequence[str] = (),
    no: Sequence[str] = (),
    removed: Sequence[str] = (),
    kind: str | None = None,
    new: bool = False,
) -> list[Row]:
    """Rows that say of items whether they show a name, or that nothing is said of it any more.

    yes, no, removed : items by id, or by file name if that is clear
    """
    if not (yes or no or removed):
        raise DataError("Name at least one item, with --yes or --no. Nothing was written.")
    kind = vocabulary.kind(name, kind, new)
    if kind == "pair":
        raise DataError(f"{name!r} is an attribute: say which of two items has more of it, with --more A --less B.")
    values = [
        (value, found) for value, texts in ((True, yes), (False, no), (None, removed)) for found in items.find(texts)
    ]
    said: dict[str, set[bool | None]] = {}
    for value, (item, _) in values:
        said.setdefault(item, set()).add(value)
    both = [item for item, given in said.items() if len(given) > 1]
    if both:
        raise DataError(f"{_listed(both)}: said to show {name!r} and not to show it. Say one. Nothing was written.")
    if kind == "event" and any(items.kind[item] == "image" for item in said):
        picture = next(item for item in said if items.kind[item] == "image")
        raise DataError(
            f"{name!r} is an event, and {picture} is an image: events happen in clips. Nothing was written."
        )
    unique = {item: (value, sha) for value, (item, sha) in values}
    return [_row(kind, item, sha, name, value) for item, (value, sha) in unique.items()]


def pair_rows(
    items: Items,
    vocabulary: Vocabulary,
    name: str,
    first: str,
    second: str,
    relation: str | None = ">",
    new: bool = False,
) -> list[Row]:
    """One row that says that the first item has more of an attribute than the second, or as much."""
    vocabulary.kind(name, "pair", new)
    (one, one_sha), (other, other_sha) = items.find([first, second])
    if one == other:
        raise DataError(f"{one} can't be compared with itself. Nothing was written.")
    return [{**_row("pair", one, one_sha, name, relation), "other": other, "other_sha256": other_sha}]


def _row(kind: str, item: str, sha256: str, name: str, value: Any) -> Row:
    return {"kind": kind, "item": item, "sha256": sha256, "name": name, "value": value}


def imported_rows(items: Items, vocabulary: Vocabulary, table: pd.DataFrame, new: bool = False) -> list[Row]:
    """Rows from a table of text: EXPORT_COLUMNS as `label export` writes them, or one of the label tables.

    All rows are checked before the first is returned; contradictions within the table are refused.
    """
    rows: list[Row] = []
    for number, (kind, item, name, value, other) in enumerate(_canonical(table), start=2):
        try:
            if kind == "pair":
                if value not in (*RELATIONS, "removed", ""):
                    raise DataError(f"a relation is > or =, not {value!r}.")
                rows += pair_rows(items, vocabulary, name, item, other, value if value in RELATIONS else None, new)
            else:
                if value.lower() not in VALUES:
                    raise DataError(f"a value is yes, no or removed, not {value!r}.")
                said = VALUES[value.lower()]
                yes, no, removed = ([item] if said is given else [] for given in (True, False, None))
                rows += label_rows(items, vocabulary, name, yes, no, removed, kind or None, new)
        except DataError as error:
            raise DataError(f"Line {number}: {error}") from None
    subjects = Counter(_subject(row) for row in {(*_subject(r), str(r["value"])): r for r in rows}.values())
    twice = [subject for subject, count in subjects.items() if count > 1]
    if twice:
        raise DataError(f"{len(twice)} things are said in two ways, such as {' '.join(twice[0])}. Nothing was written.")
    return list({_subject(row): row for row in rows}.values())


def exported(statements: Iterable[Statement]) -> pd.DataFrame:
    """Statements as a table that `imported_rows` reads."""
    words = {True: "yes", False: "no", None: "removed"}
    rows = [
        (s.kind, s.item, s.name, s.value if isinstance(s.value, str) else words[s.value], s.other) for s in statements
    ]
    return pd.DataFrame(rows, columns=list(EXPORT_COLUMNS))


def _canonical(table: pd.DataFrame) -> list[tuple[str, str, str, str, str]]:
    """(kind, item, name, value, other) of each row, whichever of the known tables this is."""
    columns = set(table.columns)
    if {"item", "name", "value"} <= columns:
        full = table.assign(**{c: "" for c in ("kind", "other") if c not in columns})
        return [tuple(map(str, row)) for row in full[list(EXPORT_COLUMNS)].itertuples(index=False)]  # type: ignore[misc]
    for kind, name in NAME_COLUMN.items():
        wanted = LABEL_TABLES[TABLE_OF[kind]]
        if set(wanted) <= columns:
            item = "first" if kind == "pair" else wanted[0]
            value = {"pair": "relation", "concept": "relevant", "event": "relevant"}.get(kind)
            other = "second" if kind == "pair" else None
            return [
                (
                    kind,
                    str(row[item]),
                    str(row[name]),
                    str(row[value]) if value else "yes",
                    str(row[other]) if other else "",
                )
                for row in table.to_dict("records")
            ]
    raise DataError(
        f"The table has the columns {', '.join(map(str, table.columns))}; expected are {', '.join(EXPORT_COLUMNS)} as "
        "`mediarank label export` writes them, or those of a label table such as item,keyword."
    )


def _subject(row: Row) -> tuple[str, ...]:
    if row["kind"] == "pair":
        return "pair", row["name"], *sorted((row["item"], row["other"]))
    return row["kind"], row["item"], "" if row["kind"] == "class" and row["value"] else row["name"]


def _listed(items: Sequence[str], most: int = 3) -> str:
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more
