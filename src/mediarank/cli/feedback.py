"""Say which results of a search fit; list feedback, take it back, forget it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from mediarank.cli.app import app
from mediarank.cli.json_output import Json, print_json
from mediarank.cli.many_values import ManyValues
from mediarank.cli.opened import Example, Method, asked, workspace

if TYPE_CHECKING:
    from mediarank.asking.items import Asked
    from mediarank.asking.workspace import Workspace

FEEDBACK = Path("labels/feedback")
SNAPSHOTS = Path(".mediarank/feedback")
SESSION_VARIABLE = "MEDIARANK_SESSION"


class AddByDefault(TyperGroup):
    """`feedback IMAGE …` means `feedback add IMAGE …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `add` before a first word that is not a command."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["add", *args]
        return super().parse_args(ctx, args)


feedback = typer.Typer(no_args_is_help=True, cls=AddByDefault, help="Say which results of a search fit.")
app.add_typer(feedback, name="feedback")


@feedback.command(cls=ManyValues)
def add(
    image: Example,
    relevant: Annotated[list[str] | None, typer.Option(help="results that fit")] = None,
    irrelevant: Annotated[
        list[str] | None, typer.Option(help="results that do not; by default those that were skipped")
    ] = None,
    scope: Annotated[
        Literal["query", "session", "everybody"],
        typer.Option(help="where it counts: this query (and a little for everybody), this session, or everybody"),
    ] = "query",
    count: Annotated[int, typer.Option(min=1, help="how many results were shown")] = 20,
    method: Method = None,
) -> None:
    """Say which results fit an image and which don't. The next search uses it."""
    from mediarank.asking.search import query_vectors
    from mediarank.teaching.feedback import Event, passed_over
    from mediarank.teaching.taught_ranker import Teacher, moved, open_teacher

    space = workspace()
    teacher, log, _ = open_teacher(space, FEEDBACK, SNAPSHOTS, method)
    query, *others = asked(space, [image, *(relevant or []), *(irrelevant or [])])
    fits = tuple(one.id for one in others[: len(relevant or [])])
    rest = tuple(one.id for one in others[len(relevant or []) :])
    vectors, name, sha256 = (
        query_vectors(space, query, teacher.live.features),
        query.item or image,
        content_hash(space, query),
    )
    inside = query.item is not None
    session = session_name() or ("cli" if scope == "session" else "")
    before = teacher.search(name, vectors, count, session, sha256, inside)
    implied = () if rest else passed_over([hit.item for hit in before], fits)
    own = () if inside else tuple(vectors)
    event = Event(name, fits, rest, implied, scope, session if scope == "session" else "", sha256, own)
    teacher.live.model.places([*fits, *rest])
    said = log.record(event)
    after = Teacher(teacher.live, [*teacher.events, said], teacher.check, teacher.snapshot)
    change = moved(before, after.search(name, vectors, count, session, sha256, inside))
    others_named = f"{len(rest)} irrelevant" if rest else f"{len(implied)} skipped"
    print(f"{said.id}: {len(fits)} relevant, {others_named}, for {scope}: {change}")
    if after.share < 1:
        print(f"Everybody's weights use {after.share:.0%} of the feedback; more would rank validation queries worse.")


@feedback.command("list")
def list_events(json: Json = False) -> None:
    """List the feedback that holds, and which feedback can't be used."""
    from mediarank.teaching.feedback import FeedbackLog

    events, damaged = FeedbackLog(FEEDBACK).read()
    if json:
        print_json(events)
        return
    items = set(workspace().manifest.usable["item_id"])
    for event in events:
        gone = {*event.relevant, *event.negatives, *(() if event.vectors else (event.query,))} - items
        note = f"; not used, because {', '.join(sorted(gone)[:3])} is not in the collection" if gone else ""
        fits, rest = ", ".join(event.relevant), ", ".join(event.irrelevant) or f"{len(event.implied)} skipped"
        print(
            f"{event.id}  {event.time[:19]}  {event.author}: {event.query}: yes {fits}; no {rest} ({event.scope}{note})"
        )
    for line in damaged:
        print(line)
    print(f"{len(events)} pieces of feedback hold" if len(events) != 1 else "1 piece of feedback holds")


@feedback.command()
def undo(
    event: Annotated[
        str | None, typer.Argument(help="an id, as `feedback list` shows it; by default your last")
    ] = None,
) -> None:
    """Take one piece of feedback back."""
    from mediarank.teaching.undoing import undo_statements

    undo_statements(FEEDBACK, event, "cli")
    print("taken back; the next search ignores it")


@feedback.command()
def forget(
    image: Annotated[str | None, typer.Argument(help="forget only the feedback on searches with this image")] = None,
    everything: Annotated[bool, typer.Option("--all", help="forget all feedback of everybody")] = False,
) -> None:
    """Take back all feedback on searches with one image, or everything. `undo` brings it back."""
    from mediarank.teaching.feedback import FeedbackLog
    from mediarank.teaching.journal import Journal, current_author, statements_of_call, undo_rows
    from mediarank.types import DataError

    if (image is None) != everything:
        raise DataError("Name an image, or give --all, not both.")
    events, _ = FeedbackLog(FEEDBACK).read()
    if image is not None:
        space = workspace()
        (query,) = asked(space, [image])
        events = [e for e in events if e.about(query.item or image, content_hash(space, query))]
    after = max((event.time for event in events), default="")
    rows = undo_rows(event.id for event in events)
    Journal(FEEDBACK).append(statements_of_call(current_author(), "cli", rows, after=after))
    print(f"{len(events)} pieces of feedback forgotten")


def content_hash(space: Workspace, query: Asked) -> str:
    """Hash of the item or file that is searched with."""
    import hashlib

    if query.path is not None:
        with query.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    table = space.manifest.table
    return str(table.loc[table["item_id"] == query.item, "sha256"].iloc[0])


def session_name() -> str:
    """The session of searches and feedback, if one is named."""
    return os.environ.get(SESSION_VARIABLE, "").strip()
