"""Labels that are said on any page, and taking them back. Both send the browser back to where it was."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from mediarank.explorer.app import Fields, explorer_of, local, with_parameters
from mediarank.explorer.said import say_labels, take_back
from mediarank.types import DataError

router = APIRouter()


@router.post("/label")
def label(request: Request, fields: Fields) -> Response:
    """Say of items whether they show a name."""
    snapshot = explorer_of(request).snapshot
    items = fields.get("item", [])
    for item in items:
        snapshot.row(item)
    name = fields.get("name", [""])[0].strip()
    if not name:
        raise DataError("Write what the item shows, then say it. Nothing was written.")
    kind, new = fields.get("kind", [""])[0], "new" in fields
    call = say_labels(snapshot, items, name, fields.get("answer", ["yes"])[0], kind, new)
    return RedirectResponse(with_parameters(fields.get("back", ["/"])[0], said=call), 303)


@router.post("/undo")
def undo(request: Request, fields: Fields) -> Response:
    """Take back what was said in one step."""
    take_back(explorer_of(request).snapshot, fields.get("call", [""])[0], fields.get("stream", ["labels"])[0])
    return RedirectResponse(with_parameters(local(fields.get("back", ["/"])[0]), said=""), 303)
