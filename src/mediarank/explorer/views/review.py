"""Review: lists of what is worth a decision, one key per decision, and learning at once from what was said."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from mediarank.asking.workspace import Workspace
from mediarank.explorer.app import Fields, explorer_of, link
from mediarank.explorer.queues import Queue, Queues, learn_now
from mediarank.explorer.snapshot import Snapshot
from mediarank.teaching.learning import Taught
from mediarank.teaching.queues import QUEUES
from mediarank.types import DataError

router = APIRouter()
MADE: Final = Queues()
LEARNED: OrderedDict[tuple[Workspace, str], Taught] = OrderedDict()
"""What was learned now, for the page; it is kept on disk as well."""
REMEMBERED: Final = 8


@router.get("/review")
def review(request: Request, queue: str = "", name: str = "", at: int = -1, learned: str = "") -> Response:
    explorer = explorer_of(request)
    snapshot = explorer.snapshot
    found = MADE.get(snapshot, queue, name.strip()) if queue else None
    place = -1
    if found is not None and found.entries:
        place = at if 0 <= at < len(found.entries) else found.after(-1)
    return explorer.page(
        "review.html",
        "/review",
        queues=QUEUES,
        names=sorted(name for name, kinds in snapshot.vocabulary.known.items() if set(kinds) != {"pair"}),
        queue=found,
        kind=queue,
        name=name.strip(),
        at=place,
        entry=found.entries[place] if found is not None and place >= 0 else None,
        taught=LEARNED.get((snapshot.workspace, learned)),
        learned=learned,
    )


@router.post("/review/say")
def say(request: Request, fields: Fields) -> Response:
    """Decide one entry, or all that were ticked."""
    snapshot = explorer_of(request).snapshot
    queue = _same(snapshot, fields)
    picked = [int(k) for k in fields.get("pick", []) if k.isdecimal() and int(k) < len(queue.entries)]
    if not picked:
        raise DataError("No entry was chosen. Tick some, or open one. Nothing was written.")
    answer, shows = fields.get("answer", [""])[0], fields.get("shows", [""])[0]
    queue.decide(snapshot, picked, answer, shows)
    return RedirectResponse(_address(queue, queue.after(picked[-1])), 303)


@router.post("/review/undo")
def undo(request: Request, fields: Fields) -> Response:
    """Take the last step of this list back."""
    snapshot = explorer_of(request).snapshot
    queue = _same(snapshot, fields)
    place = queue.undo(snapshot)
    return RedirectResponse(_address(queue, -1 if place is None else place), 303)


@router.post("/review/again")
def again(request: Request, fields: Fields) -> Response:
    """Make the list anew from the labels of now."""
    snapshot = explorer_of(request).snapshot
    kind, name = fields.get("queue", [""])[0], fields.get("name", [""])[0]
    MADE.get(snapshot, kind, name, True)
    return RedirectResponse(link("/review", queue=kind, name=name), 303)


@router.post("/review/learn")
def learn(request: Request, fields: Fields) -> Response:
    """Learn one name from what is said now, beside the versioned model."""
    snapshot = explorer_of(request).snapshot
    name = fields.get("learn", [""])[0].strip()
    if not name:
        raise DataError("Write which name to learn.")
    LEARNED[snapshot.workspace, name] = learn_now(snapshot, name)
    while len(LEARNED) > REMEMBERED:
        LEARNED.popitem(last=False)
    kind, of = fields.get("queue", [""])[0], fields.get("name", [""])[0]
    state = {"queue": kind, "name": of} if kind else {}
    return RedirectResponse(link("/review", **state, learned=name), 303)


def _same(snapshot: Snapshot, fields: dict[str, list[str]]) -> Queue:
    """The list that the page was made from."""
    queue = MADE.get(snapshot, fields.get("queue", [""])[0], fields.get("name", [""])[0])
    if queue.id != fields.get("id", [""])[0]:
        raise DataError("The list was made anew since this page was loaded. Load the page again. Nothing was written.")
    return queue


def _address(queue: Queue, at: int) -> str:
    return link("/review", queue=queue.kind, name=queue.name, at=at)
