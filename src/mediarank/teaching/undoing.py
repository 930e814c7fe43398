"""Taking statements back: an undo is one more line, so nothing is lost and an undo can be undone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mediarank.teaching.journal import Journal, current_author, statements_of_call, undo_rows
from mediarank.teaching.statements import Statement, active
from mediarank.types import DataError


def undo_statements(
    folder: Path,
    target: str | None,
    origin: str,
    author: str | None = None,
    among: Callable[[Statement], bool] = lambda statement: True,
) -> list[Statement]:
    """Take back one statement, all of a call, or the author's last call; returns what was taken back.

    folder : of the stream; target : an id, or the part before its dot; among : which statements may be meant
    """
    journal, speaker = Journal(folder), author or current_author()
    everything = journal.read().statements
    holding = [statement for statement in active(everything) if among(statement)]
    if target is None:
        own = [statement for statement in holding if statement.author == speaker]
        if not own:
            raise DataError(f"{speaker} has said nothing that still holds, so there is nothing to take back.")
        target = own[-1].call
    meant = [statement for statement in holding if target in (statement.id, statement.call)]
    if not meant:
        known = any(target in (statement.id, statement.call) for statement in everything)
        why = "was taken back before" if known else "is not in the journal"
        raise DataError(f"{target} {why}; `mediarank label list` and `mediarank feedback list` show what holds.")
    after = max(statement.time for statement in everything)
    journal.append(statements_of_call(speaker, origin, undo_rows(s.id for s in meant), after=after))
    return meant
