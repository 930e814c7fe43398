"""Feedback on searches: events in the journal, undone like any statement.

An event says which results of a search fit and which don't. Events with the scope `query` count for searches with the
same query, and damped for everybody; `session` counts within one session; `everybody` counts for all searches.
`FeedbackLog` reads and writes events; `taught_ranker.py` learns from them.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mediarank.teaching.journal import Damaged, Journal, current_author, statements_of_call, without_collection
from mediarank.teaching.statements import RELEVANCE, Statement, active
from mediarank.types import DataError, Floats

Scope = Literal["query", "session", "everybody"]


@dataclass(frozen=True, slots=True)
class Event:
    """One piece of feedback.

    query, sha256 : what was searched with, and its content hash
    relevant, irrelevant : results that fit and that don't
    implied : results that were shown before the ones that fit and not chosen; they stand in for irrelevant ones
    scope, session : whom it counts for
    vectors : of the query, one per feature type, if it is not an item of the collection
    """

    query: str
    relevant: tuple[str, ...]
    irrelevant: tuple[str, ...] = ()
    implied: tuple[str, ...] = ()
    scope: Scope = "query"
    session: str = ""
    sha256: str = ""
    vectors: tuple[Floats, ...] = field(default=(), compare=False)
    id: str = ""
    time: str = ""
    author: str = ""

    def __post_init__(self) -> None:
        if self.irrelevant and not set(self.relevant).isdisjoint(self.irrelevant):
            both = set(self.relevant) & set(self.irrelevant)
            raise DataError(f"{', '.join(sorted(both))} can't be relevant and irrelevant in one feedback; say one.")
        if not self.relevant and not self.irrelevant:
            raise DataError("Feedback needs at least one result that fits or one that does not.")
        if self.query in self.relevant or self.query in self.irrelevant:
            raise DataError(f"{self.query} is the query itself; give feedback on what was found.")
        if self.scope == "session" and not self.session:
            raise DataError("Feedback for a session needs the session's name.")

    @property
    def negatives(self) -> tuple[str, ...]:
        """What belongs behind the relevant results."""
        return self.irrelevant or self.implied

    def about(self, query: str, sha256: str) -> bool:
        """Whether it speaks of this query."""
        return self.sha256 == sha256 if self.sha256 and sha256 else self.query == query

    def row(self) -> dict[str, Any]:
        """Its fields as a statement's."""
        value: dict[str, Any] = {"relevant": list(self.relevant)}
        for name in ("irrelevant", "implied"):
            value |= {name: list(getattr(self, name))} if getattr(self, name) else {}
        value |= {"session": self.session} if self.session else {}
        if self.vectors:
            value["vectors"] = [base64.b64encode(np.asarray(v, "<f4").tobytes()).decode() for v in self.vectors]
        return {"kind": RELEVANCE, "item": self.query, "sha256": self.sha256, "name": self.scope, "value": value}

    @classmethod
    def of(cls, said: Statement) -> Event:
        value = said.value
        return cls(
            said.item,
            tuple(value.get("relevant", ())),
            tuple(value.get("irrelevant", ())),
            tuple(value.get("implied", ())),
            said.name,  # type: ignore[arg-type]
            value.get("session", ""),
            said.sha256,
            tuple(np.frombuffer(base64.b64decode(v), "<f4") for v in value.get("vectors", ())),
            said.id,
            said.time,
            said.author,
        )


@dataclass(frozen=True)
class FeedbackLog:
    """Events in the journal's stream of feedback. folder : such as `labels/feedback`"""

    folder: Path

    def read(self) -> tuple[list[Event], tuple[Damaged, ...]]:
        """The events that hold, in order, and the lines that were skipped."""
        with without_collection():
            read = Journal(self.folder).read()
            events = []
            for statement in active(read.statements):
                if statement.kind == RELEVANCE:
                    try:
                        events.append(Event.of(statement))
                    except (DataError, AttributeError, TypeError, ValueError):
                        continue  # a line that another version wrote
            return events, read.damaged

    def record(self, event: Event, origin: str = "cli", author: str | None = None) -> Event:
        """Make an event durable; returns it with its id."""
        (said,) = Journal(self.folder).append(statements_of_call(author or current_author(), origin, [event.row()]))
        return Event.of(said)


def passed_over(shown: Sequence[str], relevant: Sequence[str], most: int = 10) -> tuple[str, ...]:
    """Results that were shown before the last relevant one and not chosen; if there are none, those right after.

    >>> passed_over(["a", "b", "c", "d"], ["c"])
    ('a', 'b')
    >>> passed_over(["a", "b", "c"], ["a"])
    ('b', 'c')
    """
    places = [k for k, item in enumerate(shown) if item in relevant]
    last = max(places) if places else -1
    above = [item for item in shown[: last + 1] if item not in relevant]
    rest = [item for item in shown[last + 1 :] if item not in relevant]
    return tuple((above or rest[: most // 2])[:most])
