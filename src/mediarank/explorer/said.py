"""What people say on the pages, written to the journal: labels, ordered pairs, and taking them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mediarank.explorer.snapshot import Snapshot, feedback_folder, label_folder
from mediarank.teaching.journal import Journal, current_author, statements_of_call
from mediarank.teaching.labelling import label_rows, pair_rows
from mediarank.teaching.statements import Statement
from mediarank.teaching.undoing import undo_statements
from mediarank.types import DataError

ORIGIN = "explorer"
ANSWERS = ("yes", "no", "removed")


def say_labels(
    snapshot: Snapshot, items: Sequence[str], name: str, answer: str, kind: str | None = None, new: bool = False
) -> str:
    """Write that items show a name, don't show it, or that nothing is said of it any more; returns the call's id."""
    if answer not in ANSWERS:
        raise DataError(f"An answer is one of {', '.join(ANSWERS)}, not {answer!r}.")
    lists = {one: list(items) if one == answer else [] for one in ANSWERS}
    rows = label_rows(
        snapshot.named_items, snapshot.vocabulary, name, lists["yes"], lists["no"], lists["removed"], kind or None, new
    )
    return say_rows(snapshot, rows)


def say_pair(snapshot: Snapshot, name: str, first: str, second: str, relation: str) -> str:
    """Write which of two items has more of an attribute (`>`, `<`), or that both have as much (`=`)."""
    if relation not in (">", "<", "="):
        raise DataError(f"A relation is >, < or =, not {relation!r}.")
    if relation == "<":
        first, second, relation = second, first, ">"
    return say_rows(snapshot, pair_rows(snapshot.named_items, snapshot.vocabulary, name, first, second, relation))


def take_back(snapshot: Snapshot, call: str, stream: str = "labels") -> list[Statement]:
    """Undo one statement or all of a call."""
    folder = feedback_folder(snapshot.root) if stream == "feedback" else label_folder(snapshot.root)
    return undo_statements(folder, call, ORIGIN, current_author(snapshot.root))


def say_rows(snapshot: Snapshot, rows: list[dict[str, Any]]) -> str:
    """Write rows as one call; returns its id. The statements are on disk then."""
    statements = statements_of_call(current_author(snapshot.root), ORIGIN, rows)
    return Journal(label_folder(snapshot.root)).append(statements)[0].call


@dataclass(frozen=True)
class Said:
    """A label of an item, with where it comes from.

    holds : whether the label says that the item shows the name; False for a label that says that it does not
    origin : the source, or who said it and when; undo : the statement's id, if a person said it
    """

    kind: str
    name: str
    holds: bool
    origin: str
    undo: str = ""


def labels_with_origin(snapshot: Snapshot, item: str) -> list[Said]:
    """What labels say of an item: those of the source first, then what people said and what they took away."""
    said = snapshot.merged.said
    own = said[(said["item"] == item) & (said["kind"] != "pair")]
    people = {(str(row["kind"]), str(row["name"])): row for row in own.to_dict("records")}
    found = [
        Said(kind, name, True, "the source")
        for kind, name in snapshot.labels_of.get(item, [])
        if (kind, name) not in people
    ]
    for (kind, name), row in people.items():
        words = {"yes": "", "no": "does not show it, ", "removed": "taken away, "}[str(row["value"])]
        origin = f"{words}by {row['author']}, {str(row['time'])[:16].replace('T', ' ')}"
        if row["source"]:
            origin += f"; the source says {row['source']}"
        found.append(Said(kind, name, row["value"] == "yes", origin, str(row["id"])))
    return found
