"""The effective labels: what the source says, with what people said on top.

`merge` applies statements to label tables in the order of time, so that the later one wins. It also returns one row
per statement with what the source says of the same thing, so that both sides stay visible, and the statements that
can't be used, with the reason. An item is found by its id and content hash; if the file was renamed, by its hash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from mediarank.labels import LABEL_TABLES, Labels
from mediarank.teaching.journal import Read
from mediarank.teaching.statements import LABEL_KINDS, Statement, latest
from mediarank.types import QUARANTINED, Manifest

TABLE_OF: Final[Mapping[str, str]] = {
    "concept": "concepts",
    "keyword": "keywords",
    "class": "classes",
    "event": "events",
    "pair": "pairs",
}
"""Kind of statement -> the label table that it changes."""

SAID_COLUMNS: Final = ("id", "time", "author", "kind", "item", "name", "other", "value", "source", "effect")
REFUSED_COLUMNS: Final = ("what", "item_id", "source", "reason")


@dataclass(frozen=True)
class Merged:
    """
    labels : the effective labels
    said : one row per statement that was used: SAID_COLUMNS; `source` is what the source says of the same thing,
        `effect` is adds, changes, removes or confirms
    refused : one row per statement or line that was not used: REFUSED_COLUMNS
    """

    labels: Labels
    said: pd.DataFrame
    refused: pd.DataFrame


def merge_read(labels: Labels, manifest: Manifest, read: Read) -> Merged:
    """`merge`, with the journal's damaged lines among what was refused."""
    merged = merge(labels, manifest, read.statements)
    damaged = pd.DataFrame(
        [("statement", "", line.place, f"is damaged: {line.reason}") for line in read.damaged],
        columns=list(REFUSED_COLUMNS),
    )
    return Merged(merged.labels, merged.said, pd.concat([merged.refused, damaged], ignore_index=True))


def merge(labels: Labels, manifest: Manifest, statements: Sequence[Statement]) -> Merged:
    """Statements over labels. labels : of usable items, without contradictions"""
    spoken = [statement for statement in latest(statements) if statement.kind in LABEL_KINDS]
    finder = _Finder(manifest)
    if any(s.kind == "concept" for s in spoken) and not len(labels["concepts"]):
        labels = _with_concepts(labels)
    source = {kind: _entries(labels, kind) for kind in TABLE_OF}
    now: dict[str, dict[tuple[str, ...], Any]] = {kind: dict(entries) for kind, entries in source.items()}
    used: list[tuple[Statement, tuple[str, ...]]] = []
    refused = []
    for statement in spoken:
        items, reason = finder.items(statement)
        if reason:
            refused.append(("statement", statement.item, f"statement {statement.id} by {statement.author}", reason))
            continue
        used.append((statement, items))
        _apply(statement, items, now[statement.kind])
    tables = {**labels.tables}
    for kind in {statement.kind for statement, _ in used}:
        tables[TABLE_OF[kind]] = _table(kind, now[kind])
    said = [_row(statement, items, source[statement.kind], now[statement.kind]) for statement, items in used]
    return Merged(
        Labels(tables),
        pd.DataFrame(said, columns=list(SAID_COLUMNS)),
        pd.DataFrame(refused, columns=list(REFUSED_COLUMNS)),
    )


class _Finder:
    """The items that statements speak of."""

    def __init__(self, manifest: Manifest) -> None:
        table = manifest.table
        self._sha = dict(zip(table["item_id"].tolist(), table["sha256"].tolist(), strict=True))
        self._quarantined = set(table.loc[table["status"] == QUARANTINED, "item_id"])
        self._of_content: dict[str, str] = {}
        for item, sha in self._sha.items():
            self._of_content.setdefault(sha, item)

    def items(self, statement: Statement) -> tuple[tuple[str, ...], str]:
        """The item, or both items of a pair, and why they can't be used, if so."""
        named = [(statement.item, statement.sha256)]
        if statement.kind == "pair":
            named.append((statement.other, statement.other_sha256))
        found = []
        for item, sha in named:
            if sha and self._sha.get(item) != sha:
                renamed = self._of_content.get(sha)
                if renamed is None and item in self._sha:
                    return (), f"speaks of {item}, whose content has changed since; say it again if it still holds"
                item = renamed if renamed is not None else item
            if item not in self._sha:
                return (), "speaks of an item that is not in the collection"
            if item in self._quarantined:
                return (), "speaks of a quarantined item"
            found.append(item)
        if len(set(found)) != len(found):
            return (), "compares an item with itself"
        return tuple(found), ""


def _with_concepts(labels: Labels) -> Labels:
    """What stands for concepts where the source has none, as a table of concepts: a new one then adds to them."""
    rows = [(item, concept, True) for concept, item in labels.shown]
    return Labels({**labels.tables, "concepts": pd.DataFrame(rows, columns=list(LABEL_TABLES["concepts"]))})


def _entries(labels: Labels, kind: str) -> dict[tuple[str, ...], Any]:
    """A table as a mapping from what a row speaks of to its value."""
    table = labels[TABLE_OF[kind]]
    rows = zip(*(table[name].tolist() for name in LABEL_TABLES[TABLE_OF[kind]]), strict=True)
    if kind == "keyword":
        return dict.fromkeys(rows, True)
    if kind == "pair":
        return {(attribute, first, second): relation for attribute, first, second, relation in rows}
    return {row[:-1]: row[-1] for row in rows}


def _apply(statement: Statement, items: tuple[str, ...], now: dict[tuple[str, ...], Any]) -> None:
    value = statement.value
    if statement.kind == "pair":
        for pair in (items, items[::-1]):
            now.pop((statement.name, *pair), None)
        if value is not None:
            now[statement.name, *items] = value
    elif statement.kind == "class":
        if value:
            now[items] = statement.name
        elif now.get(items) == statement.name:
            del now[items]
    elif value is None or (statement.kind == "keyword" and not value):
        now.pop((*items, statement.name), None)
    else:
        now[*items, statement.name] = value


def _table(kind: str, entries: Mapping[tuple[str, ...], Any]) -> pd.DataFrame:
    columns = list(LABEL_TABLES[TABLE_OF[kind]])
    rows = list(entries) if kind == "keyword" else [(*key, value) for key, value in entries.items()]
    table = pd.DataFrame(rows, columns=columns)
    return table.astype({"relevant": bool}) if "relevant" in columns else table


def _row(
    statement: Statement,
    items: tuple[str, ...],
    source: Mapping[tuple[str, ...], Any],
    now: Mapping[tuple[str, ...], Any],
) -> tuple[str, ...]:
    before, after = (_said_of(statement, items, entries) for entries in (source, now))
    if before == after:
        effect = "confirms" if after else "removes nothing"
    else:
        effect = "removes" if not after else "adds" if not before else "changes"
    other = items[1] if statement.kind == "pair" else ""
    value = _text(statement.value)
    return (
        statement.id, statement.time, statement.author, statement.kind, items[0], statement.name, other, value,
        before, effect,
    )  # fmt: skip


def _said_of(statement: Statement, items: tuple[str, ...], entries: Mapping[tuple[str, ...], Any]) -> str:
    """What the entries say of a statement's subject, as text; empty where they say nothing."""
    if statement.kind == "pair":
        turned = entries.get((statement.name, *items[::-1]))
        straight = entries.get((statement.name, *items))
        return str(straight or {">": "<", "=": "=", None: ""}[turned])
    key = items if statement.kind == "class" else (*items, statement.name)
    return "" if key not in entries else _text(entries[key])


def _text(value: Any) -> str:
    return {None: "removed", True: "yes", False: "no"}.get(value, str(value)) if not isinstance(value, str) else value
